/* SPDX-License-Identifier: Apache-2.0 */
/* rect.h - a rectangle of pixels, which includes left and top and excludes right and bottom */
#ifndef NNHAL_ANDROID_RECT_H
#define NNHAL_ANDROID_RECT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ARect {
    int32_t left;
    int32_t top;
    int32_t right;
    int32_t bottom;
} ARect;

#ifdef __cplusplus
}
#endif

#endif
