/* SPDX-License-Identifier: Apache-2.0 */
/* attachment.h - text files in the zip archive behind a model
 *
 * A .tflite file may end with a zip archive. Archives are read by libzip; what is taken out of one
 * is bounded: an archive may claim any size. */
#ifndef NN_TFLITE_ATTACHMENT_H
#define NN_TFLITE_ATTACHMENT_H

#include <stddef.h>
#include <stdint.h>

enum { TFL_MAX_ATTACHMENT_BYTES = 4 << 20, TFL_MAX_LINES = 1 << 16 };

/* The lines of a text; line ends (\n, \r\n) are not in them. */
struct tfl_lines {
    char *text;         /* malloc'ed; the lines point into it */
    const char **lines; /* malloc'ed */
    uint32_t n;
};

/* tfl_attachment_read() - the lines of the attachment called name, of a file of n_bytes at bytes.
 * Returns: 0; -ENOENT without such a file or archive; -EFBIG above TFL_MAX_ATTACHMENT_BYTES or TFL_MAX_LINES; -EBADMSG
 * if the archive is damaged; -ENOMEM. */
int tfl_attachment_read(const uint8_t *bytes, size_t n_bytes, const char *name,
                        struct tfl_lines *ret_lines);

/* tfl_lines_done() - frees them. */
void tfl_lines_done(struct tfl_lines *lines);

#endif
