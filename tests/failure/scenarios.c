/* SPDX-License-Identifier: Apache-2.0 */
#include "failure/scenario.h"

#include "failure/scenario-list.h"

#define BOTH (SCENARIO_EMBEDDED | SCENARIO_SERVICE)

const struct scenario scenarios[] = {
    {"list devices", scenario_devices, BOTH, false, false, NULL},
    {"build", scenario_build, SCENARIO_EMBEDDED, true, false, NULL},
    {"build with control flow", scenario_control_flow, BOTH, false, false, NULL},
    {"ask what is supported", scenario_supported, BOTH, false, false, NULL},
    {"compile", scenario_compile, BOTH, true, false, NULL},
    {"compile with options", scenario_compile_options, BOTH, false, false, NULL},
    {"constants in memory", scenario_constants, BOTH, true, false, NULL},
    {"compute", scenario_compute, BOTH, true, false, NULL},
    {"compute and measure", scenario_measure, BOTH, false, false, NULL},
    {"compute in memory", scenario_memory, BOTH, true, false, NULL},
    {"compute again", scenario_again, BOTH, false, false, NULL},
    {"compute with an event", scenario_event, BOTH, false, false, NULL},
    {"compute after fences", scenario_fences, BOTH, false, false, NULL},
    {"compute an unknown shape", scenario_open_shape, BOTH, false, false, NULL},
    {"compute in a burst", scenario_burst, BOTH, true, false, NULL},
    {"compute in a hardware buffer", scenario_hardware_buffer, BOTH, false, false, NULL},
    {"memory of a device", scenario_domain, BOTH, true, false, NULL},
    {"compile into a cache", scenario_cache, BOTH, true, false, NULL},
    {"compile from a cache", scenario_cache_hit, BOTH, true, false, NULL},
    {"compile from a damaged cache", scenario_cache_damaged, BOTH, false, false, NULL},
    {"recover from a service that is gone", scenario_recovery, SCENARIO_SERVICE, true, false,
     scenario_control_flow},
    {"a store", scenario_store, SCENARIO_NOWHERE, true, true, NULL},
    {"a store that evicts", scenario_store_full, SCENARIO_NOWHERE, false, true, NULL},
    {"a sandbox", scenario_sandbox, SCENARIO_NOWHERE, true, true, NULL},
};

const size_t n_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
