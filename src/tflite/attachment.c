/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/attachment.h"

#include <zip.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void tfl_lines_done(struct tfl_lines *lines)
{
    free(lines->text);
    free(lines->lines);
    *lines = (struct tfl_lines){0};
}

/* Cuts text, n characters and a 0, into lines. Consumes it, also on failure. */
static int split(char *text, size_t n, struct tfl_lines *ret_lines)
{
    struct tfl_lines lines = {.text = text};
    size_t n_lines = 1;

    for (size_t i = 0; i < n; i++)
        n_lines += text[i] == '\n';
    lines.lines = n_lines <= TFL_MAX_LINES ? calloc(n_lines, sizeof(*lines.lines)) : NULL;
    if (!lines.lines) {
        free(text);
        return n_lines > TFL_MAX_LINES ? -EFBIG : -ENOMEM;
    }
    for (char *line = text, *end; line < text + n; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + n - line));
        end = end ? end : text + n;
        *end = '\0';
        if (end > line && end[-1] == '\r')
            end[-1] = '\0';
        lines.lines[lines.n++] = line;
    }
    *ret_lines = lines;
    return 0;
}

/* The whole of an open file of the archive. */
static int read_lines(zip_file_t *file, zip_uint64_t size, struct tfl_lines *ret_lines)
{
    char *text = malloc((size_t)size + 1);
    size_t n = 0;

    if (!text)
        return -ENOMEM;
    while (n < size) {
        zip_int64_t got = zip_fread(file, text + n, size - n);

        if (got <= 0) {
            free(text);
            return -EBADMSG;
        }
        n += (size_t)got;
    }
    text[n] = '\0';
    return split(text, n, ret_lines);
}

static int read_named(zip_t *archive, const char *name, struct tfl_lines *ret_lines)
{
    zip_stat_t info;
    zip_file_t *file;
    int r;

    if (zip_stat(archive, name, 0, &info) < 0)
        return -ENOENT;
    if (!(info.valid & ZIP_STAT_SIZE))
        return -EBADMSG;
    if (info.size > TFL_MAX_ATTACHMENT_BYTES)
        return -EFBIG;
    file = zip_fopen(archive, name, 0);
    if (!file)
        return -EBADMSG;
    r = read_lines(file, info.size, ret_lines);
    zip_fclose(file);
    return r;
}

int tfl_attachment_read(const uint8_t *bytes, size_t n_bytes, const char *name,
                        struct tfl_lines *ret_lines)
{
    zip_source_t *source = zip_source_buffer_create(bytes, n_bytes, 0, NULL);
    zip_t *archive;
    int r;

    if (!source)
        return -ENOMEM;
    archive = zip_open_from_source(source, ZIP_RDONLY, NULL);
    if (!archive) {
        zip_source_free(source);
        return -ENOENT;
    }
    r = read_named(archive, name, ret_lines);
    zip_discard(archive);
    return r;
}
