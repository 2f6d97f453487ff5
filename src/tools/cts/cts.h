/* SPDX-License-Identifier: Apache-2.0 */
/* cts.h - the checks of nnhal-cts, and how each tells what became of it
 *
 * A section is a function that makes checks, one after the other, always the same ones in the same
 * order. It runs in a process of its own, so that a driver that crashes or hangs fails one check
 * only: the section is begun anew behind it (judge.h). Between cts_wants() and cts_say() a
 * check is under way. */
#ifndef NN_TOOLS_CTS_CTS_H
#define NN_TOOLS_CTS_CTS_H

#include "nnt/try.h"

#include <nnhal/driver.h>

struct cts_options {
    const char *driver;  /* the module's path; NULL: the device is one that the library finds */
    const char *vectors; /* a file of models */
    const char *section; /* this one alone; NULL: all */
    const char *folder;  /* the program's own: all that checks write lies there */
    int stop_fd;         /* stop.h */
    unsigned patience_s; /* for each check */
    bool is_json;
    bool is_quiet;                         /* failures are counted, and not printed */
    char device[NNHAL_MAX_NAME_BYTES + 1]; /* its name */
};

/* What a section's process has. */
struct cts {
    const struct cts_options *options;
    const ANeuralNetworksDevice *device; /* NULL where the table is called directly */
    unsigned first; /* checks before this one were made by an earlier process */
    unsigned n_seen;
    int fd; /* where outcomes go */
};

struct cts_section {
    const char *name;
    bool is_direct; /* calls the driver's table itself, and needs its module */
    void (*make)(struct cts *cts);
};

/* cts_wants() - names the next check. Returns: whether it is to be made now. */
bool cts_wants(struct cts *cts, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

/* cts_say() - what became of the check that is under way; why may be NULL unless it failed. */
void cts_say(struct cts *cts, enum nnt_outcome outcome, const char *why);

/* cts_expect() - passed, or failed and why. */
void cts_expect(struct cts *cts, bool is_right, const char *why);

/* cts_go_on() - a check, or what comes before one, has done a part of its work: the patience with it
 * begins anew. For what makes many computations, or long ones, in a row. */
void cts_go_on(struct cts *cts);

/* cts_name_device() - tells the name that the driver has for its device. */
void cts_name_device(struct cts *cts, const char *name);

/* cts_run() - what is asked of the runner of vectors: this device, by a path. */
struct nnt_run cts_run(const struct cts *cts, enum nnt_path path);

/* cts_end_of() - how an attempt that failed is judged: unsupported if the device had said so. */
enum nnt_outcome cts_end_of(struct nnt_attempt *attempt);

typedef void (*cts_check)(struct cts *cts, struct nnt_file *file, struct nnt_model *model);

/* cts_each_model() - calls check() for the models of the vectors that compute, of `of` in a row the one
 * with number pick. They are ready for the API, and check() may change them. */
void cts_each_model(struct cts *cts, unsigned pick, unsigned of, cts_check check);

/* cts_each_vector() - the same with those that must fail. */
void cts_each_vector(struct cts *cts, unsigned pick, unsigned of, cts_check check);

/* The sections, by file. */
void cts_operations(struct cts *cts); /* vectors.c */
void cts_paths(struct cts *cts);
void cts_forms(struct cts *cts);
void cts_reuse(struct cts *cts);
void cts_threads(struct cts *cts);
void cts_state(struct cts *cts);
void cts_shapes(struct cts *cts);
void cts_values(struct cts *cts);
void cts_deadlines(struct cts *cts);
void cts_cache(struct cts *cts);
void cts_domains(struct cts *cts);
void cts_leaks(struct cts *cts);
void cts_table(struct cts *cts);
void cts_cancellation(struct cts *cts);
void cts_faults(struct cts *cts);

/* Of each operation the file of vectors that is shipped has as many models in a row. */
enum { CTS_PER_OPERATION = 4 };

#endif
