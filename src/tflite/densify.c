/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/densify.h"

#include <string.h>

/* A walk through the levels. */
struct walk {
    const struct tfl_sparse *sparse;
    uint32_t n_dimensions;
    const uint32_t *dimensions;
    uint64_t index[TFL_MAX_RANK]; /* of the element that is looked at */
    uint8_t *to;
};

static bool put_value(const struct walk *walk, uint64_t place)
{
    const struct tfl_sparse *sparse = walk->sparse;
    uint64_t at = 0;

    if (place >= sparse->n_values)
        return false;
    for (uint32_t d = 0; d < walk->n_dimensions; d++) {
        if (walk->index[d] >= walk->dimensions[d])
            return false;
        at = at * walk->dimensions[d] + walk->index[d];
    }
    memcpy(walk->to + at * sparse->element_bytes, sparse->values + place * sparse->element_bytes,
           sparse->element_bytes);
    return true;
}

/* The places of a level that belong to one of the level before. */
static bool find_places(const struct tfl_level *level, uint64_t before, uint64_t *ret_first,
                        uint64_t *ret_end)
{
    if (!level->is_sparse) {
        *ret_first = before * level->size;
        *ret_end = *ret_first + level->size;
        return true;
    }
    if (before + 1 >= level->n_segments || level->segments[before] < 0 ||
        level->segments[before + 1] < level->segments[before] ||
        (uint32_t)level->segments[before + 1] > level->n_indices)
        return false;
    *ret_first = (uint64_t)level->segments[before];
    *ret_end = (uint64_t)level->segments[before + 1];
    return true;
}

/* As deep as there are levels. Each place of a level is come to once, and leads to a value or to a
 * segment of its own: a walk is no longer than the lists are. */
static bool walk_level(struct walk *walk, uint32_t number, uint64_t before)
{
    const struct tfl_level *level = &walk->sparse->levels[number];
    uint64_t first = 0, end = 0, outside;
    bool is_good;

    if (number == walk->sparse->n_levels)
        return put_value(walk, before);
    outside = walk->index[level->dimension];
    is_good = find_places(level, before, &first, &end);
    for (uint64_t place = first; is_good && place < end; place++) {
        int64_t index = level->is_sparse ? level->indices[place] : (int64_t)(place - first);

        walk->index[level->dimension] = outside + (uint64_t)index * level->stride;
        is_good = index >= 0 && walk_level(walk, number + 1, place);
    }
    walk->index[level->dimension] = outside;
    return is_good;
}

bool tfl_densify(const struct tfl_sparse *sparse, uint32_t n_dimensions, const uint32_t *dimensions,
                 uint8_t *to)
{
    struct walk walk = {
        .sparse = sparse, .n_dimensions = n_dimensions, .dimensions = dimensions, .to = to};

    return walk_level(&walk, 0, 0);
}
