/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - a .tflite model, compiled for a device, with its buffers
 *
 * Inputs and outputs lie in one shared memory, so that nothing is copied on the
 * way to the driver and back. Outputs whose size is known only afterwards start
 * with room for 64 KiB and get what they need. One thread. */
#ifndef NN_TOOLS_NNHAL_SESSION_H
#define NN_TOOLS_NNHAL_SESSION_H

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>
#include <nnhal/tflite.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of the choices of --path. */
enum session_path { SESSION_SYNC, SESSION_ASYNC, SESSION_BURST };

struct cJSON;

struct session_options {
    const char *model;
    const char *device; /* NULL: the first that runs it */
    const char *cache;  /* folder of compiled models, made if it is missing; NULL: none */
    enum session_path path;
    bool measures; /* of one device that was named: what computations take there */
};

struct session_buffer {
    uint8_t *data;
    size_t offset, capacity, n_bytes;
    uint32_t n_dimensions;
    uint32_t dimensions[8];
};

struct session {
    struct session_options options;
    struct nnhal_tflite *net;
    ANeuralNetworksDevice *device; /* of several that compute parts, the one with the most work */
    uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN]; /* of the cache: the file's hash */
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksMemory *memory;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksBurst *burst; /* of the path burst */
    uint8_t *map;
    size_t n_mapped;
    uint32_t n_inputs, n_outputs;
    struct session_buffer *inputs, *outputs;
    uint64_t load_ns, prepare_ns;
    uint64_t open_ns; /* of session_open(): these, opening devices and making buffers */
    struct nnhal_cache_info cache; /* why lives as long as the compilation */
};

/* session_open() - loads, compiles and makes the buffers; inputs are zero.
 * Returns: TOOL_OK, or a status with the complaint printed. */
int session_open(const struct session_options *options, struct session *ret_session);

/* session_load() - the first step of it alone: the model, the device that was named, and the
 * cache's token. Returns: as session_open(). */
int session_load(const struct session_options *options, struct session *ret_session);

/* session_compile() - the second: compiles, also once more, into session->compilation; prepare_ns,
 * device and cache are set. Returns: as session_open(). */
int session_compile(struct session *session);

/* session_run() - one execution of what is in the inputs' buffers; outputs and
 * their dimensions are set. *ret_ns: how long it took.
 * Returns: TOOL_OK, or TOOL_FAILED with the complaint printed. */
int session_run(struct session *session, uint64_t *ret_ns);

/* session_run_median() - n executions; *ret_ns: the median of what they took. Returns: as
 * session_run(). */
int session_run_median(struct session *session, uint32_t n, uint64_t *ret_ns);

void session_close(struct session *session);

/* session_cache_name() - "hit", "compiled" (and kept), "uncached", "none". */
const char *session_cache_name(const struct session *session);

/* session_check_devices() - after each run; session->device is set.
 * Returns: TOOL_OK; TOOL_FAILED with the complaint printed if NNHAL_MODE asks for a driver, and
 * nnapi-reference computed the model or a part of it unasked. */
int session_check_devices(struct session *session);

/* session_where() - "on nnhal-cpu, service, pid 123", or "in 2 parts", into text. */
void session_where(const struct session *session, char *text, size_t size);

/* session_put_device() - "nnhal-cpu, service, pid 123" into text. */
void session_put_device(const ANeuralNetworksDevice *device, char *text, size_t size);

/* session_device_to_json() - "device", "mode", "pid". */
void session_device_to_json(const ANeuralNetworksDevice *device, struct cJSON *object);

/* session_print_parts() - a line for each of several parts: who computes it, and why if a driver
 * could have been expected to; of a model that is computed as a whole, as the next. */
void session_print_parts(const struct session *session);

/* session_print_substitutes() - a line for the model, or for each part, that another device computed
 * last than was planned, and why. */
void session_print_substitutes(const struct session *session);

/* session_devices_to_json() - who computed last: "device", "mode", "pid"; "failure" if another one
 * failed; "parts", with the same members and "operations", if there are several. */
void session_devices_to_json(const struct session *session, struct cJSON *root);

/* session_values() - an output's elements as real numbers, dequantized.
 * Returns: how many; *ret_values is malloc'ed. */
size_t session_values(const struct session *session, uint32_t output, double **ret_values);

/* session_now_ns() - the monotonic clock. */
uint64_t session_now_ns(void);

#endif
