/* SPDX-License-Identifier: Apache-2.0 */
/* Liveness of a queue's waiting: src/shm/evflag.c and the waits of src/shm/ring.c.
 *
 * One step here is one access to a word there, in one total order of all of them
 * (that the words have such an order is shown by wakeup.cc). Each process of the
 * model names the functions that it stands for. run-models.py says which
 * SPOILT and SCENE must hold or fail:
 *
 *     scene 0   a writer and a reader for ever: elements flow for ever
 *     scene 1   a reader that is closed, and a peer that writes anything to the flag's
 *               words: the reader's wait ends
 *
 * Counters and generation are kept modulo MOD: between two looks of a waiter the
 * other side adds N_PLACES at most. */
c_decl { \#include <stdlib.h> };

#define N_PLACES 1
#define MOD      4

/* What is spoilt: the name says what the code does instead. */
#define WAKES_BEFORE_IT_PUBLISHES 1 /* nn_ring_commit_write() */
#define COUNTS_AFTER_ITS_LAST_LOOK 2 /* nn_evflag_wait() */
#define LOADS_GENERATION_AFTER_IT 3 /* wait_counted() */
#define CLOSES_WITHOUT_A_POKE 4 /* nn_ring_close() */
#define POKES_BEFORE_IT_CLOSES 5 /* nn_ring_close() */
#define LOADS_POKE_AFTER_ITS_LAST_LOOK 6 /* wait_counted() */
#define SLEEPS_ON_THE_SHARED_WORD_ALONE 7 /* sleep_on() */

byte spoilt, scene;

/* The page: struct ring_page and struct nn_evflag_words. */
byte write_count, read_count, generation, n_waiters;
/* Private words: struct nn_evflag's poke, struct nn_ring's stop. */
byte poke;
bool is_stopped;
bool is_asleep[2]; /* the writer, the reader */
bool is_flowing, is_ended;

/* nn_evflag_wake() */
inline evflag_wake()
{
    if
    :: n_waiters == 0
    :: else ->
        generation = (generation + 1) % MOD;
        d_step { is_asleep[0] = false; is_asleep[1] = false }
    fi
}

/* nn_ring_commit_write() and nn_ring_commit_read(): publish, then wake. */
inline ring_commit(counter, value)
{
    if
    :: spoilt == WAKES_BEFORE_IT_PUBLISHES -> evflag_wake(); counter = value
    :: else -> counter = value; evflag_wake()
    fi
}

/* nn_evflag_wait() with wait_counted() and sleep_on(): futex_waitv sleeps only while both words
 * are what was loaded. stopped is the second part of can_read_or_stopped(). */
inline evflag_wait(me, ready, stopped)
{
    atomic { if :: spoilt != COUNTS_AFTER_ITS_LAST_LOOK -> n_waiters++ :: else fi };
    do
    :: seen_poke = poke;
       seen_generation = generation;
       if :: ready -> break :: else fi;
       if :: stopped -> break :: else fi;
       if :: spoilt == LOADS_GENERATION_AFTER_IT -> seen_generation = generation
          :: spoilt == LOADS_POKE_AFTER_ITS_LAST_LOOK -> seen_poke = poke
          :: spoilt == COUNTS_AFTER_ITS_LAST_LOOK -> n_waiters++
          :: else
       fi;
       d_step {
           if
           :: generation == seen_generation &&
              (poke == seen_poke || spoilt == SLEEPS_ON_THE_SHARED_WORD_ALONE) ->
               is_asleep[me] = true
           :: else
           fi
       }
       !is_asleep[me];
       if :: spoilt == COUNTS_AFTER_ITS_LAST_LOOK -> n_waiters-- :: else fi
    od;
    atomic {
        if :: spoilt != COUNTS_AFTER_ITS_LAST_LOOK -> n_waiters-- :: else fi;
        seen_poke = 0;
        seen_generation = 0
    }
}

/* nn_ring_write_blocking(), for ever. */
proctype writer()
{
    byte own, seen_poke, seen_generation;

    do
    :: if
       :: (own + MOD - read_count) % MOD < N_PLACES ->
           own = (own + 1) % MOD;
           ring_commit(write_count, own)
       :: else -> evflag_wait(0, (own + MOD - read_count) % MOD < N_PLACES, false)
       fi
    od
}

/* nn_ring_read_blocking(), until it is closed. */
proctype reader()
{
    byte own, seen_poke, seen_generation;

    do
    :: if
       :: write_count != own ->
           own = (own + 1) % MOD;
           ring_commit(read_count, own);
           is_flowing = true;
           is_flowing = false
       :: else ->
           evflag_wait(1, write_count != own, is_stopped);
           if :: is_stopped -> break :: else fi
       fi
    od;
    is_ended = true
}

/* nn_evflag_poke() */
inline evflag_poke()
{
    poke = (poke + 1) % MOD;
    is_asleep[1] = false
}

/* nn_ring_close() by another thread of the reader's process. */
proctype closer()
{
    if
    :: spoilt == CLOSES_WITHOUT_A_POKE -> is_stopped = true
    :: spoilt == POKES_BEFORE_IT_CLOSES -> evflag_poke(); is_stopped = true
    :: else -> is_stopped = true; evflag_poke()
    fi
}

/* A peer that writes what it likes to the flag and wakes nobody: FUTEX_REQUEUE moves a waiter
 * away from the shared word. */
proctype hostile()
{
    do
    :: generation = (generation + 1) % MOD
    :: n_waiters = 0
    :: n_waiters = 1
    od
}

init
{
    atomic {
        c_code {
            now.spoilt = atoi(getenv("SPOILT"));
            now.scene = atoi(getenv("SCENE"));
        };
        if
        :: scene == 0 -> run writer(); run reader()
        :: else -> run reader(); run closer(); run hostile()
        fi
    }
}

ltl flows { [] <> is_flowing }
ltl ends { <> is_ended }
