/* SPDX-License-Identifier: Apache-2.0 */
/* compilation.h - a model, devices, and the wish how to run it
 *
 *     OPEN --finish()--> FINISHED     executions can be created
 *       +---------------> FAILED      can only be freed
 *
 * Which device: of those listed (all, if none are), the plan decides
 * (partition/planner.h). A plan of one part is this compilation itself; of a plan of
 * several, each part is a compilation of its own, for one device. Without a list, a
 * device that then fails to prepare what it got is planned without. With a list its
 * failure is final, unless it is a lack of support.
 *
 *     settings.h      what the application sets before finish()
 *     preparation.h   what finish() does
 *     renewal.h       what happens when the device's process has died
 *
 * One thread at a time until finish() has returned, then any. */
#ifndef NN_RUNTIME_COMPILATION_COMPILATION_H
#define NN_RUNTIME_COMPILATION_COMPILATION_H

#include "runtime/attribute.h"
#include "runtime/compilation/cache.h"
#include "runtime/compilation/prepared.h"
#include "runtime/memory/argument-pool.h"
#include "runtime/object.h"
#include "runtime/partition/plan.h"
#include "runtime/partition/record.h"

#include "base/jobs.h"

/* The preparation that takes the place of one that died (renewal.h). */
struct nn_rt_renewal {
    bool is_running;
    uint64_t n_ended;
    int result; /* of the last one that ended */
    struct nn_why why;
    pthread_cond_t ended;
    struct nn_job job;
};

enum nn_rt_compilation_state {
    NN_COMPILATION_OPEN,
    NN_COMPILATION_FINISHED,
    NN_COMPILATION_FAILED,
};

struct ANeuralNetworksCompilation {
    struct nn_rt_object object;
    enum nn_rt_compilation_state state;
    bool is_explicit; /* the application listed the devices */
    bool is_part;     /* of another compilation's plan, which has asked the device */
    bool is_branch;   /* a part that is a branch of control flow: planned like a whole */
    uint32_t n_devices;
    ANeuralNetworksDevice **devices;
    struct nn_rt_model *finished;
    struct nn_rt_plan *plan; /* NULL: there was one device to choose from, or it has branches */
    /* Of a part that is an IF or WHILE which the runtime runs itself (partition/control-flow.h):
     * then and else, or condition and body. NULL: it is none. */
    ANeuralNetworksCompilation *branches[2];
    uint32_t preference;
    uint32_t priority;        /* enum nnhal_priority */
    uint64_t timeout_ns;      /* 0: none */
    struct nn_rt_cache cache; /* does not change once FINISHED */
    bool is_deferred;
    struct nn_rt_attributes attributes;
    uint32_t stage;                  /* enum nnhal_stage, once FINISHED */
    pthread_mutex_t lock;            /* of prepared, once FINISHED */
    struct nn_rt_prepared *prepared; /* NULL: the parts have theirs */
    struct nn_rt_renewal renewal;
    ANeuralNetworksDevice *device; /* the chosen one, of parts that with the most work; FINISHED */
    struct nn_rt_prepared *fallback; /* where failures are computed again; NULL: none yet */
    struct nn_rt_argument_pools argument_pools; /* of executions */
    /* The same: buffers in devices; NULL: no value between parts stays there. */
    struct nn_rt_residents *residents;
    struct nn_rt_residents *(*free_residents)(struct nn_rt_residents *residents);
};

/* nn_rt_compilation_new() - devices NULL: all. Returns: 0, BAD_STATE, -ENOMEM. */
int nn_rt_compilation_new(const ANeuralNetworksModel *model,
                          const ANeuralNetworksDevice *const *devices, uint32_t n_devices,
                          struct nn_why *why, ANeuralNetworksCompilation **ret_compilation);

/* nn_rt_compilation_new_part() - of whole, for these devices and with the settings of whole. part
 * is referenced, devices and the token for its cache (if whole has one) are the caller's. token
 * NULL: no cache.
 * Returns: 0, -ENOMEM. */
int nn_rt_compilation_new_part(const ANeuralNetworksCompilation *whole, struct nn_rt_model *part,
                               const ANeuralNetworksDevice *const *devices, uint32_t n_devices,
                               const uint8_t token[NNHAL_CACHE_TOKEN_BYTES],
                               ANeuralNetworksCompilation **ret_compilation);
ANeuralNetworksCompilation *nn_rt_compilation_ref(ANeuralNetworksCompilation *compilation);
ANeuralNetworksCompilation *nn_rt_compilation_unref(ANeuralNetworksCompilation *compilation);

/* nn_rt_compilation_check_argument() - for the preferred alignments and paddings.
 * Returns: 0, BAD_STATE, BAD_DATA. */
int nn_rt_compilation_check_argument(const ANeuralNetworksCompilation *compilation, uint32_t index,
                                     bool is_input, struct nn_why *why);

/* nn_rt_compilation_check_finished() - Returns: 0, BAD_STATE. */
int nn_rt_compilation_check_finished(const ANeuralNetworksCompilation *compilation,
                                     struct nn_why *why);

/* nn_rt_compilation_has_cache() - whether the application asked for one. */
bool nn_rt_compilation_has_cache(const ANeuralNetworksCompilation *compilation);

/* nn_rt_compilation_has_one_device() - whether the application listed exactly one:
 * timeouts and measuring are for those. */
bool nn_rt_compilation_has_one_device(const ANeuralNetworksCompilation *compilation);

/* nn_rt_compilation_get_plan() - also where there was one device to choose from: then it is made now.
 * Borrowed. Returns: 0; BAD_STATE; what the device answers; -ENOMEM. */
int nn_rt_compilation_get_plan(ANeuralNetworksCompilation *compilation, struct nn_why *why,
                               const struct nn_rt_plan **ret_plan);

/* nn_rt_compilation_get_cost() - of a part of the plan: all of it but size. Returns: as
 * nn_rt_compilation_get_plan(); BAD_DATA. */
int nn_rt_compilation_get_cost(ANeuralNetworksCompilation *compilation, uint32_t part,
                               struct nn_why *why, struct nnhal_part_cost *ret_cost);

/* nn_rt_compilation_get_move() - of the plan's moves: all of it but size. Returns: as
 * nn_rt_compilation_get_plan(); BAD_DATA. */
int nn_rt_compilation_get_move(ANeuralNetworksCompilation *compilation, uint32_t move,
                               struct nn_why *why, struct nnhal_part_move *ret_move);

/* nn_rt_compilation_note_duration() - of a computation of the whole by one device; nothing if it has no
 * plan. */
void nn_rt_compilation_note_duration(const ANeuralNetworksCompilation *compilation,
                                     const struct nn_rt_duration *duration);

/* nn_rt_compilation_is_control() - whether it is an IF or WHILE that the runtime runs itself. */
bool nn_rt_compilation_is_control(const ANeuralNetworksCompilation *compilation);

/* nn_rt_compilation_is_split() - whether it is executed by several calls, in parts or branch by
 * branch: it was prepared nowhere itself. Branch by branch there is no plan: such a compilation is a part
 * of another, and no application has it. */
bool nn_rt_compilation_is_split(const ANeuralNetworksCompilation *compilation);

/* nn_rt_compilation_get_prepared() - what is executed now; the reference is the caller's. Not of
 * one that is split. */
struct nn_rt_prepared *nn_rt_compilation_get_prepared(ANeuralNetworksCompilation *compilation);

/* nn_rt_compilation_has_prepared() - whether that is executed now; NULL never is. */
bool nn_rt_compilation_has_prepared(const ANeuralNetworksCompilation *compilation,
                                    const struct nn_rt_prepared *prepared);

NN_DEFINE_CLEANUP(ANeuralNetworksCompilation, nn_rt_compilation_unref)

#endif
