/* SPDX-License-Identifier: Apache-2.0 */
#include "model/why.h"

#include <stdio.h>
#include <string.h>

int nn_refuse(struct nn_why *why, const char *format, ...)
{
    va_list args;

    if (!why)
        return NN_REFUSED;
    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return NN_REFUSED;
}

int nn_why_prefix(struct nn_why *why, const char *format, ...)
{
    char rest[NN_WHY_BYTES];
    size_t n;
    va_list args;

    if (!why)
        return NN_REFUSED;
    memcpy(rest, why->text, sizeof(rest));
    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    n = strlen(why->text);
    snprintf(why->text + n, sizeof(why->text) - n, "%s", rest);
    return NN_REFUSED;
}
