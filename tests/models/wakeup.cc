// SPDX-License-Identifier: Apache-2.0
// The wake-up of a queue under C++'s memory order: nn_ring_commit_write() with
// nn_word_publish64() and nn_evflag_wake() against nn_evflag_wait() with wait_counted().
//
// One thread publishes a counter, and then looks for waiters; the other is counted as one, and
// then looks at the counter. It must not be that each sees nothing of the other: the waiter
// would sleep, and no other thread would wake it. relacy runs every schedule, with every value
// that a load may see. A form that leaves out a fence must fail. (relacy does not know what C11,
// 29.3p5, adds where one side has a fence and the other's load is sequentially consistent.)
#include <relacy/relacy.hpp>

#include <cstdio>
#include <ostream>

enum class Form {
    sound,
    no_fence_after_counter,  // the publisher looks for waiters at once
    no_fence_after_addition, // the waiter looks at the counter at once
};

template <Form form> struct Wakeup : rl::test_suite<Wakeup<form>, 2> {
    rl::atomic<int> counter, n_waiters;
    bool has_seen_waiter, has_seen_counter;

    void before()
    {
        counter($) = 0;
        n_waiters($) = 0;
        has_seen_waiter = has_seen_counter = false;
    }

    void publish()
    {
        counter($).store(1, rl::mo_release);
        if (form != Form::no_fence_after_counter)
            rl::atomic_thread_fence(rl::mo_seq_cst, $);
        has_seen_waiter = n_waiters($).load(rl::mo_seq_cst) != 0;
    }

    void wait()
    {
        n_waiters($).fetch_add(1, rl::mo_seq_cst);
        if (form != Form::no_fence_after_addition)
            rl::atomic_thread_fence(rl::mo_seq_cst, $);
        has_seen_counter = counter($).load(rl::mo_seq_cst) != 0;
    }

    void thread(unsigned index)
    {
        if (index == 0)
            publish();
        else
            wait();
    }

    void after()
    {
        RL_ASSERT(has_seen_waiter || has_seen_counter);
    }
};

template <Form form> static bool holds()
{
    std::ostream output(nullptr); // of a failure it would be the whole history
    rl::test_params params;

    params.search_type = rl::sched_full;
    params.output_stream = &output;
    params.progress_stream = &output;
    return rl::simulate<Wakeup<form>>(params);
}

static int expect(const char *name, bool is, bool must)
{
    std::printf("%s: %s, %s\n", name, is ? "holds" : "fails", is == must ? "as it must" : "WRONG");
    return is == must ? 0 : 1;
}

int main()
{
    return expect("wake-up", holds<Form::sound>(), true) +
           expect("wake-up without the publisher's fence", holds<Form::no_fence_after_counter>(),
                  false) +
           expect("wake-up without the waiter's fence", holds<Form::no_fence_after_addition>(),
                  false);
}
