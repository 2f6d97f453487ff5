/* SPDX-License-Identifier: Apache-2.0 */
/* caching.h - compilations with a cache, of the linked-in fake driver
 *
 * The fake keeps one model file and one data file; what they hold tells of the
 * operation that was compiled, and prepare_from_cache() ends the test if it gets
 * anything else. So a wrong file that is accepted cannot go unnoticed. */
#ifndef NN_TESTS_RUNTIME_CACHING_H
#define NN_TESTS_RUNTIME_CACHING_H

#include "rt.h"

#include <sys/types.h>

extern const uint8_t token_a[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];
extern const uint8_t token_b[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN];

/* A folder with the folder for the entries and the one for what the driver remembers. */
extern char caching_root[64], caching_folder[80], caching_state[80];

/* What the driver did, also in child processes. */
struct caching_counts {
    _Atomic uint32_t n_compiled, n_from_cache;
};
extern struct caching_counts *caching_counts;

/* The driver keeps nothing. */
extern bool caching_keeps_nothing;

/* Called in prepare(), before anything is handed over; NULL: nothing. */
extern void (*caching_on_prepare)(void);

/* caching_init() - folders under $TMPDIR, and the fake with n_data_bytes in its data file. */
void caching_init(size_t n_data_bytes);
void caching_done(void);

/* A compilation. */
struct how {
    int32_t operation;
    int32_t preference;
    const char *path; /* NULL: no setCaching() */
    const uint8_t *token;
    uint64_t timeout_ns; /* 0: none */
};

#define USUAL                                                                                      \
    ((struct how){ANEURALNETWORKS_ADD, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER, caching_folder,  \
                  token_a, 0})

/* caching_compile() - compiles, computes, frees, and waits until an entry that it has made is
 * whole. Returns: the outcome, with its sentence. */
uint32_t caching_compile(struct how how, char why[256]);

/* caching_compile_unsettled() - the same without waiting. */
uint32_t caching_compile_unsettled(struct how how, char why[256]);

/* caching_settle() - waits until no entry of the folder is being made: its lock is free. */
void caching_settle(const char *path);

#define EXPECT(wanted, how)                                                                        \
    do {                                                                                           \
        char why_[256];                                                                            \
        uint32_t outcome_ = caching_compile((how), why_);                                          \
                                                                                                   \
        ck_assert_msg(outcome_ == (wanted), "outcome %u: %s", outcome_, why_);                     \
    } while (0)

/* caching_list() - files in the folder but the lock; the last one's path, if wanted. */
unsigned caching_list(char *path, size_t n_bytes);

/* caching_path() - of a file of the only entry: "-m0" or "-d0". */
void caching_path(const char *end, char *path, size_t n_bytes);

/* caching_in_child() - runs body(ctx) in a process of its own.
 * Returns: what waitpid() says of it; its exit status is what body() returned. */
int caching_in_child(int (*body)(void *ctx), void *ctx);

/* caching_start() - the same, without waiting. */
pid_t caching_start(int (*body)(void *ctx), void *ctx);

#endif
