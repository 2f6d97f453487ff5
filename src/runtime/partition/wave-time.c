/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/wave-time.h"

static uint64_t part_time(const struct nn_rt_timed_part *part)
{
    return part->compute_ns + part->launch_ns + part->move_ns;
}

bool nn_rt_wave_is_shared(uint32_t n_parts, const struct nn_rt_timed_part *parts)
{
    uint32_t n_large = 0;

    for (uint32_t i = 0; i < n_parts; i++)
        n_large += parts[i].compute_ns + parts[i].launch_ns >= NN_RT_WAKE_NS;
    return n_large > 1;
}

static uint64_t sum_time(uint32_t n_parts, const struct nn_rt_timed_part *parts)
{
    uint64_t sum_ns = 0;

    for (uint32_t i = 0; i < n_parts; i++)
        sum_ns += part_time(&parts[i]);
    return sum_ns;
}

static uint64_t place_time(uint32_t n_parts, const struct nn_rt_timed_part *parts, uint32_t place)
{
    uint64_t sum_ns = 0;

    for (uint32_t i = 0; i < n_parts; i++)
        sum_ns += parts[i].place == place ? part_time(&parts[i]) : 0;
    return sum_ns;
}

static uint64_t wave_time(uint32_t n_parts, const struct nn_rt_timed_part *parts)
{
    uint64_t longest_ns = 0;

    if (!nn_rt_wave_is_shared(n_parts, parts))
        return sum_time(n_parts, parts);
    for (uint32_t i = 0; i < n_parts; i++) {
        uint64_t own_ns = parts[i].place == NN_RT_PLACE_ANY
                              ? sum_time(n_parts, parts)
                              : place_time(n_parts, parts, parts[i].place);

        longest_ns = own_ns > longest_ns ? own_ns : longest_ns;
    }
    return longest_ns;
}

uint64_t nn_rt_waves_time(uint32_t n_parts, const struct nn_rt_timed_part *parts)
{
    uint64_t sum_ns = 0;

    for (uint32_t first = 0, n; first < n_parts; first += n) {
        for (n = 1; first + n < n_parts && parts[first + n].wave == parts[first].wave; n++)
            ;
        sum_ns += wave_time(n, parts + first);
    }
    return sum_ns;
}
