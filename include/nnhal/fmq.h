/* SPDX-License-Identifier: Apache-2.0 */
/* fmq.h - a queue of fixed-size elements in shared memory
 *
 * A fast message queue carries elements between two processes (or threads)
 * without a system call per element. It lies in one memfd; a process with the
 * descriptor and the three numbers beside it (struct nnhal_fmq_descriptor) can
 * attach. Link with -lnnhal. This header is the
 * specification: another implementation that keeps it can be the peer.
 *
 * Flavours
 *
 *     synchronized     one writer, one reader; a write that does not fit fails;
 *                      no element is lost
 *     unsynchronized   one writer, any number of readers, each of which has
 *                      its own position; a write never fails, it overwrites
 *                      the oldest elements; a reader that has lost elements gets
 *                      an error once and continues with what is written next
 *
 * Writes and reads are all or nothing. A queue object is used by one writing
 * and one reading thread at a time, which may be different threads; only closing
 * is allowed from any thread. A forked child does not inherit the
 * mapping: it must not touch the object, but may attach to the descriptor.
 *
 * Layout, in the machine's byte order
 *
 *     offset  type  contents                written by
 *          0  u32   magic, "NFMQ"           the creator, once
 *          4  u32   version, 1              the creator, once
 *         64  u64   write                   the writer
 *         72  u64   claim                   the writer, unsynchronized only
 *        128  u64   read                    the reader, synchronized only
 *        192  u32   generation              the side that wakes
 *        196  u32   waiters                 the side that waits
 *        256  ...   n_elements elements of element_size bytes
 *
 * The file is 256 + n_elements * element_size bytes, rounded up to whole
 * pages, and sealed against shrinking, growing and more seals. write, read and
 * claim count elements since the creation; they never wrap. Element number c
 * is in place c % n_elements. write - read elements can be read; all n_elements
 * places are usable.
 *
 * Ordering. Every access to a word above is sequentially consistent, so that
 * all accesses have one order, S; a counter may be stored with release instead
 * if a sequentially consistent fence follows before waiters is loaded.
 *   Elements: the writer fills places and then stores write; the reader loads
 *   write and then copies; the reader stores read after it has copied, and the
 *   writer loads read before it fills a place again. A place is therefore never
 *   read while it is written. Each side keeps its own counter in private memory
 *   and re-reads the peer's only when its copy says full or empty.
 *   Overwriting: an unsynchronized writer stores claim, the number of the last
 *   element that it is about to write, before it touches a place, and write
 *   after. A reader loads claim after it has copied: if claim - n_elements is
 *   beyond the first element that it copied, the copy may be torn, and is
 *   discarded. (write alone is not enough: it still has the old value while the
 *   oldest element is being overwritten.)
 *   Wake-ups: a side that has stored a counter loads waiters, and if that is not 0
 *   adds 1 to generation and wakes all waiters on it. A waiter adds 1 to waiters, has a
 *   fence, loads generation, then checks the counters once more, and only then waits for
 *   generation to differ from the value that it has loaded. Either the waker's load
 *   of waiters comes after the waiter's addition, and then the generation differs or
 *   the wake arrives; or it comes before, and then the waiter's check of the
 *   counters comes after the store. No wake-up is lost, and no side makes a system
 *   call while there are no waiters. With a release store it is the fences that say
 *   so, the waker's between its store and its load, and one of the waiter's between
 *   its addition and its check (C11, 29.3p6): whichever fence is the first in S, the
 *   other side sees what was stored before it.
 *
 *   Renewal: a side may store its own counter again and wake at any time, for words
 *   that were overwritten. One that uses the queue no more may store a counter that
 *   is impossible, so that the peer learns of it.
 *
 * Hostile peers. A peer can write any bytes anywhere in the file at any time.
 * Its counters are loaded once per use and compared with the possible range (a
 * reader's: [its last value, write]; a writer's: [its last value, read +
 * n_elements]); outside of the range this side is broken for good
 * (NNHAL_FMQ_E_BROKEN). A side never loads its own counters again. The peer can
 * therefore send garbage, send nothing, refuse to be woken, make each commit cost a
 * system call (waiters) and keep a waiting thread awake (generation), as it could
 * with messages. It cannot make this side access memory outside of the queue, take a
 * fault (the file cannot shrink), loop inside a call that does not wait, or wait for
 * ever: a wait is on the shared word and on a private one (futex_waitv), so that
 * nnhal_fmq_close() ends it even if the peer has moved the waiter away from the
 * shared word (FUTEX_REQUEUE). Where Linux has no futex_waitv (before 5.16), waits
 * last 10 ms at most and are repeated. Elements may change while they are in the
 * queue: copy them out before checking them. Bytes in spans are the peer's.
 *
 * A peer that dies leaves the queue consistent, because only a commit publishes. Its
 * death does not end a wait; the code that learns of it closes the queue.
 *
 * Functions return 0, one of enum nnhal_fmq_outcome, or -errno. Times are
 * CLOCK_MONOTONIC nanoseconds; UINT64_MAX: no deadline. */
#ifndef NNHAL_FMQ_H
#define NNHAL_FMQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NNHAL_FMQ_MAX_ELEMENTS      UINT32_C(16777216)
#define NNHAL_FMQ_MAX_ELEMENT_BYTES UINT32_C(65536)
#define NNHAL_FMQ_MAX_BYTES         UINT64_C(268435456) /* of all elements */

enum nnhal_fmq_flavour {
    NNHAL_FMQ_SYNCHRONIZED = 1,
    NNHAL_FMQ_UNSYNCHRONIZED = 2,
};

enum nnhal_fmq_outcome {
    NNHAL_FMQ_E_FULL = 1,      /* does not fit now */
    NNHAL_FMQ_E_EMPTY = 2,     /* too few elements now */
    NNHAL_FMQ_E_TOO_MANY = 3,  /* more than the queue has places */
    NNHAL_FMQ_E_OVERRUN = 4,   /* this reader has lost elements, which were overwritten */
    NNHAL_FMQ_E_BROKEN = 5,    /* the peer's counter is impossible; final for this side */
    NNHAL_FMQ_E_CLOSED = 6,    /* nnhal_fmq_close() was called */
    NNHAL_FMQ_E_TIMED_OUT = 7, /* the deadline has passed */
    NNHAL_FMQ_E_INVALID = 8,   /* impossible numbers, or not a queue's descriptor */
};

struct nnhal_fmq;
struct nnhal_evflag;

/* The data with which a peer attaches. */
struct nnhal_fmq_descriptor {
    uint32_t n_elements;
    uint32_t element_size; /* bytes */
    uint32_t flavour;      /* enum nnhal_fmq_flavour */
    int32_t fd;
};

/* A part of the ring, before or after the wrap. */
struct nnhal_fmq_span {
    void *elements;
    uint32_t n_elements;
};

/* Elements of an open transaction; the second span is empty unless they wrap. */
struct nnhal_fmq_transaction {
    struct nnhal_fmq_span spans[2];
};

/* nnhal_fmq_new() - creates an empty queue in a new memfd. flag: NULL, or an event
 * flag that several queues share; it must outlive the queue, and the peer must attach
 * with the same flag. Returns: 0, NNHAL_FMQ_E_INVALID, -errno. */
int nnhal_fmq_new(uint32_t n_elements, uint32_t element_size, uint32_t flavour,
                  struct nnhal_evflag *flag, struct nnhal_fmq **ret_queue);

/* nnhal_fmq_attach() - attaches to a queue that another process made. The
 * descriptor is verified before it is mapped: numbers, seals, size, access. The
 * queue is not reset. The descriptor's fd is borrowed. A reader of an
 * unsynchronized queue begins with the oldest element in it.
 * Returns: 0, NNHAL_FMQ_E_INVALID, -errno. */
int nnhal_fmq_attach(const struct nnhal_fmq_descriptor *descriptor, struct nnhal_evflag *flag,
                     struct nnhal_fmq **ret_queue);

/* nnhal_fmq_free() - no call on the queue may be in progress. Accepts NULL. */
void nnhal_fmq_free(struct nnhal_fmq *queue);

/* nnhal_fmq_descriptor() - its fd still belongs to the queue. */
void nnhal_fmq_descriptor(const struct nnhal_fmq *queue, struct nnhal_fmq_descriptor *ret);

/* nnhal_fmq_close() - ends waits in progress on this object, and later ones, with
 * NNHAL_FMQ_E_CLOSED, unless their condition holds already. Any thread. It acts in
 * this process only: the peer is not told. */
void nnhal_fmq_close(struct nnhal_fmq *queue);

/* The number of elements that can be read or written now, at most the queue's;
 * 0 if it is broken. An unsynchronized queue can always be written. */
uint32_t nnhal_fmq_available_to_read(struct nnhal_fmq *queue);
uint32_t nnhal_fmq_available_to_write(struct nnhal_fmq *queue);

/* nnhal_fmq_write(), nnhal_fmq_read() - n elements, all or nothing; wake the
 * peer if it waits.
 * Returns: 0, FULL, TOO_MANY, BROKEN; 0, EMPTY, TOO_MANY, OVERRUN, BROKEN. */
int nnhal_fmq_write(struct nnhal_fmq *queue, const void *elements, uint32_t n_elements);
int nnhal_fmq_read(struct nnhal_fmq *queue, void *ret_elements, uint32_t n_elements);

/* The same, but wait instead of FULL or EMPTY.
 * Returns: as above, TIMED_OUT, CLOSED, -errno. */
int nnhal_fmq_write_blocking(struct nnhal_fmq *queue, const void *elements, uint32_t n_elements,
                             uint64_t deadline_ns);
int nnhal_fmq_read_blocking(struct nnhal_fmq *queue, void *ret_elements, uint32_t n_elements,
                            uint64_t deadline_ns);

/* nnhal_fmq_wait_to_write(), nnhal_fmq_wait_to_read() - wait until that many places
 * or elements are available. Returns: 0, TOO_MANY, BROKEN, TIMED_OUT, CLOSED, -errno. */
int nnhal_fmq_wait_to_write(struct nnhal_fmq *queue, uint32_t n_elements, uint64_t deadline_ns);
int nnhal_fmq_wait_to_read(struct nnhal_fmq *queue, uint32_t n_elements, uint64_t deadline_ns);

/* Transactions: elements are written or read in place. begin gives n elements (and
 * returns what write and read return); commit publishes or releases the first n of
 * them and wakes the peer. Without a commit the queue is unchanged, except that an
 * unsynchronized writer may have overwritten the oldest n elements. A reader of an
 * unsynchronized queue may use what it saw in the spans only after commit has
 * returned 0. Returns of commit: 0, -EINVAL (more than was begun), OVERRUN. */
int nnhal_fmq_begin_write(struct nnhal_fmq *queue, uint32_t n_elements,
                          struct nnhal_fmq_transaction *ret_transaction);
int nnhal_fmq_commit_write(struct nnhal_fmq *queue, uint32_t n_elements);
int nnhal_fmq_begin_read(struct nnhal_fmq *queue, uint32_t n_elements,
                         struct nnhal_fmq_transaction *ret_transaction);
int nnhal_fmq_commit_read(struct nnhal_fmq *queue, uint32_t n_elements);

/* nnhal_fmq_set_spin() - how long a wait polls before it sleeps, at most 1 s;
 * 0, the default: not at all. */
void nnhal_fmq_set_spin(struct nnhal_fmq *queue, uint64_t spin_ns);

/* Event flags: the two words at 192 in a memfd of their own, so that one thread
 * waits for any of several queues.
 *
 *     offset 0  u32 magic "NFLG"   4  u32 version 1
 *          192  u32 generation   196  u32 waiters   and nothing else: one page
 */

/* Returns: 0, -errno; attach borrows fd: 0, NNHAL_FMQ_E_INVALID, -errno. */
int nnhal_evflag_new(struct nnhal_evflag **ret_flag);
int nnhal_evflag_attach(int fd, struct nnhal_evflag **ret_flag);
void nnhal_evflag_free(struct nnhal_evflag *flag); /* after its queues; NULL is allowed */
int nnhal_evflag_fd(const struct nnhal_evflag *flag);

/* nnhal_evflag_wake() - wakes all waiters on the flag, in any process. Queues do
 * this by themselves. */
void nnhal_evflag_wake(struct nnhal_evflag *flag);

/* nnhal_evflag_wait() - waits until is_ready(ctx) is not 0. is_ready() is called
 * before each sleep and may check several queues; it must not wait itself.
 * Returns: 0, TIMED_OUT, CLOSED, -errno. */
int nnhal_evflag_wait(struct nnhal_evflag *flag, int (*is_ready)(void *ctx), void *ctx,
                      uint64_t deadline_ns);

/* nnhal_evflag_close() - as nnhal_fmq_close(), for waits on the flag. */
void nnhal_evflag_close(struct nnhal_evflag *flag);

#ifdef __cplusplus
}
#endif

#endif
