/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - how functions say what became of them
 *
 * int: 0 is success; below 0 is -errno, fatal, forwarded untouched with
 * nn_error_trace(); above 0 is an outcome named in the callee's own header and
 * handled by the direct caller. An outcome that a caller does not expect is
 * folded to -ENOTRECOVERABLE with nn_error_fold(). */
#ifndef NN_BASE_ERROR_H
#define NN_BASE_ERROR_H

#include <errno.h>

/* nn_error_origin() - where a fatal error is born: return nn_error_origin(-ENOMEM). */
static inline int nn_error_origin(int r)
{
    return r;
}

/* nn_error_fold() - turns an outcome that has no meaning here into a fatal error. */
static inline int nn_error_fold(int r)
{
    return r > 0 ? -ENOTRECOVERABLE : r;
}

/* nn_error_trace() - forwards a fatal error untouched. */
static inline int nn_error_trace(int r)
{
    return r;
}

#endif
