/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/result.h"

#include "base/cleanup.h"
#include "base/plain.h"

#include <nnhal/types.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int nn_fail(struct nn_why *why, int code, const char *format, ...)
{
    va_list arguments;

    if (!why)
        return code;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof(why->text), format, arguments);
    va_end(arguments);
    return code;
}

int nn_fail_forked(struct nn_why *why, const char *what)
{
    return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                   "%s: this process was forked from one that used the library, whose devices are "
                   "that one's alone; exec() gives this one its own",
                   what);
}

int nn_fail_refused(int r)
{
    return r > 0 ? ANEURALNETWORKS_BAD_DATA : r;
}

static const char *describe_status(uint32_t status)
{
    static const char *const texts[] = {
        [NNHAL_DEVICE_UNAVAILABLE] = "the device cannot be used now",
        [NNHAL_GENERAL_FAILURE] = "the device failed",
        [NNHAL_OUTPUT_INSUFFICIENT_SIZE] =
            "an output needs a larger buffer: ask for its dimensions",
        [NNHAL_INVALID_ARGUMENT] = "the device refused the arguments",
        [NNHAL_MISSED_DEADLINE_TRANSIENT] = "the timeout passed; it may not if tried again",
        [NNHAL_MISSED_DEADLINE_PERSISTENT] = "the timeout passed; allow more time",
        [NNHAL_RESOURCE_EXHAUSTED_TRANSIENT] = "the device is short of resources now",
        [NNHAL_RESOURCE_EXHAUSTED_PERSISTENT] = "the device does not have the resources for this",
        [NNHAL_DEAD_OBJECT] = "the process in which the driver ran is gone",
    };

    return status < NN_N_ELEMENTS(texts) && texts[status] ? texts[status] : "an unknown answer";
}

static int result_from_status(uint32_t status)
{
    static const int codes[] = {
        [NNHAL_NONE] = ANEURALNETWORKS_NO_ERROR,
        [NNHAL_DEVICE_UNAVAILABLE] = ANEURALNETWORKS_UNAVAILABLE_DEVICE,
        [NNHAL_GENERAL_FAILURE] = ANEURALNETWORKS_OP_FAILED,
        [NNHAL_OUTPUT_INSUFFICIENT_SIZE] = ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
        [NNHAL_INVALID_ARGUMENT] = ANEURALNETWORKS_BAD_DATA,
        [NNHAL_MISSED_DEADLINE_TRANSIENT] = ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
        [NNHAL_MISSED_DEADLINE_PERSISTENT] = ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT,
        [NNHAL_RESOURCE_EXHAUSTED_TRANSIENT] = ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT,
        [NNHAL_RESOURCE_EXHAUSTED_PERSISTENT] = ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT,
        [NNHAL_DEAD_OBJECT] = ANEURALNETWORKS_DEAD_OBJECT,
    };

    return status < NN_N_ELEMENTS(codes) ? codes[status] : ANEURALNETWORKS_OP_FAILED;
}

int nn_fail_status(struct nn_why *why, uint32_t status, const char *who, const char *message)
{
    char line[NN_WHY_BYTES]; /* another process wrote it */

    if (status == NNHAL_NONE)
        return 0;
    if (!message || !message[0])
        message = describe_status(status);
    nn_plain_line(message, line, sizeof(line));
    /* A host's sentence often names the device already. */
    if (strstr(line, who))
        return nn_fail(why, result_from_status(status), "%s", line);
    return nn_fail(why, result_from_status(status), "%s: %s", who, line);
}

int nn_result_from_error(int r)
{
    if (r >= 0)
        return r;
    switch (r) {
    case -ENOMEM:
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    /* What was made before fork() is dead in the child. */
    case -ECHILD:
        return ANEURALNETWORKS_DEAD_OBJECT;
    /* Descriptors come back when something else is closed: trying again may help. */
    case -EMFILE:
    case -ENFILE:
        return ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT;
    default:
        return ANEURALNETWORKS_OP_FAILED;
    }
}

/* Errors of the application, missed deadlines and outputs that are too small would be the same
 * anywhere. */
bool nn_result_blames_device(int r)
{
    switch (r) {
    case ANEURALNETWORKS_OP_FAILED:
    case ANEURALNETWORKS_DEAD_OBJECT:
    case ANEURALNETWORKS_UNMAPPABLE:
    case ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT:
    case ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT:
        return true;
    default:
        return false;
    }
}

const char *nn_result_name(int code)
{
    static const char *const names[] = {
        "NO_ERROR",
        "OUT_OF_MEMORY",
        "INCOMPLETE",
        "UNEXPECTED_NULL",
        "BAD_DATA",
        "OP_FAILED",
        "BAD_STATE",
        "UNMAPPABLE",
        "OUTPUT_INSUFFICIENT_SIZE",
        "UNAVAILABLE_DEVICE",
        "MISSED_DEADLINE_TRANSIENT",
        "MISSED_DEADLINE_PERSISTENT",
        "RESOURCE_EXHAUSTED_TRANSIENT",
        "RESOURCE_EXHAUSTED_PERSISTENT",
        "DEAD_OBJECT",
    };

    return code >= 0 && (size_t)code < NN_N_ELEMENTS(names) ? names[code] : "an unknown code";
}
