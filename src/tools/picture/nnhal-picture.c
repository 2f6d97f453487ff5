/* SPDX-License-Identifier: Apache-2.0 */
/* nnhal-picture.c - a picture on standard input becomes a PPM file on standard output
 *
 * nnhal starts it for each picture: what reads the formats (gdk-pixbuf and its
 * modules) runs in a process of its own. Its first bytes choose the module; when that is
 * loaded, and before it sees any byte, the process is sealed (seal.h).
 * The picture is turned as its camera says (EXIF), laid over white where it is
 * transparent, and has 8 bits a channel. Of an animation the first picture is
 * taken. Exit status 1 with a sentence on standard error for what is none. */
#include "seal.h"
#include "format.h"

#include "../nnhal/image.h"

#include <gdk-pixbuf/gdk-pixbuf.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *sentence)
{
    (void)fprintf(stderr, "%s\n", sentence);
    return -1;
}

/* Ends the process before memory for too many pixels is taken: no error of this handler would stop the
 * loader. */
static void check_size(GdkPixbufLoader *loader, int width, int height, gpointer user)
{
    (void)loader, (void)user;
    if (width <= IMAGE_MAX_SIDE && height <= IMAGE_MAX_SIDE)
        return;
    (void)fprintf(stderr, "the picture is %d x %d; sides are 1 to %d pixels\n", width, height,
                  IMAGE_MAX_SIDE);
    _exit(1);
}

/* Counts the rows from the top that got pixels. */
static void note_rows(GdkPixbufLoader *loader, int x, int y, int width, int height, gpointer user)
{
    int *n_rows = user;

    (void)loader, (void)x, (void)width;
    if (y + height > *n_rows)
        *n_rows = y + height;
}

/* The sentence about what the loader made; NULL: a whole picture. */
static const char *complaint(const GdkPixbuf *picture, int n_rows, const GError *error)
{
    if (error)
        return error->message;
    return picture && n_rows == gdk_pixbuf_get_height(picture) ? NULL : "the picture is cut short";
}

/* The loader of the format that the bytes begin with, its code loaded. Returns: the caller's; NULL with a
 * sentence said. */
static GdkPixbufLoader *open_loader(const uint8_t *bytes, size_t n_bytes)
{
    const char *format = picture_format(bytes, n_bytes);
    GdkPixbufLoader *loader = format ? gdk_pixbuf_loader_new_with_type(format, NULL) : NULL;

    if (!format)
        (void)fail("it is not a picture that can be read: PNG, JPEG, GIF, TIFF, BMP, PPM, WebP");
    else if (!loader)
        (void)fprintf(stderr, "gdk-pixbuf has no module for %s here%s\n", format,
                      strcmp(format, "webp") == 0 ? ": install webp-pixbuf-loader" : "");
    return loader;
}

/* Returns: the picture, the caller's; NULL with a sentence said. */
static GdkPixbuf *load_picture(GdkPixbufLoader *loader, const uint8_t *bytes, size_t n_bytes)
{
    GdkPixbuf *picture;
    GError *error = NULL;
    const char *sentence;
    int n_rows = 0;

    g_signal_connect(loader, "size-prepared", G_CALLBACK(check_size), NULL);
    g_signal_connect(loader, "area-updated", G_CALLBACK(note_rows), &n_rows);
    if (gdk_pixbuf_loader_write(loader, bytes, n_bytes, &error))
        gdk_pixbuf_loader_close(loader, &error);
    else
        gdk_pixbuf_loader_close(loader, NULL);
    picture = gdk_pixbuf_loader_get_pixbuf(loader);
    sentence = complaint(picture, n_rows, error);
    if (sentence)
        (void)fail(sentence);
    picture = sentence ? NULL : gdk_pixbuf_apply_embedded_orientation(picture);
    g_clear_error(&error);
    return picture;
}

/* One row as RGB, over white. */
static void flatten(const uint8_t *from, int n_channels, int width, uint8_t *to)
{
    for (int x = 0; x < width; x++, from += n_channels)
        for (int c = 0; c < 3; c++) {
            int alpha = n_channels == 4 ? from[3] : 255;

            *to++ = (uint8_t)((from[c] * alpha + 255 * (255 - alpha) + 127) / 255);
        }
}

static int write_ppm(const GdkPixbuf *picture)
{
    int width = gdk_pixbuf_get_width(picture), height = gdk_pixbuf_get_height(picture);
    const uint8_t *pixels = gdk_pixbuf_read_pixels(picture);
    uint8_t *row = calloc((size_t)width, 3);

    if (!row || !pixels)
        return free(row), fail("out of memory");
    printf("P6\n%d %d\n255\n", width, height);
    for (int y = 0; y < height; y++) {
        flatten(pixels + (size_t)y * (size_t)gdk_pixbuf_get_rowstride(picture),
                gdk_pixbuf_get_n_channels(picture), width, row);
        (void)fwrite(row, 3, (size_t)width, stdout);
    }
    free(row);
    return fflush(stdout) ? fail("the pixels cannot be written") : 0;
}

/* All of standard input, of what is too large its beginning. Returns: the caller's; NULL: memory is
 * short. */
static uint8_t *read_all(size_t *ret_n_bytes)
{
    size_t room = 1 << 16, n = 0;
    uint8_t *bytes = malloc(room), *larger;

    while (bytes && (n += fread(bytes + n, 1, room - n, stdin)) == room &&
           room <= IMAGE_MAX_FILE_BYTES) {
        room *= 2;
        larger = realloc(bytes, room);
        if (!larger)
            free(bytes);
        bytes = larger;
    }
    *ret_n_bytes = n;
    return bytes;
}

/* Returns: a picture's file, the caller's; NULL with a sentence said. */
static uint8_t *read_input(size_t *ret_n_bytes)
{
    uint8_t *bytes = read_all(ret_n_bytes);
    size_t n = *ret_n_bytes;
    const char *sentence = !bytes                     ? "out of memory"
                           : n == 0                   ? "the file is empty"
                           : n > IMAGE_MAX_FILE_BYTES ? "the file is too large"
                           : picture_is_cut(bytes, n) ? "the picture is cut short"
                                                      : NULL;

    if (!sentence)
        return bytes;
    (void)fail(sentence);
    free(bytes);
    return NULL;
}

static int seal(void)
{
    int r = seal_process();

    if (r < 0)
        (void)fprintf(stderr, "the process cannot be sealed: %s\n", strerror(-r));
    return r;
}

static int convert(void)
{
    size_t n_bytes = 0;
    uint8_t *bytes = read_input(&n_bytes);
    GdkPixbufLoader *loader = bytes ? open_loader(bytes, n_bytes) : NULL;
    GdkPixbuf *picture = NULL;

    if (loader && seal() == 0)
        picture = load_picture(loader, bytes, n_bytes);
    return picture ? write_ppm(picture) : -1;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1 || isatty(STDIN_FILENO)) {
        (void)fputs("usage: nnhal-picture <PICTURE >PPM\n", stderr);
        return 2;
    }
    /* Without what runs at exit: a leak checker would need calls that are closed now, and all memory goes. */
    _exit(convert() < 0 ? 1 : 0);
}
