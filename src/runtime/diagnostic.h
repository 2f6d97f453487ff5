/* SPDX-License-Identifier: Apache-2.0 */
/* diagnostic.h - who listens to the ends of compilations and computations, and what they hear
 *
 * The functions of NeuralNetworksSupportLibraryImpl.h. Nothing is measured or collected without a
 * listener: each end costs one load then. Threads: any. */
#ifndef NN_RUNTIME_DIAGNOSTIC_H
#define NN_RUNTIME_DIAGNOSTIC_H

#include <android/NeuralNetworksSupportLibraryImpl.h>
#include <nnhal/types.h>

/* What both infos have. */
struct nn_rt_told {
    const uint8_t *architecture; /* 32 bytes */
    const char *device_ids;
    int32_t code; /* a ResultCode */
    ANeuralNetworksDiagnosticDataClass input_class;
    ANeuralNetworksDiagnosticDataClass output_class;
    uint64_t duration_ns; /* NNHAL_NO_TIME: there was no listener when it began */
    bool is_cached;
    bool has_control_flow;
    bool has_open_shapes;
};

struct ANeuralNetworksDiagnosticCompilationInfo {
    struct nn_rt_told told;
};

struct ANeuralNetworksDiagnosticExecutionInfo {
    struct nn_rt_told told;
    ANeuralNetworksDiagnosticExecutionMode mode;
    struct nnhal_timing timing;
};

/* nn_rt_diagnostic_listen() - in place of who listened before; both NULL: no listener. */
void nn_rt_diagnostic_listen(ANeuralNetworksDiagnosticCompilationFinishedCallback on_compilation,
                             ANeuralNetworksDiagnosticExecutionFinishedCallback on_execution,
                             void *ctx);

/* nn_rt_diagnostic_is_heard() - whether there is a listener to collect for. */
bool nn_rt_diagnostic_is_heard(void);

void nn_rt_diagnostic_tell_compilation(const ANeuralNetworksDiagnosticCompilationInfo *info);
void nn_rt_diagnostic_tell_execution(const ANeuralNetworksDiagnosticExecutionInfo *info);

/* nn_rt_diagnostic_session() - a number of this process, above 0. */
int32_t nn_rt_diagnostic_session(void);

#endif
