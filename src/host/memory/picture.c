/* SPDX-License-Identifier: Apache-2.0 */
#include "host/memory/picture.h"

#include <stdlib.h>
#include <string.h>

/* Where a picture begins: as wide as any element, and as the vectors of drivers. */
#define ALIGNMENT 64

static uint64_t place_bytes(const struct nn_binding_picture *picture)
{
    return (picture->memory->n_view + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint32_t nn_pictures_init(struct nn_call *call, struct nn_pictures *pictures,
                          const struct nn_binding *binding, struct nnhal_input *inputs,
                          struct nnhal_output *outputs)
{
    uint64_t n_bytes = 0, offset = 0;
    uint32_t status;

    *pictures = (struct nn_pictures){.binding = binding};
    /* Each is at most as large as a file that is mapped. */
    for (uint32_t i = 0; i < binding->n_pictures; i++)
        n_bytes += place_bytes(&binding->pictures[i]);
    if (!n_bytes)
        return NNHAL_NONE;
    status = nn_call_charge_memory(call, n_bytes, &pictures->charge);
    if (status != NNHAL_NONE)
        return status;
    pictures->bytes = aligned_alloc(ALIGNMENT, n_bytes);
    if (!pictures->bytes)
        return nn_call_fail_no_memory(call);
    for (uint32_t i = 0; i < binding->n_pictures; i++) {
        const struct nn_binding_picture *picture = &binding->pictures[i];

        if (picture->is_output) {
            memset(pictures->bytes + offset, 0, place_bytes(picture));
            outputs[picture->argument].data = pictures->bytes + offset;
        } else {
            inputs[picture->argument].data = pictures->bytes + offset;
        }
        offset += place_bytes(picture);
    }
    return NNHAL_NONE;
}

void nn_pictures_done(struct nn_pictures *pictures)
{
    free(pictures->bytes);
    nn_quota_release(&pictures->charge);
    *pictures = (struct nn_pictures){.binding = NULL};
}

static void copy_all(const struct nn_pictures *pictures, bool is_output)
{
    uint8_t *at = pictures->bytes;

    for (uint32_t i = 0; at && i < pictures->binding->n_pictures; i++) {
        const struct nn_binding_picture *picture = &pictures->binding->pictures[i];
        const struct nn_memory *memory = picture->memory;
        void *pixels = nn_region_data(memory->region);

        if (picture->is_output == is_output) {
            if (is_output)
                nn_plane_layout_spread(&memory->layout.buffer, at, pixels);
            else
                nn_plane_layout_gather(&memory->layout.buffer, pixels, at);
            __atomic_add_fetch(&memory->session->host->copied_bytes, memory->n_view,
                               __ATOMIC_RELAXED);
        }
        at += place_bytes(picture);
    }
}

void nn_pictures_fetch(const struct nn_pictures *pictures)
{
    copy_all(pictures, false);
}

void nn_pictures_store(const struct nn_pictures *pictures)
{
    copy_all(pictures, true);
}
