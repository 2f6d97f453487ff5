/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/api.h"

#include "base/error.h"
#include "base/log.h"
#include "base/variable.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Creation fails before there is an object to keep the sentence: the thread keeps it. */
static __thread char last_error[NN_WHY_BYTES + 128];

const char *nn_api_last_error(void)
{
    return last_error;
}

/* The way of a failure of the system through the sources. */
static void log_chain(void)
{
    char chain[512];

    nn_error_last(chain, sizeof(chain));
    nn_log("runtime", NN_LOG_INFO, "%s", chain);
}

int nn_api_end(const char *function, const struct nn_rt_object *object, int r,
               const struct nn_why *why)
{
    int code = nn_result_from_error(r);
    const char *sentence = why->text;

    if (code == ANEURALNETWORKS_NO_ERROR)
        return code;
    if (!sentence[0])
        sentence = r < 0 ? strerror(-r) : nn_result_name(code);
    snprintf(last_error, sizeof(last_error), "%s: %s", function, sentence);
    if (object)
        nn_rt_object_set_message((struct nn_rt_object *)object, last_error);
    nn_log("runtime", NN_LOG_INFO, "%s (%s)", last_error, nn_result_name(code));
    if (r < 0)
        log_chain();
    return code;
}

static struct nn_why wrong_variable;

static void check_variables(void)
{
    nn_variables_check(wrong_variable.text, sizeof(wrong_variable.text));
}

int nn_api_begin(const char *function)
{
    static pthread_once_t is_checked = PTHREAD_ONCE_INIT;

    pthread_once(&is_checked, check_variables);
    return nn_api_end(function, NULL, wrong_variable.text[0] ? ANEURALNETWORKS_BAD_DATA : 0,
                      &wrong_variable);
}

int nn_api_null(const char *function)
{
    struct nn_why why;

    return nn_api_end(function, NULL,
                      nn_fail(&why, ANEURALNETWORKS_UNEXPECTED_NULL, "a pointer is NULL"), &why);
}

bool nn_api_has_null(const void *const *pointers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!pointers[i])
            return true;
    return false;
}
