/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - what the entry points share
 *
 * An entry point checks its pointers, calls one function of the object's noun,
 * and ends with nn_api_end(), which makes a ResultCode of the result, as
 * runtime/result.h describes, and keeps the sentence of a failure with the object
 * and with the thread. */
#ifndef NN_RUNTIME_API_API_H
#define NN_RUNTIME_API_API_H

#include "base/cleanup.h"
#include "runtime/object.h"
#include "runtime/result.h"

#include <android/NeuralNetworks.h>

/* nn_api_begin() - for calls with which an application may begin: whether the environment makes
 * sense (base/variable.h), which is looked at once. Returns: NO_ERROR; BAD_DATA, with a sentence. */
int nn_api_begin(const char *function);

/* nn_api_end() - object NULL: the sentence is kept with the thread alone.
 * Returns: the ResultCode of r. */
int nn_api_end(const char *function, const struct nn_rt_object *object, int r,
               const struct nn_why *why);

/* nn_api_has_null() - whether one of n pointers is NULL. */
bool nn_api_has_null(const void *const *pointers, uint32_t n);

/* nn_api_null() - a pointer that must not be NULL is. Returns: UNEXPECTED_NULL. */
int nn_api_null(const char *function);

/* nn_api_last_error() - the last sentence of this thread; "" if nothing failed. */
const char *nn_api_last_error(void);

#endif
