/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery: src/runtime/recovery.c, and src/runtime/device.c which acts on it.
 *
 * Two threads call a device for ever; its process is killed up to N_KILLS times, at any
 * moment, and then is left in peace. Whatever the order:
 *
 *     calls_end   each call ends
 *     heals       once there is peace every thread's calls succeed again
 *     forgives    and the quarantine is lifted
 *     assertions  one thread at a time starts the process, never before a pause is over
 *
 * What the code does under the device's lock is one step here. Time is left to chance: the
 * minute in which deaths are counted may be over at any moment, a caller's patience before its
 * call or while it sleeps, a pause at some moment. */
c_decl { \#include <stdlib.h> };

#define N_KILLS  2
#define N_DEATHS 2 /* NN_RT_RECOVERY_DEATHS are three; two reach a pause as well */
#define LONGEST  1 /* doublings of the pause that are told apart */

/* What is spoilt. */
#define OPENING_STAYS 1 /* device_reopen() leaves is_opening when it fails */
#define NOTHING_IS_FORGIVEN 2 /* nn_rt_recovery_note_success() does nothing */
#define ATTEMPTS_ARE_COUNTED 3 /* a thread that was served by two processes gives up */
#define PAUSES_ARE_IGNORED 4 /* device_approach() does not ask for the next attempt */
#define SLEEPS_FOR_EVER 5 /* device_sleep() without a limit, and no broadcast */

byte spoilt;

byte process;   /* the living one's number; 0: there is none */
byte n_started;
byte session;   /* the process that the device's session leads to; 0: NULL */
bool is_opening;
/* struct nn_rt_recovery */
byte n_deaths, pause;
bool is_due = true; /* the time is not before probe_ns */

bool is_asleep[2];
bool is_calling, has_succeeded; /* the first thread */
bool is_peace;

/* nn_rt_recovery_note_death() with count_death(): earlier deaths may be more than a minute ago. */
inline note_death()
{
    if
    :: n_deaths = 1
    :: n_deaths > 0 && n_deaths < N_DEATHS -> n_deaths++
    :: n_deaths == N_DEATHS
    fi;
    if
    :: pause > 0 && pause < LONGEST -> pause++
    :: pause == 0 && n_deaths == N_DEATHS -> pause = 1
    :: else
    fi;
    if :: pause > 0 -> is_due = false :: else fi
}

/* device_drop_dead() */
inline drop_dead()
{
    if
    :: session != 0 && session != process -> session = 0; note_death()
    :: else
    fi
}

/* nn_rt_device_note_success() and nn_rt_recovery_note_success() */
inline note_success()
{
    atomic {
        if
        :: pause > 0 && spoilt != NOTHING_IS_FORGIVEN -> n_deaths = 0; pause = 0; is_due = true
        :: else
        fi
    }
}

/* device_reopen(): session_reopen() runs without the lock; a process that is killed before it
 * answers is a death of its own. */
inline device_reopen()
{
    atomic {
        n_started++;
        opened = n_started;
        process = opened
    }
    atomic {
        if
        :: process == opened -> session = opened; is_opening = false; result = 0
        :: else ->
            result = 1;
            note_death();
            if :: spoilt != OPENING_STAYS -> is_opening = false :: else fi
        fi;
        if
        :: spoilt != SLEEPS_FOR_EVER -> is_asleep[0] = false; is_asleep[1] = false
        :: else
        fi
    }
}

/* device_await_session() with device_approach(): what to do next is decided under the lock. */
#define MUST_OPEN 2
#define MUST_WAIT 3 /* until a broadcast, or the end of patience */
#define MUST_WAIT_FOR_DUE 4

inline await_session(me)
{
    do
    :: atomic {
           drop_dead();
           if
           :: session != 0 -> mine = session; result = 0; break
           :: session == 0 && is_opening && is_impatient -> result = 1; break
           :: session == 0 && is_opening && !is_impatient ->
               step = MUST_WAIT; is_asleep[me] = true
           :: session == 0 && !is_opening && !is_due && spoilt != PAUSES_ARE_IGNORED ->
               if
               :: result = 1; break /* the pause ends after the caller's patience */
               :: !is_impatient -> step = MUST_WAIT_FOR_DUE; is_asleep[me] = true
               fi
           :: session == 0 && !is_opening && (is_due || spoilt == PAUSES_ARE_IGNORED) ->
               assert(is_due);
               is_opening = true;
               step = MUST_OPEN
           fi
       }
       if
       :: step == MUST_OPEN ->
           assert(is_opening);
           device_reopen();
           if :: result != 0 && is_impatient -> break :: else fi
       :: step == MUST_WAIT && !is_asleep[me]
       :: step == MUST_WAIT && spoilt != SLEEPS_FOR_EVER -> is_impatient = true
       :: step == MUST_WAIT_FOR_DUE && (!is_asleep[me] || is_due)
       :: step == MUST_WAIT_FOR_DUE -> is_impatient = true
       fi;
       atomic { is_asleep[me] = false; step = 0 }
    od
}

/* compute_with_recovery(): N_ATTEMPTS are two. */
proctype caller(byte me)
{
    byte mine, opened, result, step, n_attempts, n_served;
    bool is_impatient;

    do
    :: atomic {
           if :: me == 0 -> is_calling = true; has_succeeded = false :: else fi;
           if :: is_impatient = true :: is_impatient = false fi
       }
       do
       :: n_attempts == 2 -> break
       :: n_attempts < 2 ->
           await_session(me);
           if :: result != 0 -> break :: else fi;
           if :: spoilt == ATTEMPTS_ARE_COUNTED && n_served == 2 -> break :: else fi;
           if
           :: process == mine ->
               note_success();
               if :: me == 0 -> has_succeeded = true :: else fi;
               break
           :: atomic {
                  process != mine ->
                  n_attempts++;
                  mine = 0;
                  if :: spoilt == ATTEMPTS_ARE_COUNTED && n_served < 2 -> n_served++ :: else fi
              }
           fi
       od;
       atomic {
           if :: me == 0 -> is_calling = false :: else fi;
           mine = 0; opened = 0; result = 0; step = 0; n_attempts = 0; is_impatient = false
       }
    od
}

proctype clock()
{
    do
    :: !is_due -> is_due = true
    od
}

proctype killer()
{
    byte n_kills;

    do
    :: atomic { process != 0 && n_kills < N_KILLS -> process = 0; n_kills++ }
    :: is_peace = true; break
    od
}

init
{
    atomic {
        c_code { now.spoilt = atoi(getenv("SPOILT")); };
        run caller(0);
        run caller(1);
        run clock();
        run killer()
    }
}

ltl calls_end { [] (is_calling -> <> !is_calling) }
ltl heals { <> is_peace -> [] <> has_succeeded }
ltl forgives { <> [] (pause == 0) }
