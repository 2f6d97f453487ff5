/* SPDX-License-Identifier: Apache-2.0 */
/* team.h - the threads of the driver: one parallel-for team per process
 *
 * A team has one worker per CPU that the process may use, less the caller. A
 * parallel loop is a region: chunks 0..n-1, which the threads that come claim, several at once: a
 * claim takes the region's cache line away from the others, which costs as much as a small chunk.
 * The caller claims like any other, and when there is nothing left to claim it waits only for chunks
 * that were really claimed: a worker that sleeps, or whose CPU is taken by another process, costs
 * nothing but its help. Several regions, of several executions, run at once; a caller that finds no
 * free region runs its loop alone.
 *
 * The state of a region is one 64-bit word, {generation, end, next}: chunks [next, end) are left.
 * Who claims a chunk does it by compare-and-swap on the whole word, so that a claim
 * can only succeed in the generation that was looked at, and only while a
 * chunk is left. The caller claims from the front and helpers from the back: in a chain of loops
 * over the same rows a thread finds much of what it reads in its own cache, because it has
 * written it. What the chunk computes is read after the claim: until that chunk
 * is done the caller has not returned and cannot have changed it. A
 * generation would have to come round (2^32 loops) within one claim to be mistaken.
 *
 * A worker spins for a short while after each loop, and then sleeps on a futex. A publisher
 * stores the region, then reads n_asleep; a worker adds itself to n_asleep, then
 * looks at the regions once more before it sleeps; both are sequentially
 * consistent, so one of them sees the other.
 *
 * Where users share the CPUs a region has slots for as many helpers as its user
 * may have when it begins. A helper that is late takes its slot from a region that
 * came after: there is then one too many or too few for a moment, which costs
 * nothing but time, because each helper enters (struct nnhal_turn) for each claim.
 *
 * Threads are as base/thread.h says: a memory that shrinks under them is repaired
 * by the service's handler. They start when they are first needed, and end with
 * the last reference. A forked child has none of them and never enters. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_TEAM_H
#define NN_DRIVERS_CPU_EXECUTOR_TEAM_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nn_team;
struct nnhal_turn;

/* nn_team_new() - a team of n_threads, the callers' own included (at least 1);
 * 0: nn_cpus_allowed(). No thread is started yet.
 * Returns: 0, -ENOMEM. */
int nn_team_new(unsigned n_threads, struct nn_team **ret_team);

/* nn_team_free() - ends and joins the threads. No loop may be running. */
struct nn_team *nn_team_free(struct nn_team *team);

/* nn_team_size() - threads that may work on one loop; worker numbers are below it. */
unsigned nn_team_size(const struct nn_team *team);

/* nn_team_is_awake() - whether some worker spins or works: help that costs no wake, which is some
 * 20 us for both. */
bool nn_team_is_awake(const struct nn_team *team);

/* fn(ctx, first, end, worker): chunks [first, end). worker is below nn_team_size() and not in use
 * twice in one loop at a time. */
typedef void (*nn_chunks_fn)(void *ctx, uint32_t first, uint32_t end, unsigned worker);

/* nn_team_run() - fn for all chunks below n_chunks, in disjoint ranges, by the caller (worker 0)
 * and by helping threads; returns when all are done. A claim takes n_most chunks at most (0 is
 * taken for 1): what is claimed no other thread takes over from one that is slow or interrupted,
 * so that several at once are worth it only where they are short. turn (NULL: none) says how
 * many may help; they enter for each claim, and the caller leaves while it sleeps. What chunks
 * wrote is visible to the caller then. Any thread, but not from within a chunk. */
void nn_team_run(struct nn_team *team, const struct nnhal_turn *turn, uint32_t n_chunks,
                 uint32_t n_most, nn_chunks_fn fn, void *ctx);

NN_DEFINE_CLEANUP(struct nn_team, nn_team_free)

#endif
