/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.h - the end of a computation, and who learns of it: the devices' counts, and those who
 * listen (diagnostic.h) */
#ifndef NN_RUNTIME_EXECUTION_OUTCOME_H
#define NN_RUNTIME_EXECUTION_OUTCOME_H

#include "runtime/execution/execution.h"

/* nn_rt_execution_end() - completes what nn_rt_execution_begin() began, with any result of a function
 * of executions. */
void nn_rt_execution_end(ANeuralNetworksExecution *execution, int result);

#endif
