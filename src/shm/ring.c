/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/ring.h"

#include "base/arith.h"
#include "base/error.h"
#include "base/sys.h"
#include "shm/evflag.h"
#include "shm/region.h"
#include "shm/word.h"

#include <stddef.h>
#include <string.h>

#define RING_MAGIC   UINT32_C(0x514d464e) /* "NFMQ" */
#define RING_VERSION 1

/* How often the clock is read while spinning. */
#define SPINS_PER_CLOCK 64
#define CACHE_LINE      64
#define MAX_ASKED_BYTES 2048 /* more would push out what is in use */
#define MAX_SPIN_NS     UINT64_C(1000000000)

enum {
    STOP_CLOSED = 1,
    STOP_INTERRUPTED = 2, /* the reader's wait, once */
};

struct ring_page {
    uint32_t magic;
    uint32_t version;
    uint8_t reserved_0[56];
    uint64_t write;
    uint64_t claim;
    uint8_t reserved_1[48];
    uint64_t read;
    uint8_t reserved_2[56];
    struct nn_evflag_words words;
    uint8_t reserved_3[56];
    uint8_t elements[];
};

_Static_assert(offsetof(struct ring_page, write) == 64, "nnhal/fmq.h");
_Static_assert(offsetof(struct ring_page, claim) == 72, "nnhal/fmq.h");
_Static_assert(offsetof(struct ring_page, read) == 128, "nnhal/fmq.h");
_Static_assert(offsetof(struct ring_page, words) == 192, "nnhal/fmq.h");
_Static_assert(offsetof(struct ring_page, elements) == 256, "nnhal/fmq.h");

/* What one side knows; on a cache line of its own, as the two sides may be two
 * threads of this process. */
struct ring_side {
    uint64_t own;   /* its counter */
    uint64_t peer;  /* the other's, as last seen */
    uint64_t claim; /* never goes back: what was begun once is spoiled */
    uint32_t n_begun;
    uint32_t n_wanted; /* by a wait */
    bool is_broken;
} __attribute__((aligned(64)));

struct nn_ring {
    struct nn_region *region;
    struct ring_page *page;
    uint32_t n_elements;
    uint32_t element_size;
    bool is_synchronized;
    uint64_t spin_ns;
    struct nn_evflag own_flag;
    struct nn_evflag *flag;
    uint32_t stop; /* why waits end: STOP_CLOSED, STOP_INTERRUPTED */
    struct ring_side writer;
    struct ring_side reader;
};

/* -- making and attaching ------------------------------------------------- */

/* Returns: 0 with the file's size, NNHAL_FMQ_E_INVALID. */
static int ring_measure(uint32_t n_elements, uint32_t element_size, uint32_t flavour,
                        size_t *ret_n_bytes)
{
    uint64_t n_bytes;

    if (n_elements == 0 || n_elements > NNHAL_FMQ_MAX_ELEMENTS || element_size == 0 ||
        element_size > NNHAL_FMQ_MAX_ELEMENT_BYTES ||
        (flavour != NNHAL_FMQ_SYNCHRONIZED && flavour != NNHAL_FMQ_UNSYNCHRONIZED))
        return NNHAL_FMQ_E_INVALID;
    if (!nn_mul_u64(n_elements, element_size, &n_bytes) || n_bytes > NNHAL_FMQ_MAX_BYTES)
        return NNHAL_FMQ_E_INVALID;
    if (!nn_align_up(sizeof(struct ring_page) + (size_t)n_bytes, (size_t)sysconf(_SC_PAGESIZE),
                     ret_n_bytes))
        return NNHAL_FMQ_E_INVALID;
    return 0;
}

/* The counters that both sides begin with, read from the file once. A
 * reader of an unsynchronized queue begins with the oldest element. */
static void init_sides(struct nn_ring *ring)
{
    uint64_t write = nn_word_load64(&ring->page->write);
    uint64_t read = nn_word_load64(&ring->page->read);
    uint64_t claim = nn_word_load64(&ring->page->claim);

    if (!ring->is_synchronized) {
        read = claim > ring->n_elements ? claim - ring->n_elements : 0;
    }
    ring->writer = (struct ring_side){.own = write, .peer = read, .claim = claim};
    ring->reader = (struct ring_side){.own = read, .peer = write};
    /* The peer may have written anything before this side attached: counters further apart
     * than the queue is long would lead to spans beyond its elements. */
    if (ring->is_synchronized && write - read > ring->n_elements) {
        ring->writer.is_broken = true;
        ring->reader.is_broken = true;
    }
}

static int ring_alloc(struct nn_region **region, uint32_t n_elements, uint32_t element_size,
                      uint32_t flavour, struct nn_evflag *flag, struct nn_ring **ret_ring)
{
    struct nn_ring *ring = aligned_alloc(64, sizeof(*ring));

    if (!ring)
        return nn_error_origin(-ENOMEM);
    *ring = (struct nn_ring){
        .region = *region,
        .page = nn_region_data(*region),
        .n_elements = n_elements,
        .element_size = element_size,
        .is_synchronized = flavour == NNHAL_FMQ_SYNCHRONIZED,
    };
    *region = NULL;
    nn_evflag_init(&ring->own_flag, &ring->page->words);
    ring->flag = flag ? flag : &ring->own_flag;
    init_sides(ring);
    *ret_ring = ring;
    return 0;
}

int nn_ring_new(uint32_t n_elements, uint32_t element_size, uint32_t flavour,
                struct nn_evflag *flag, struct nn_ring **ret_ring)
{
    _cleanup_(nn_region_unrefp) struct nn_region *region = NULL;
    struct ring_page *page;
    size_t n_bytes;
    int r = ring_measure(n_elements, element_size, flavour, &n_bytes);

    if (r != 0)
        return r;
    r = nn_region_new_sealed("nnhal-fmq", n_bytes, &region);
    if (r < 0)
        return nn_error_trace(r);
    page = nn_region_data(region);
    page->magic = RING_MAGIC;
    page->version = RING_VERSION;
    return ring_alloc(&region, n_elements, element_size, flavour, flag, ret_ring);
}

int nn_ring_attach(const struct nnhal_fmq_descriptor *descriptor, struct nn_evflag *flag,
                   struct nn_ring **ret_ring)
{
    _cleanup_(nn_region_unrefp) struct nn_region *region = NULL;
    const struct ring_page *page;
    size_t n_bytes;
    int r = ring_measure(descriptor->n_elements, descriptor->element_size, descriptor->flavour,
                         &n_bytes);

    if (r != 0)
        return r;
    r = nn_region_map_sealed(descriptor->fd, n_bytes, &region);
    if (r != 0)
        return r;
    page = nn_region_data(region);
    if (page->magic != RING_MAGIC || page->version != RING_VERSION)
        return NNHAL_FMQ_E_INVALID;
    return ring_alloc(&region, descriptor->n_elements, descriptor->element_size,
                      descriptor->flavour, flag, ret_ring);
}

struct nn_ring *nn_ring_free(struct nn_ring *ring)
{
    if (ring)
        nn_region_unref(ring->region);
    free(ring);
    return NULL;
}

void nn_ring_descriptor(const struct nn_ring *ring, struct nnhal_fmq_descriptor *ret)
{
    *ret = (struct nnhal_fmq_descriptor){
        .n_elements = ring->n_elements,
        .element_size = ring->element_size,
        .flavour = ring->is_synchronized ? NNHAL_FMQ_SYNCHRONIZED : NNHAL_FMQ_UNSYNCHRONIZED,
        .fd = nn_region_fd(ring->region),
    };
}

void nn_ring_close(struct nn_ring *ring)
{
    nn_word_or32(&ring->stop, STOP_CLOSED);
    nn_evflag_poke(ring->flag);
}

void nn_ring_interrupt(struct nn_ring *ring)
{
    nn_word_or32(&ring->stop, STOP_INTERRUPTED);
    nn_evflag_poke(ring->flag);
}

void nn_ring_set_spin(struct nn_ring *ring, uint64_t spin_ns)
{
    ring->spin_ns = spin_ns < MAX_SPIN_NS ? spin_ns : MAX_SPIN_NS;
}

/* -- what is available ---------------------------------------------------- */

/* How many places are free, after looking at the reader's counter if there are
 * fewer than wanted. It can only have grown, up to our own. */
static uint32_t ring_load_writable(struct nn_ring *ring, uint32_t n_wanted)
{
    struct ring_side *side = &ring->writer;
    uint64_t n_used = side->own - side->peer;

    if (!ring->is_synchronized)
        return ring->n_elements;
    if (side->is_broken)
        return 0;
    if (ring->n_elements - n_used < n_wanted) {
        uint64_t peer = nn_word_load64(&ring->page->read);

        /* By difference, as counters may wrap. One that went back, or ahead of ours, would
         * count places as free that the reader still uses: the queue is given up. */
        if (peer - side->peer > n_used) {
            side->is_broken = true;
            return 0;
        }
        side->peer = peer;
        n_used = side->own - peer;
    }
    return (uint32_t)(ring->n_elements - n_used);
}

/* How many elements there are, after looking at the writer's counter if there
 * are fewer than wanted. It can only have grown, up to a full queue. An
 * unsynchronized writer's may be anywhere: *ret_is_overrun. */
static uint32_t ring_load_readable(struct nn_ring *ring, uint32_t n_wanted, bool *ret_is_overrun)
{
    struct ring_side *side = &ring->reader;
    uint64_t n_there = side->peer - side->own;

    *ret_is_overrun = false;
    if (side->is_broken)
        return 0;
    if (ring->is_synchronized && n_there >= n_wanted)
        return (uint32_t)n_there;
    side->peer = nn_word_load64(&ring->page->write);
    if (side->peer - side->own > ring->n_elements) {
        *ret_is_overrun = !ring->is_synchronized;
        side->is_broken = ring->is_synchronized;
        return 0;
    }
    if (ring->is_synchronized && side->peer - side->own < n_there) {
        side->is_broken = true;
        return 0;
    }
    return (uint32_t)(side->peer - side->own);
}

uint32_t nn_ring_available_to_write(struct nn_ring *ring)
{
    return ring_load_writable(ring, ring->n_elements);
}

uint32_t nn_ring_available_to_read(struct nn_ring *ring)
{
    bool is_overrun;

    return ring_load_readable(ring, ring->n_elements, &is_overrun);
}

/* -- transactions --------------------------------------------------------- */

static void make_spans(struct nn_ring *ring, uint64_t first, uint32_t n_elements,
                       struct nnhal_fmq_transaction *ret_transaction)
{
    /* All of these are copies of this side: no word of the shared page decides an address. */
    uint32_t place = (uint32_t)(first % ring->n_elements);
    uint32_t n_before = ring->n_elements - place;

    if (n_before > n_elements)
        n_before = n_elements;
    ret_transaction->spans[0] = (struct nnhal_fmq_span){
        .elements = ring->page->elements + (size_t)place * ring->element_size,
        .n_elements = n_before,
    };
    ret_transaction->spans[1] = (struct nnhal_fmq_span){
        .elements = ring->page->elements,
        .n_elements = n_elements - n_before,
    };
}

int nn_ring_begin_write(struct nn_ring *ring, uint32_t n_elements,
                        struct nnhal_fmq_transaction *ret_transaction)
{
    struct ring_side *side = &ring->writer;

    side->n_begun = 0;
    if (n_elements > ring->n_elements)
        return NNHAL_FMQ_E_TOO_MANY;
    if (ring_load_writable(ring, n_elements) < n_elements)
        return side->is_broken ? NNHAL_FMQ_E_BROKEN : NNHAL_FMQ_E_FULL;
    if (side->is_broken)
        return NNHAL_FMQ_E_BROKEN;
    if (!ring->is_synchronized) {
        if (side->own + n_elements > side->claim)
            side->claim = side->own + n_elements;
        /* Visible before the first byte changes. The fence pairs with that of
         * nn_ring_commit_read(): a reader that has copied new bytes sees the claim as well,
         * and drops its copy. */
        nn_word_store64(&ring->page->claim, side->claim);
        nn_word_fence();
    }
    side->n_begun = n_elements;
    make_spans(ring, side->own, n_elements, ret_transaction);
    return 0;
}

static void prefetch_line(const uint8_t *byte)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("prefetchw %0" : : "m"(*byte)); /* does nothing where it is not known */
#else
    __builtin_prefetch(byte, 1);
#endif
}

/* The next elements are likely to be as many. Their cache lines lie where the
 * reader was last: they are asked for now, while it works on what it got. */
static void prefetch_next(const struct nn_ring *ring, uint32_t n_elements)
{
    size_t n_bytes = (size_t)n_elements * ring->element_size;
    size_t at = (size_t)(ring->writer.own % ring->n_elements) * ring->element_size;
    size_t end = (size_t)ring->n_elements * ring->element_size;

    if (n_bytes > MAX_ASKED_BYTES)
        return;
    if (end > at + n_bytes)
        end = at + n_bytes;
    /* Not the line that the last elements end in, which the reader wants now. */
    for (at = (at + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; at < end; at += CACHE_LINE)
        prefetch_line(ring->page->elements + at);
}

int nn_ring_commit_write(struct nn_ring *ring, uint32_t n_elements)
{
    struct ring_side *side = &ring->writer;

    if (n_elements > side->n_begun)
        return nn_error_origin(-EINVAL);
    side->n_begun = 0;
    side->own += n_elements;
    nn_word_publish64(&ring->page->write, side->own);
    /* The reader first: prefetching helps the next write only. */
    nn_evflag_wake(ring->flag);
    prefetch_next(ring, n_elements);
    return 0;
}

int nn_ring_begin_read(struct nn_ring *ring, uint32_t n_elements,
                       struct nnhal_fmq_transaction *ret_transaction)
{
    struct ring_side *side = &ring->reader;
    bool is_overrun;

    side->n_begun = 0;
    if (n_elements > ring->n_elements)
        return NNHAL_FMQ_E_TOO_MANY;
    if (ring_load_readable(ring, n_elements, &is_overrun) < n_elements || is_overrun) {
        if (is_overrun)
            /* Everything before the write counter may be overwritten at any moment. */
            side->own = side->peer;
        return is_overrun        ? NNHAL_FMQ_E_OVERRUN
               : side->is_broken ? NNHAL_FMQ_E_BROKEN
                                 : NNHAL_FMQ_E_EMPTY;
    }
    if (side->is_broken)
        return NNHAL_FMQ_E_BROKEN;
    side->n_begun = n_elements;
    make_spans(ring, side->own, n_elements, ret_transaction);
    return 0;
}

int nn_ring_commit_read(struct nn_ring *ring, uint32_t n_elements)
{
    struct ring_side *side = &ring->reader;

    if (n_elements > side->n_begun)
        return nn_error_origin(-EINVAL);
    side->n_begun = 0;
    if (!ring->is_synchronized) {
        /* Pairs with the fence in nn_ring_begin_write(): the claim is at least as new as
         * the bytes. */
        nn_word_fence();
        if (nn_word_load64(&ring->page->claim) - side->own > ring->n_elements) {
            side->own = nn_word_load64(&ring->page->write);
            return NNHAL_FMQ_E_OVERRUN;
        }
        side->own += n_elements;
        return 0;
    }
    side->own += n_elements;
    nn_word_publish64(&ring->page->read, side->own);
    nn_evflag_wake(ring->flag);
    return 0;
}

/* -- beyond the counters' own protocol ------------------------------------- */

void nn_ring_renew_write(struct nn_ring *ring)
{
    nn_word_publish64(&ring->page->write, ring->writer.own);
    nn_evflag_wake_uncounted(ring->flag);
}

void nn_ring_renew_read(struct nn_ring *ring)
{
    nn_word_publish64(&ring->page->read, ring->reader.own);
    nn_evflag_wake_uncounted(ring->flag);
}

/* Further from any counter than a queue is long. Which of the words the peer reads depends on its
 * side; the other one is this side's, which looks at neither again. */
void nn_ring_give_up(struct nn_ring *ring)
{
    ring->writer.is_broken = true;
    ring->reader.is_broken = true;
    nn_word_store64(&ring->page->write, ring->writer.own + UINT64_C(1) + INT64_MAX);
    nn_word_store64(&ring->page->read, ring->reader.own + UINT64_C(1) + INT64_MAX);
    nn_evflag_wake_uncounted(ring->flag);
}

/* -- copies --------------------------------------------------------------- */

/* Readers of an unsynchronized queue copy while it is written, which needs atomic words;
 * the two sides of a synchronized one never have the same elements. */
static void copy_in(struct nn_ring *ring, const struct nnhal_fmq_span *span, const uint8_t *bytes)
{
    size_t n_bytes = (size_t)span->n_elements * ring->element_size;

    if (ring->is_synchronized)
        memcpy(span->elements, bytes, n_bytes);
    else
        nn_word_copy_in(span->elements, bytes, n_bytes);
}

static void copy_out(struct nn_ring *ring, const struct nnhal_fmq_span *span, uint8_t *bytes)
{
    size_t n_bytes = (size_t)span->n_elements * ring->element_size;

    if (ring->is_synchronized)
        memcpy(bytes, span->elements, n_bytes);
    else
        nn_word_copy_out(bytes, span->elements, n_bytes);
}

int nn_ring_write(struct nn_ring *ring, const void *elements, uint32_t n_elements)
{
    struct nnhal_fmq_transaction transaction;
    int r = nn_ring_begin_write(ring, n_elements, &transaction);

    if (r != 0 || n_elements == 0)
        return r;
    copy_in(ring, &transaction.spans[0], elements);
    copy_in(ring, &transaction.spans[1],
            (const uint8_t *)elements +
                (size_t)transaction.spans[0].n_elements * ring->element_size);
    return nn_ring_commit_write(ring, n_elements);
}

int nn_ring_read(struct nn_ring *ring, void *ret_elements, uint32_t n_elements)
{
    struct nnhal_fmq_transaction transaction;
    int r = nn_ring_begin_read(ring, n_elements, &transaction);

    if (r != 0 || n_elements == 0)
        return r;
    copy_out(ring, &transaction.spans[0], ret_elements);
    copy_out(ring, &transaction.spans[1],
             (uint8_t *)ret_elements +
                 (size_t)transaction.spans[0].n_elements * ring->element_size);
    return nn_ring_commit_read(ring, n_elements);
}

/* -- waiting -------------------------------------------------------------- */

static int can_write(void *ctx)
{
    struct nn_ring *ring = ctx;
    uint32_t n_wanted = ring->writer.n_wanted;

    return ring_load_writable(ring, n_wanted) >= n_wanted || ring->writer.is_broken;
}

static int can_read(void *ctx)
{
    struct nn_ring *ring = ctx;
    uint32_t n_wanted = ring->reader.n_wanted;
    bool is_overrun;

    return ring_load_readable(ring, n_wanted, &is_overrun) >= n_wanted || is_overrun ||
           ring->reader.is_broken;
}

/* Either is ready, or the wait was stopped by poking the flag. */
static int can_write_or_stopped(void *ctx)
{
    struct nn_ring *ring = ctx;

    return can_write(ring) || (nn_word_load32(&ring->stop) & STOP_CLOSED);
}

static int can_read_or_stopped(void *ctx)
{
    struct nn_ring *ring = ctx;

    return can_read(ring) || nn_word_load32(&ring->stop);
}

/* Why the reader's wait ended with nothing to read; an interruption is used up. */
static int ring_clear_stop(struct nn_ring *ring)
{
    return nn_word_and32(&ring->stop, STOP_CLOSED) & STOP_CLOSED ? NNHAL_FMQ_E_CLOSED
                                                                 : NN_RING_E_INTERRUPTED;
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Looks for at most spin_ns. Returns: whether is_ready. */
static bool ring_spin(struct nn_ring *ring, int (*is_ready)(void *ctx), uint64_t spin_ns,
                      uint64_t deadline_ns)
{
    uint64_t end_ns;

    if (is_ready(ring))
        return true;
    if (spin_ns == 0)
        return false;
    end_ns = nn_sys_now_ns() + spin_ns;
    if (end_ns > deadline_ns)
        end_ns = deadline_ns;
    do
        for (int i = 0; i < SPINS_PER_CLOCK; i++) {
            cpu_relax();
            if (is_ready(ring))
                return true;
        }
    while (nn_sys_now_ns() < end_ns);
    return false;
}

int nn_ring_wait_to_write(struct nn_ring *ring, uint32_t n_elements, uint64_t deadline_ns)
{
    int r;

    if (n_elements > ring->n_elements)
        return NNHAL_FMQ_E_TOO_MANY;
    ring->writer.n_wanted = n_elements;
    if (!ring_spin(ring, can_write_or_stopped, ring->spin_ns, deadline_ns)) {
        r = nn_evflag_wait(ring->flag, can_write_or_stopped, ring, deadline_ns);
        if (r != 0)
            return r;
    }
    if (ring->writer.is_broken)
        return NNHAL_FMQ_E_BROKEN;
    return can_write(ring) ? 0 : NNHAL_FMQ_E_CLOSED;
}

int nn_ring_wait_to_read(struct nn_ring *ring, uint32_t n_elements, uint64_t deadline_ns)
{
    int r;

    if (n_elements > ring->n_elements)
        return NNHAL_FMQ_E_TOO_MANY;
    ring->reader.n_wanted = n_elements;
    if (!ring_spin(ring, can_read_or_stopped, ring->spin_ns, deadline_ns)) {
        r = nn_evflag_wait(ring->flag, can_read_or_stopped, ring, deadline_ns);
        if (r != 0)
            return r;
    }
    if (ring->reader.is_broken)
        return NNHAL_FMQ_E_BROKEN;
    return can_read(ring) ? 0 : ring_clear_stop(ring);
}

bool nn_ring_spin_to_read(struct nn_ring *ring, uint32_t n_elements, uint64_t spin_ns,
                          uint64_t deadline_ns)
{
    ring->reader.n_wanted = n_elements;
    return ring_spin(ring, can_read_or_stopped, spin_ns < MAX_SPIN_NS ? spin_ns : MAX_SPIN_NS,
                     deadline_ns);
}

int nn_ring_write_blocking(struct nn_ring *ring, const void *elements, uint32_t n_elements,
                           uint64_t deadline_ns)
{
    int r = nn_ring_write(ring, elements, n_elements);

    while (r == NNHAL_FMQ_E_FULL) {
        r = nn_ring_wait_to_write(ring, n_elements, deadline_ns);
        if (r == 0)
            r = nn_ring_write(ring, elements, n_elements);
    }
    return r;
}

int nn_ring_read_blocking(struct nn_ring *ring, void *ret_elements, uint32_t n_elements,
                          uint64_t deadline_ns)
{
    int r = nn_ring_read(ring, ret_elements, n_elements);

    while (r == NNHAL_FMQ_E_EMPTY) {
        r = nn_ring_wait_to_read(ring, n_elements, deadline_ns);
        if (r == 0)
            r = nn_ring_read(ring, ret_elements, n_elements);
    }
    return r;
}
