/* SPDX-License-Identifier: Apache-2.0 */
#include "failure/scenario.h"

#include "failure/scenario-list.h"

#define BOTH   (SCENARIO_EMBEDDED | SCENARIO_SERVICE)
#define CALLS  SCENARIO_CALLS
#define HASHES SCENARIO_HASHES
#define SHORT  SCENARIO_SHORT

const struct scenario scenarios[] = {
    {"list devices", scenario_devices, BOTH, 0, NULL},
    {"build", scenario_build, SCENARIO_EMBEDDED, SHORT, NULL},
    {"build with control flow", scenario_control_flow, BOTH, 0, NULL},
    {"ask what is supported", scenario_supported, BOTH, 0, NULL},
    {"compile", scenario_compile, BOTH, SHORT, NULL},
    {"compile with options", scenario_compile_options, BOTH, 0, NULL},
    {"compile for any device", scenario_any_device, BOTH, 0, NULL},
    {"compile, deferred", scenario_deferred, BOTH, 0, NULL},
    {"constants in memory", scenario_constants, BOTH, SHORT, NULL},
    {"load a .tflite file", scenario_tflite, BOTH, 0, NULL},

    {"compute", scenario_compute, BOTH, SHORT, NULL},
    {"compute and measure", scenario_measure, BOTH, 0, NULL},
    {"compute in memory", scenario_memory, BOTH, SHORT, NULL},
    {"compute again", scenario_again, BOTH, 0, NULL},
    {"compute with an event", scenario_event, BOTH, 0, NULL},
    {"compute again with an event", scenario_event_again, BOTH, 0, NULL},
    {"compute with two events at once", scenario_events, BOTH, 0, NULL},
    {"compute after fences", scenario_fences, BOTH, SHORT, NULL},
    {"compute an unknown shape", scenario_open_shape, BOTH, 0, NULL},
    {"compute into too small an output", scenario_small_output, BOTH, 0, NULL},
    {"compute in a burst", scenario_burst, BOTH, SHORT, NULL},
    {"compute in two bursts", scenario_bursts, BOTH, 0, NULL},
    {"compute in a burst in memory", scenario_burst_memory, BOTH, 0, NULL},
    {"compute in a hardware buffer", scenario_hardware_buffer, BOTH, 0, NULL},
    {"a hardware buffer that is sent", scenario_sent_buffer, SCENARIO_EMBEDDED, 0, NULL},

    {"memory of a device", scenario_domain, BOTH, SHORT, NULL},
    {"memory of a device in a burst", scenario_domain_burst, BOTH, 0, NULL},
    {"copy between memories of a device", scenario_domain_copy, BOTH, 0, NULL},

    {"compile into a cache", scenario_cache, BOTH, SHORT | HASHES, NULL},
    {"compile from a cache", scenario_cache_hit, BOTH, SHORT | HASHES, NULL},
    {"compile from a damaged cache", scenario_cache_damaged, BOTH, HASHES, NULL},
    {"look at an application's folder", scenario_folder, BOTH, HASHES, NULL},

    {"recover from a service that is gone", scenario_recovery, SCENARIO_SERVICE, SHORT,
     scenario_control_flow},
    {"recover while compiling", scenario_recover_compile, SCENARIO_SERVICE, 0,
     scenario_control_flow},
    {"recover with an event", scenario_recover_event, SCENARIO_SERVICE, 0, scenario_control_flow},
    {"recover in a burst", scenario_recover_burst, SCENARIO_SERVICE, 0, scenario_control_flow},
    {"recover memory of a device", scenario_recover_domain, SCENARIO_SERVICE, 0,
     scenario_control_flow},
    {"recover with a cache", scenario_recover_cached, SCENARIO_SERVICE, HASHES, scenario_cache_hit},

    {"a store", scenario_store, SCENARIO_NOWHERE, SHORT | CALLS, NULL},
    {"a store that evicts", scenario_store_full, SCENARIO_NOWHERE, CALLS, NULL},
    {"look at a store", scenario_store_list, SCENARIO_NOWHERE, CALLS, NULL},
    {"a sandbox", scenario_sandbox, SCENARIO_NOWHERE, SHORT | CALLS, NULL},
    {"what a driver declares", scenario_grants, SCENARIO_NOWHERE, 0, NULL},
    {"a service that starts and ends", scenario_service, SCENARIO_NOWHERE, 0, NULL},
};

const size_t n_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
