/* SPDX-License-Identifier: Apache-2.0 */
/* word.h - words that two processes share
 *
 * Counters, generations and waiter counts of queues are touched through these
 * only. All of them are sequentially consistent, or have a full fence where the
 * proof in nnhal/fmq.h, which is made in one total order, needs it. Elements of an unsynchronized queue may be
 * overwritten while they are copied; nn_word_copy_in() and nn_word_copy_out()
 * copy them by atomic words, release and acquire, so that a reader that has seen a
 * new byte also sees the claim that was stored before it.
 *
 * With NN_WORD_STEP defined, nn_word_step() is called before each access: a
 * test runs the queue's own code in every possible order that way. */
#ifndef NN_SHM_WORD_H
#define NN_SHM_WORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef NN_WORD_STEP
void nn_word_step(void);
void nn_word_seen(uint64_t value);
#else
static inline void nn_word_step(void)
{
}
static inline void nn_word_seen(uint64_t value)
{
}
#endif

static inline uint32_t nn_word_load32(const uint32_t *word)
{
    uint32_t value;

    nn_word_step();
    value = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    nn_word_seen(value);
    return value;
}

static inline uint64_t nn_word_load64(const uint64_t *word)
{
    uint64_t value;

    nn_word_step();
    value = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    nn_word_seen(value);
    return value;
}

static inline void nn_word_store32(uint32_t *word, uint32_t value)
{
    nn_word_step();
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static inline void nn_word_store64(uint64_t *word, uint64_t value)
{
    nn_word_step();
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* nn_word_publish64() - a store and a full fence: everything before is there
 * before the store, and later loads are ordered after it. Unlike
 * nn_word_store64() it does not wait for what was stored before until it asks for
 * its own cache line. ThreadSanitizer knows no fences. */
static inline void nn_word_publish64(uint64_t *word, uint64_t value)
{
    nn_word_step();
#ifdef __SANITIZE_THREAD__
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
#else
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* nn_word_add32() - wraps; n may be (uint32_t)-1. */
static inline void nn_word_add32(uint32_t *word, uint32_t n)
{
    nn_word_step();
    __atomic_add_fetch(word, n, __ATOMIC_SEQ_CST);
}

/* nn_word_or32(), nn_word_and32() - Returns: what was there before. */
static inline uint32_t nn_word_or32(uint32_t *word, uint32_t bits)
{
    nn_word_step();
    return __atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
}

static inline uint32_t nn_word_and32(uint32_t *word, uint32_t bits)
{
    nn_word_step();
    return __atomic_fetch_and(word, bits, __ATOMIC_SEQ_CST);
}

/* nn_word_fence() - orders stores of spans after the claim, and loads of spans
 * before it. ThreadSanitizer knows no fences; spans are outside of its sight. */
static inline void nn_word_fence(void)
{
#ifndef __SANITIZE_THREAD__
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* The shared side is aligned to 8 if n_bytes is a multiple of 8. */
static inline void nn_word_copy_in(uint8_t *shared, const uint8_t *bytes, size_t n_bytes)
{
    size_t i;

    if (n_bytes % 8 == 0)
        for (i = 0; i < n_bytes; i += 8) {
            uint64_t value;

            memcpy(&value, bytes + i, 8);
            nn_word_step();
            __atomic_store_n((uint64_t *)(void *)(shared + i), value, __ATOMIC_RELEASE);
        }
    else
        for (i = 0; i < n_bytes; i++)
            __atomic_store_n(shared + i, bytes[i], __ATOMIC_RELEASE);
}

static inline void nn_word_copy_out(uint8_t *bytes, const uint8_t *shared, size_t n_bytes)
{
    size_t i;

    if (n_bytes % 8 == 0)
        for (i = 0; i < n_bytes; i += 8) {
            uint64_t value;

            nn_word_step();
            value = __atomic_load_n((const uint64_t *)(const void *)(shared + i), __ATOMIC_ACQUIRE);
            nn_word_seen(value);
            memcpy(bytes + i, &value, 8);
        }
    else
        for (i = 0; i < n_bytes; i++)
            bytes[i] = __atomic_load_n(shared + i, __ATOMIC_ACQUIRE);
}

#endif
