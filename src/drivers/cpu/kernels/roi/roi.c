/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/roi/roi.h"

#include "drivers/cpu/kernels/common/dequantize.h"

struct nn_roi_image nn_roi_image_read(const uint32_t *dims, bool is_nchw)
{
    uint32_t h = is_nchw ? 2 : 1;
    struct nn_roi_image image = {.n_batches = dims[0],
                                 .height = dims[h],
                                 .width = dims[h + 1],
                                 .n_channels = dims[is_nchw ? 1 : 3]};

    image.column = is_nchw ? 1 : image.n_channels;
    image.row = image.column * image.width;
    image.channel = is_nchw ? image.height * image.width : 1;
    image.batch = image.height * image.width * image.n_channels;
    return image;
}

/* Written so that a NaN is refused. */
static bool is_inside(const struct nn_roi *roi, const struct nn_roi_image *image)
{
    return roi->x1 >= 0.0f && roi->x1 <= roi->x2 && roi->x2 <= (float)image->width &&
           roi->y1 >= 0.0f && roi->y1 <= roi->y2 && roi->y2 <= (float)image->height;
}

int nn_roi_take(const struct nn_kernel_args *args, const struct nn_roi_image *image,
                float height_stride, float width_stride, struct nn_roi *rois)
{
    const struct nn_tensor *boxes = &args->inputs[1];

    for (size_t i = 0; i < boxes->dims[0]; i++) {
        float box[4];
        int32_t batch;

        memcpy(&batch, (const int32_t *)args->inputs[2].data + i, sizeof(batch));
        if (batch < 0 || (uint32_t)batch >= image->n_batches)
            return nn_kernel_refuse(args, "region %zu is of batch %d of %zu", i, batch,
                                    image->n_batches);
        nn_dequantize_load(boxes, i * 4, 4, box);
        rois[i] = (struct nn_roi){.x1 = box[0] / width_stride,
                                  .y1 = box[1] / height_stride,
                                  .x2 = box[2] / width_stride,
                                  .y2 = box[3] / height_stride,
                                  .batch = (uint32_t)batch};
        if (!is_inside(&rois[i], image))
            return nn_kernel_refuse(args, "region %zu is not inside the image", i);
    }
    return 0;
}
