/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/plane-layout.h"

#include "base/arith.h"

#include <android/hardware_buffer.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROW_ALIGNMENT 64

/* Usages that never leave the CPU's kind of memory: rows need no alignment. */
#define TIGHT_USAGES                                                                               \
    (AHARDWAREBUFFER_USAGE_CPU_READ_MASK | AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK |                  \
     AHARDWAREBUFFER_USAGE_SENSOR_DIRECT_DATA | AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER)

#define USAGES                                                                                     \
    (TIGHT_USAGES | AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE |                                      \
     AHARDWAREBUFFER_USAGE_GPU_COLOR_OUTPUT | AHARDWAREBUFFER_USAGE_COMPOSER_OVERLAY |             \
     AHARDWAREBUFFER_USAGE_VIDEO_ENCODE)

/* A format has one plane of whole pixels, or three: a full one, and two of a
 * quarter of the samples. */
struct format {
    uint32_t format;
    uint32_t n_planes;
    uint32_t sample_bytes;
    bool is_interleaved; /* when made here: the small planes share their rows */
};

static const struct format formats[] = {
    {AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM, 1, 4, false},
    {AHARDWAREBUFFER_FORMAT_R8G8B8X8_UNORM, 1, 4, false},
    {AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM, 1, 3, false},
    {AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM, 1, 2, false},
    {AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT, 1, 8, false},
    {AHARDWAREBUFFER_FORMAT_R10G10B10A2_UNORM, 1, 4, false},
    {AHARDWAREBUFFER_FORMAT_R8_UNORM, 1, 1, false},
    {AHARDWAREBUFFER_FORMAT_R16_UINT, 1, 2, false},
    {AHARDWAREBUFFER_FORMAT_R16G16_UINT, 1, 4, false},
    {AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420, 3, 1, false},
    {AHARDWAREBUFFER_FORMAT_YCbCr_P010, 3, 2, true},
};

static const struct format *find_format(uint32_t number)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].format == number)
            return &formats[i];
    return NULL;
}

bool nn_plane_layout_is_linear(const struct nnhal_hardware_buffer *buffer)
{
    return buffer->modifier == 0;
}

/* -- planes ------------------------------------------------------------------- */

static uint32_t halve_up(uint32_t n)
{
    return n / 2 + n % 2;
}

static uint32_t plane_columns(const struct nnhal_hardware_buffer *buffer, uint32_t i)
{
    return i == 0 ? buffer->width : halve_up(buffer->width);
}

static uint32_t plane_rows(const struct nnhal_hardware_buffer *buffer, uint32_t i)
{
    return i == 0 ? buffer->height : halve_up(buffer->height);
}

/* Bytes from a plane's first sample to behind its last one; false: too many.
 * Rows and columns are at least 1. */
static bool plane_bytes(const struct nnhal_hardware_buffer *buffer, const struct format *format,
                        uint32_t i, uint64_t *ret_bytes)
{
    const struct nnhal_buffer_plane *plane = &buffer->planes[i];
    uint64_t rows, pixels;

    return nn_mul_u64(plane_rows(buffer, i) - 1, plane->row_bytes, &rows) &&
           nn_mul_u64(plane_columns(buffer, i) - 1, plane->pixel_bytes, &pixels) &&
           nn_add_u64(rows, pixels, ret_bytes) &&
           nn_add_u64(*ret_bytes, format->sample_bytes, ret_bytes);
}

/* -- making ------------------------------------------------------------------- */

/* Bytes of a row of n pixels. */
static bool make_row(uint32_t n, uint32_t pixel_bytes, bool is_tight, uint32_t *ret_bytes)
{
    size_t bytes = (size_t)n * pixel_bytes;
    /* A stride is counted in pixels: it is a multiple of both. */
    size_t unit = is_tight ? pixel_bytes : (size_t)ROW_ALIGNMENT * (pixel_bytes == 3 ? 3 : 1);

    bytes = (bytes + unit - 1) / unit * unit;
    *ret_bytes = (uint32_t)bytes;
    return bytes <= UINT32_MAX;
}

/* The planes of one layer, one after the other. Returns its bytes; false: too many. */
static bool make_planes(struct nn_plane_layout *layout, const struct format *format, bool is_tight,
                        uint64_t *ret_bytes)
{
    uint64_t offset = 0;

    for (uint32_t i = 0; i < format->n_planes; i++) {
        struct nnhal_buffer_plane *plane = &layout->planes[i];
        bool is_pair = format->is_interleaved && i > 0;
        uint64_t n_bytes;

        if (is_pair && i == 2) {
            *plane = layout->planes[1];
            plane->offset += format->sample_bytes;
            break;
        }
        plane->offset = offset;
        plane->pixel_bytes = format->sample_bytes * (is_pair ? 2 : 1);
        if (!make_row(plane_columns(&layout->buffer, i), plane->pixel_bytes, is_tight,
                      &plane->row_bytes) ||
            !nn_mul_u64(plane_rows(&layout->buffer, i), plane->row_bytes, &n_bytes) ||
            !nn_add_u64(offset, n_bytes, &offset))
            return false;
    }
    *ret_bytes = offset;
    return true;
}

static int make_blob(struct nn_plane_layout *layout)
{
    struct nnhal_hardware_buffer *buffer = &layout->buffer;

    if (buffer->height != 1 || buffer->layers != 1)
        return NN_PLANE_LAYOUT_E_INVALID;
    buffer->stride = buffer->width;
    buffer->size = buffer->width;
    return 0;
}

static int make_image(struct nn_plane_layout *layout, const struct format *format)
{
    struct nnhal_hardware_buffer *buffer = &layout->buffer;
    bool is_tight = (buffer->usage & ~(uint64_t)TIGHT_USAGES) == 0;
    uint64_t layer_bytes;

    buffer->n_planes = format->n_planes;
    buffer->planes = layout->planes;
    if (!make_planes(layout, format, is_tight, &layer_bytes))
        return NN_PLANE_LAYOUT_E_INVALID;
    buffer->stride = layout->planes[0].row_bytes / layout->planes[0].pixel_bytes;
    if (!nn_mul_u64(layer_bytes, buffer->layers, &buffer->size) || buffer->size > INT64_MAX)
        return NN_PLANE_LAYOUT_E_INVALID;
    return 0;
}

int nn_plane_layout_init(const struct nnhal_hardware_buffer *like,
                         struct nn_plane_layout *ret_layout)
{
    const struct format *format = find_format(like->format);

    if (like->width == 0 || like->height == 0 || like->layers == 0)
        return NN_PLANE_LAYOUT_E_INVALID;
    *ret_layout = (struct nn_plane_layout){.buffer = {.format = like->format,
                                                      .width = like->width,
                                                      .height = like->height,
                                                      .layers = like->layers,
                                                      .usage = like->usage}};
    if (like->usage & ~(uint64_t)USAGES)
        return NN_PLANE_LAYOUT_E_UNSUPPORTED;
    if (like->format == AHARDWAREBUFFER_FORMAT_BLOB)
        return make_blob(ret_layout);
    return format ? make_image(ret_layout, format) : NN_PLANE_LAYOUT_E_UNSUPPORTED;
}

void nn_plane_layout_copy(const struct nnhal_hardware_buffer *buffer,
                          struct nn_plane_layout *ret_layout)
{
    *ret_layout = (struct nn_plane_layout){.buffer = *buffer};
    if (buffer->n_planes > 0)
        memcpy(ret_layout->planes, buffer->planes, buffer->n_planes * sizeof(*buffer->planes));
    ret_layout->buffer.planes = ret_layout->planes;
}

/* -- judging ------------------------------------------------------------------ */

static int check_blob(const struct nnhal_hardware_buffer *buffer)
{
    if (buffer->height != 1 || buffer->layers != 1 || buffer->n_planes != 0 ||
        buffer->modifier != 0 || buffer->width > buffer->size ||
        (buffer->stride != 0 && buffer->stride != buffer->width))
        return NN_PLANE_LAYOUT_E_INVALID;
    return 0;
}

/* A plane whose rows are long enough and which ends within its layer. */
static int check_plane(const struct nnhal_hardware_buffer *buffer, const struct format *format,
                       uint32_t i)
{
    const struct nnhal_buffer_plane *plane = &buffer->planes[i];
    uint64_t row_bytes, n_bytes;

    if (plane->pixel_bytes < format->sample_bytes ||
        (format->n_planes == 1 && plane->pixel_bytes != format->sample_bytes) ||
        !nn_mul_u64(plane_columns(buffer, i) - 1, plane->pixel_bytes, &row_bytes) ||
        row_bytes + format->sample_bytes > plane->row_bytes ||
        !plane_bytes(buffer, format, i, &n_bytes) ||
        !nn_range_fits(plane->offset, n_bytes, buffer->size / buffer->layers))
        return NN_PLANE_LAYOUT_E_INVALID;
    return 0;
}

static int check_image(const struct nnhal_hardware_buffer *buffer, const struct format *format)
{
    uint64_t row_bytes;

    if (buffer->n_planes != format->n_planes || buffer->size % buffer->layers != 0)
        return NN_PLANE_LAYOUT_E_INVALID;
    for (uint32_t i = 0; i < buffer->n_planes; i++)
        if (check_plane(buffer, format, i) != 0)
            return NN_PLANE_LAYOUT_E_INVALID;
    if (!nn_mul_u64(buffer->stride, buffer->planes[0].pixel_bytes, &row_bytes) ||
        row_bytes != buffer->planes[0].row_bytes)
        return NN_PLANE_LAYOUT_E_INVALID;
    return 0;
}

int nn_plane_layout_check(const struct nnhal_hardware_buffer *buffer, uint64_t file_size)
{
    const struct format *format = find_format(buffer->format);

    if (buffer->width == 0 || buffer->height == 0 || buffer->layers == 0 || buffer->size == 0 ||
        buffer->size > file_size || buffer->n_planes > NNHAL_MAX_PLANES ||
        (buffer->n_planes > 0 && !buffer->planes))
        return NN_PLANE_LAYOUT_E_INVALID;
    if (buffer->format == AHARDWAREBUFFER_FORMAT_BLOB)
        return check_blob(buffer);
    if (nn_plane_layout_is_linear(buffer))
        return format ? check_image(buffer, format) : NN_PLANE_LAYOUT_E_INVALID;
    for (uint32_t i = 0; i < buffer->n_planes; i++)
        if (buffer->planes[i].offset >= buffer->size)
            return NN_PLANE_LAYOUT_E_INVALID;
    return 0;
}

/* -- the view ------------------------------------------------------------------- */

bool nn_plane_layout_find_packed(const struct nnhal_hardware_buffer *buffer, uint64_t *ret_offset,
                                 uint64_t *ret_bytes)
{
    const struct format *format = find_format(buffer->format);
    uint64_t begin = UINT64_MAX, end = 0, n_samples = 0;

    if (!nn_plane_layout_is_linear(buffer) || !format)
        return false;
    /* Judged: nothing below is larger than the file. */
    for (uint32_t i = 0; i < buffer->n_planes; i++) {
        const struct nnhal_buffer_plane *plane = &buffer->planes[i];
        uint64_t n_bytes;

        if (!plane_bytes(buffer, format, i, &n_bytes))
            return false;
        begin = plane->offset < begin ? plane->offset : begin;
        end = plane->offset + n_bytes > end ? plane->offset + n_bytes : end;
        n_samples += (uint64_t)plane_rows(buffer, i) * plane_columns(buffer, i);
    }
    *ret_offset = begin;
    *ret_bytes = n_samples * format->sample_bytes * buffer->layers;
    return end - begin == n_samples * format->sample_bytes &&
           (buffer->layers == 1 || end - begin == buffer->size / buffer->layers);
}

/* -- rows ------------------------------------------------------------------------- */

/* Rows of one plane, or of two planes whose samples alternate in them. */
struct rows {
    uint64_t offset;  /* of the first, in its layer */
    uint64_t stride;  /* from one to the next */
    uint64_t n_bytes; /* of each */
    uint32_t n;
};

static struct rows rows_of(const struct nnhal_hardware_buffer *buffer, uint32_t i,
                           uint32_t pixel_bytes)
{
    return (struct rows){
        .offset = buffer->planes[i].offset,
        .stride = buffer->planes[i].row_bytes,
        .n_bytes = (uint64_t)plane_columns(buffer, i) * pixel_bytes,
        .n = plane_rows(buffer, i),
    };
}

/* Whether the samples of the small planes alternate, the first of them being that of ret_first. */
static bool is_alternating(const struct nnhal_hardware_buffer *buffer, uint32_t sample_bytes,
                           uint32_t *ret_first)
{
    const struct nnhal_buffer_plane *b = &buffer->planes[1], *r = &buffer->planes[2];
    uint64_t distance = b->offset < r->offset ? r->offset - b->offset : b->offset - r->offset;

    *ret_first = b->offset < r->offset ? 1 : 2;
    return distance == sample_bytes && b->row_bytes == r->row_bytes &&
           b->pixel_bytes == 2 * sample_bytes && r->pixel_bytes == 2 * sample_bytes;
}

/* The rows of a layer; buffer is linear. Returns: how many groups; 0: samples with gaps within rows. */
static uint32_t find_groups(const struct nnhal_hardware_buffer *buffer, const struct format *format,
                            struct rows groups[NNHAL_MAX_PLANES])
{
    uint32_t first, sample_bytes = format->sample_bytes;

    if (buffer->planes[0].pixel_bytes != sample_bytes)
        return 0;
    groups[0] = rows_of(buffer, 0, sample_bytes);
    if (format->n_planes == 1)
        return 1;
    if (is_alternating(buffer, sample_bytes, &first)) {
        groups[1] = rows_of(buffer, first, 2 * sample_bytes);
        return 2;
    }
    for (uint32_t i = 1; i < format->n_planes; i++) {
        if (buffer->planes[i].pixel_bytes != sample_bytes)
            return 0;
        groups[i] = rows_of(buffer, i, sample_bytes);
    }
    return format->n_planes;
}

static int compare_groups(const void *a, const void *b)
{
    const struct rows *left = a, *right = b;

    return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Whether each row ends before the next begins, which also holds from group to group. */
static bool is_in_order(const struct rows *groups, uint32_t n)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (groups[i].offset < end || (groups[i].n > 1 && groups[i].n_bytes > groups[i].stride))
            return false;
        end = groups[i].offset + (groups[i].n - 1) * groups[i].stride + groups[i].n_bytes;
    }
    return true;
}

/* All rows, in the order of their bytes. */
struct row_walk {
    const struct nnhal_hardware_buffer *buffer;
    struct rows groups[NNHAL_MAX_PLANES];
    uint32_t n_groups;
    uint32_t layer, group, row; /* the next one */
};

static bool row_walk_init(struct row_walk *walk, const struct nnhal_hardware_buffer *buffer)
{
    const struct format *format = find_format(buffer->format);

    *walk = (struct row_walk){.buffer = buffer};
    if (!format || !nn_plane_layout_is_linear(buffer))
        return false;
    walk->n_groups = find_groups(buffer, format, walk->groups);
    qsort(walk->groups, walk->n_groups, sizeof(*walk->groups), compare_groups);
    return walk->n_groups > 0 && is_in_order(walk->groups, walk->n_groups);
}

static bool row_walk_next(struct row_walk *walk, uint64_t *ret_offset, uint64_t *ret_bytes)
{
    const struct rows *group = &walk->groups[walk->group];
    uint64_t layer_bytes = walk->buffer->size / walk->buffer->layers;

    if (walk->layer == walk->buffer->layers)
        return false;
    *ret_offset = walk->layer * layer_bytes + group->offset + walk->row * group->stride;
    *ret_bytes = group->n_bytes;
    if (++walk->row == group->n) {
        walk->row = 0;
        walk->group = (walk->group + 1) % walk->n_groups;
        walk->layer += walk->group == 0;
    }
    return true;
}

bool nn_plane_layout_find_dense(const struct nnhal_hardware_buffer *buffer, uint64_t *ret_bytes)
{
    struct row_walk walk;
    uint64_t n_bytes = 0;

    if (!row_walk_init(&walk, buffer))
        return false;
    /* Judged: rows that do not overlap lie in the file. */
    for (uint32_t i = 0; i < walk.n_groups; i++)
        n_bytes += walk.groups[i].n * walk.groups[i].n_bytes;
    *ret_bytes = n_bytes * buffer->layers;
    return true;
}

void nn_plane_layout_gather(const struct nnhal_hardware_buffer *buffer, const void *pixels,
                            void *dense)
{
    struct row_walk walk;
    uint64_t offset, n_bytes;
    uint8_t *to = dense;

    row_walk_init(&walk, buffer);
    for (; row_walk_next(&walk, &offset, &n_bytes); to += n_bytes)
        memcpy(to, (const uint8_t *)pixels + offset, n_bytes);
}

void nn_plane_layout_spread(const struct nnhal_hardware_buffer *buffer, const void *dense,
                            void *pixels)
{
    struct row_walk walk;
    uint64_t offset, n_bytes;
    const uint8_t *from = dense;

    row_walk_init(&walk, buffer);
    for (; row_walk_next(&walk, &offset, &n_bytes); from += n_bytes)
        memcpy((uint8_t *)pixels + offset, from, n_bytes);
}
