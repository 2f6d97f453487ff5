/* SPDX-License-Identifier: Apache-2.0 */
/* scenario-list.h - the scenarios' functions, for their table */
#ifndef NN_TESTS_FAILURE_SCENARIO_LIST_H
#define NN_TESTS_FAILURE_SCENARIO_LIST_H

/* scenarios-model.c */
int scenario_devices(void);
int scenario_build(void);
int scenario_control_flow(void);
int scenario_supported(void);
int scenario_compile(void);
int scenario_compile_options(void);
int scenario_any_device(void);
int scenario_deferred(void);
int scenario_constants(void);

/* scenarios-execution.c */
int scenario_compute(void);
int scenario_measure(void);
int scenario_again(void);
int scenario_event(void);
int scenario_event_again(void);
int scenario_events(void);
int scenario_fences(void);
int scenario_open_shape(void);
int scenario_small_output(void);

/* scenarios-bursts.c */
int scenario_burst(void);
int scenario_bursts(void);
int scenario_burst_memory(void);

/* scenarios-recovery.c */
int scenario_recovery(void);
int scenario_recover_compile(void);
int scenario_recover_event(void);
int scenario_recover_burst(void);
int scenario_recover_domain(void);

/* scenarios-memory.c */
int scenario_memory(void);
int scenario_hardware_buffer(void);
int scenario_domain(void);
int scenario_domain_burst(void);
int scenario_domain_copy(void);
int scenario_sent_buffer(void);

/* scenarios-library.c */
int scenario_cache(void);
int scenario_cache_hit(void);
int scenario_cache_damaged(void);
int scenario_recover_cached(void);
int scenario_folder(void);
int scenario_store(void);
int scenario_store_list(void);
int scenario_store_full(void);
int scenario_sandbox(void);

/* scenarios-tools.c */
int scenario_tflite(void);
int scenario_grants(void);
int scenario_service(void);

#endif
