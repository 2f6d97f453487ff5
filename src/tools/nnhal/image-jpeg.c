/* SPDX-License-Identifier: Apache-2.0 */
#include "image-source.h"

#include <jpeglib.h>

#include <setjmp.h>

/* libjpeg reports an error by a callback that must not return. */
struct failure {
    struct jpeg_error_mgr manager;
    struct image_source *source;
    jmp_buf back;
};

static void jpeg_fail(j_common_ptr info)
{
    struct failure *failure = (struct failure *)(void *)info->err;
    char text[JMSG_LENGTH_MAX];

    info->err->format_message(info, text);
    (void)image_fail(failure->source, "the JPEG file is damaged: %s", text);
    longjmp(failure->back, 1);
}

/* Warnings are for files that are damaged: not taken. */
static void jpeg_warn(j_common_ptr info, int level)
{
    if (level < 0)
        jpeg_fail(info);
}

static void read_rows(struct jpeg_decompress_struct *jpeg, struct image *image)
{
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = image->rgb + (size_t)jpeg->output_scanline * image->width * 3;

        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
}

int image_parse_jpeg(struct image_source *source, struct image *ret_image)
{
    struct jpeg_decompress_struct jpeg;
    struct failure failure = {.source = source};
    int r = -1;

    jpeg.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = jpeg_fail;
    failure.manager.emit_message = jpeg_warn;
    if (setjmp(failure.back)) {
        jpeg_destroy_decompress(&jpeg);
        return -1;
    }
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, source->bytes, source->n_bytes);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = JCS_RGB;
    jpeg.dct_method = JDCT_ISLOW;
    r = image_allocate(source, jpeg.image_width, jpeg.image_height, ret_image);
    if (!r)
        read_rows(&jpeg, ret_image);
    jpeg_destroy_decompress(&jpeg);
    return r;
}
