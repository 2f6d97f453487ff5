/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/lookup/fingerprint.h"

#include <string.h>

static const uint64_t k0 = UINT64_C(0xc3a5c85c97cb3127);
static const uint64_t k1 = UINT64_C(0xb492b66fbe98f273);
static const uint64_t k2 = UINT64_C(0x9ae16a3b2f90404f);

struct pair {
    uint64_t first, second;
};

/* Little-endian, wherever it is. */
static uint64_t fetch_bytes(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;

    for (size_t i = n; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t fetch_u64(const uint8_t *bytes)
{
    return fetch_bytes(bytes, 8);
}

static uint64_t rotate_u64(uint64_t value, unsigned n)
{
    return value >> n | value << (64 - n);
}

static uint64_t fold_u64(uint64_t value)
{
    return value ^ value >> 47;
}

static uint64_t mix_u64(uint64_t a, uint64_t b, uint64_t factor)
{
    uint64_t c = fold_u64((a ^ b) * factor);

    return fold_u64((b ^ c) * factor) * factor;
}

static uint64_t hash_up_to_16(const uint8_t *s, size_t n)
{
    uint64_t factor = k2 + n * 2;

    if (n >= 8) {
        uint64_t a = fetch_u64(s) + k2, b = fetch_u64(s + n - 8);

        return mix_u64(rotate_u64(b, 37) * factor + a, (rotate_u64(a, 25) + b) * factor, factor);
    }
    if (n >= 4)
        return mix_u64(n + (fetch_bytes(s, 4) << 3), fetch_bytes(s + n - 4, 4), factor);
    if (n > 0) {
        uint64_t y = s[0] + ((uint64_t)s[n >> 1] << 8), z = n + ((uint64_t)s[n - 1] << 2);

        return fold_u64(y * k2 ^ z * k0) * k2;
    }
    return k2;
}

static uint64_t hash_up_to_32(const uint8_t *s, size_t n)
{
    uint64_t factor = k2 + n * 2;
    uint64_t a = fetch_u64(s) * k1, b = fetch_u64(s + 8);
    uint64_t c = fetch_u64(s + n - 8) * factor, d = fetch_u64(s + n - 16) * k2;

    return mix_u64(rotate_u64(a + b, 43) + rotate_u64(c, 30) + d, a + rotate_u64(b + k2, 18) + c,
                   factor);
}

static uint64_t hash_up_to_64(const uint8_t *s, size_t n)
{
    uint64_t factor = k2 + n * 2;
    uint64_t a = fetch_u64(s) * k2, b = fetch_u64(s + 8);
    uint64_t c = fetch_u64(s + n - 8) * factor, d = fetch_u64(s + n - 16) * k2;
    uint64_t y = rotate_u64(a + b, 43) + rotate_u64(c, 30) + d;
    uint64_t z = mix_u64(y, a + rotate_u64(b + k2, 18) + c, factor);
    uint64_t e = fetch_u64(s + 16) * factor, f = fetch_u64(s + 24);
    uint64_t g = (y + fetch_u64(s + n - 32)) * factor, h = (z + fetch_u64(s + n - 24)) * factor;

    return mix_u64(rotate_u64(e + f, 43) + rotate_u64(g, 30) + h, e + rotate_u64(f + a, 18) + g,
                   factor);
}

static struct pair weak_hash(const uint8_t *s, uint64_t a, uint64_t b)
{
    uint64_t w = fetch_u64(s), x = fetch_u64(s + 8), y = fetch_u64(s + 16), z = fetch_u64(s + 24),
             c;

    a += w;
    b = rotate_u64(b + a + z, 21);
    c = a;
    a += x + y;
    b += rotate_u64(a, 44);
    return (struct pair){a + z, b + c};
}

/* The state of a long hash, 64 bytes at a time. */
struct state {
    uint64_t x, y, z;
    struct pair v, w;
};

/* The last block takes the same steps with another factor and more weight on w and v. */
static void take_block(struct state *st, const uint8_t *s, uint64_t factor, uint64_t weight)
{
    uint64_t swap;

    st->x = rotate_u64(st->x + st->y + st->v.first + fetch_u64(s + 8), 37) * factor;
    st->y = rotate_u64(st->y + st->v.second + fetch_u64(s + 48), 42) * factor;
    st->x ^= st->w.second * weight;
    st->y += st->v.first * weight + fetch_u64(s + 40);
    st->z = rotate_u64(st->z + st->w.first, 33) * factor;
    st->v = weak_hash(s, st->v.second * factor, st->x + st->w.first);
    st->w = weak_hash(s + 32, st->z + st->w.second, st->y + fetch_u64(s + 16));
    swap = st->z;
    st->z = st->x;
    st->x = swap;
}

static uint64_t hash_long(const uint8_t *s, size_t n, struct nn_pace *pace)
{
    const uint64_t seed = 81;
    const uint8_t *end = s + (n - 1) / 64 * 64, *last = end + ((n - 1) & 63) - 63;
    struct state st = {.x = seed * k2 + fetch_u64(s), .y = seed * k1 + 113};
    uint64_t factor;

    st.z = fold_u64(st.y * k2 + 113) * k2;
    for (struct nn_pace_part part = {0};
         nn_pace_next_part(pace, (size_t)(end - s) / 64, 20, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            take_block(&st, s + i * 64, k1, 1);
    factor = k1 + ((st.z & 0xff) << 1);
    st.w.first += (n - 1) & 63;
    st.v.first += st.w.first;
    st.w.first += st.v.first;
    take_block(&st, last, factor, 9);
    return mix_u64(mix_u64(st.v.first, st.w.first, factor) + fold_u64(st.y) * k0 + st.z,
                   mix_u64(st.v.second, st.w.second, factor) + st.x, factor);
}

uint64_t nn_fingerprint64(const void *bytes, size_t n_bytes, struct nn_pace *pace)
{
    if (n_bytes <= 16)
        return hash_up_to_16(bytes, n_bytes);
    if (n_bytes <= 32)
        return hash_up_to_32(bytes, n_bytes);
    if (n_bytes <= 64)
        return hash_up_to_64(bytes, n_bytes);
    return hash_long(bytes, n_bytes, pace);
}
