/* SPDX-License-Identifier: Apache-2.0 */
/* NeuralNetworks.h - the Android Neural Networks API on Linux
 *
 * A model is a graph of operations on operands (tensors and scalars). It is
 * built once, compiled for a chosen device or for the most suitable one, and
 * executed any number of times:
 *
 *     ANeuralNetworksModel        create, addOperand.., addOperation..,
 *                                 identifyInputsAndOutputs, finish
 *     ANeuralNetworksCompilation  create, set.., finish
 *     ANeuralNetworksExecution    create, setInput.., setOutput.., compute
 *
 * What each operation takes and computes stands in nnhal-operations(7).
 *
 * Names, values and behavior are those of Android's NDK at feature level 8.
 * Only functions that the library has are declared.
 *
 * Errors. Functions return a ResultCode. They check first for NULL pointers
 * (ANEURALNETWORKS_UNEXPECTED_NULL), then the state of the object
 * (ANEURALNETWORKS_BAD_STATE), then the arguments (ANEURALNETWORKS_BAD_DATA);
 * exceptions are noted. A failed call has changed nothing, except where noted. errno
 * has no meaning. <nnhal/ext.h> has functions that return a sentence about the error.
 *
 * Threads. An object may be changed by one thread at a time. A finished model
 * and a finished compilation may be used by any number of threads. Concurrent
 * computations of one execution are refused with BAD_STATE.
 *
 * Lifetimes. Objects keep references to what they need: a memory or a model may be
 * freed, in any order, as soon as no further objects are made from it. The exception is
 * an execution in progress: its buffers must stay valid. Every _free accepts NULL.
 *
 * After fork() in a process that has asked for devices, the child's objects answer
 * ANEURALNETWORKS_DEAD_OBJECT to calls that need a device, its copies and those that it
 * makes; they may be freed. exec() gives the child devices of its own. */
#ifndef ANDROID_NEURAL_NETWORKS_H
#define ANDROID_NEURAL_NETWORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <android/NeuralNetworksTypes.h>
#include <android/hardware_buffer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- devices ---------------------------------------------------------------- */

/* ANeuralNetworks_getDeviceCount() - the number of devices (feature level 3).
 * The list is made by the first call that needs it and does not change. The last
 * device is "nnapi-reference" where it is built in: plain C code in this process.
 * Returns: UNEXPECTED_NULL. */
int ANeuralNetworks_getDeviceCount(uint32_t *numDevices);

/* ANeuralNetworks_getDevice() - the device at an index (feature level 3).
 * Returns: UNEXPECTED_NULL; BAD_DATA if the index is out of range. */
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice **device);

/* ANeuralNetworksDevice_getName() - the device's unique name (feature level 3).
 * The string belongs to the library. Returns: UNEXPECTED_NULL. */
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *device, const char **name);

/* ANeuralNetworksDevice_getType() - a DeviceTypeCode (feature level 3).
 * Returns: UNEXPECTED_NULL. */
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *device, int32_t *type);

/* ANeuralNetworksDevice_getVersion() - the driver's version, which changes
 * with its behavior (feature level 3). The string belongs to the library.
 * Returns: UNEXPECTED_NULL. */
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice *device, const char **version);

/* ANeuralNetworksDevice_getFeatureLevel() - the FeatureLevelCode of the device, at
 * most the runtime's (feature level 3).
 * Returns: UNEXPECTED_NULL. */
int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *device,
                                          int64_t *featureLevel);

/* ANeuralNetworksDevice_wait() - waits until the device can be used (feature
 * level 4). Blocks only while its service is down.
 * Returns: UNEXPECTED_NULL; DEAD_OBJECT if it does not come back. */
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice *device);

/* ANeuralNetworks_getRuntimeFeatureLevel() - ANEURALNETWORKS_FEATURE_LEVEL_8
 * (feature level 5). Cannot fail. */
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);

/* ANeuralNetworks_getDefaultLoopTimeout() - how long a WHILE may run by default, in
 * nanoseconds (feature level 4). Cannot fail. */
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);

/* ANeuralNetworks_getMaximumLoopTimeout() - the longest timeout of a WHILE, in
 * nanoseconds (feature level 4). Cannot fail. */
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

/* ANeuralNetworksModel_getSupportedOperationsForDevices() - which operations of
 * a finished model at least one device of a list can execute (feature level 3).
 * supportedOps has one element per operation, in the order in which they were
 * added. A device that fails counts as supporting no operation.
 * Returns: UNEXPECTED_NULL, also for an element of devices; BAD_STATE if the
 * model is not finished; BAD_DATA if numDevices is 0 or a device is listed twice. */
int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
    uint32_t numDevices, bool *supportedOps);

/* -- memory ----------------------------------------------------------------- */

/* ANeuralNetworksMemory_createFromFd() - a memory that consists of bytes of a file
 * (feature level 1). fd is duplicated; protect is PROT_READ, PROT_WRITE or both; any
 * offset is allowed. size and offset are checked when the memory is first used
 * (UNMAPPABLE). A file in shared memory (memfd_create, shm_open) is passed to
 * drivers as it is, without a copy; it must not shrink while it is in use.
 * *memory is NULL on failure.
 * Returns: UNEXPECTED_NULL; OP_FAILED if fd cannot be duplicated; OUT_OF_MEMORY. */
int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory **memory);

/* ANeuralNetworksMemory_createFromDesc() - a memory in a layout of the device's own,
 * for the inputs and outputs that a finished descriptor names (feature level 4):
 * state that stays in the device between executions, or results that become inputs.
 * If the device cannot allocate it, shared memory is used, provided that the size is
 * known and no compilation of a role has a list of devices.
 * It is uninitialized until a copy or an execution has written it. A failed copy or
 * execution into it makes it uninitialized again, and so does the death of the
 * device's driver. It is used as a whole (offset and length are 0) and never for
 * constants. The descriptor may be freed. *memory is NULL on failure.
 * Returns: UNEXPECTED_NULL; BAD_STATE if desc is not finished; OP_FAILED if it
 * cannot be allocated; RESOURCE_EXHAUSTED_*; DEAD_OBJECT; OUT_OF_MEMORY. */
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc *desc,
                                         ANeuralNetworksMemory **memory);

/* ANeuralNetworksMemory_copy() - copies all bytes of src to dst (feature level 4).
 * Blocks. Sizes must be equal; memories made from descriptors must agree in type and
 * dimensions, and dst gets the dimensions of src. After a failure, a dst made from a
 * descriptor is uninitialized. Copying a memory to itself changes nothing.
 * Returns: UNEXPECTED_NULL; BAD_DATA if src is not initialized or does not fit dst;
 * UNMAPPABLE; OP_FAILED, also while an execution uses either; DEAD_OBJECT;
 * OUT_OF_MEMORY. */
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory *src, const ANeuralNetworksMemory *dst);

/* ANeuralNetworksMemory_createFromAHardwareBuffer() - a memory that keeps a reference
 * to a hardware buffer (feature level 3). A BLOB is a memory of width bytes. A buffer
 * of another format can only be an argument of an execution, as a whole (offset and
 * length 0), and no constant; a device that uses its pixels in place needs exactly the
 * tensor's bytes. Operations with a buffer that a device cannot decode are not
 * supported; preparing and executing with it is OP_FAILED.
 * *memory is NULL on failure. Returns: UNEXPECTED_NULL; OUT_OF_MEMORY. */
int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer *ahwb,
                                                    ANeuralNetworksMemory **memory);

/* ANeuralNetworksMemory_free() - (feature level 1). Models, compilations and
 * executions that use the memory keep references to it. */
void ANeuralNetworksMemory_free(ANeuralNetworksMemory *memory);

/* -- memory descriptors --------------------------------------------------------
 *
 * A descriptor says how a memory will be used: its roles, which are inputs and outputs
 * of compilations, and dimensions that those leave open. */

/* ANeuralNetworksMemoryDesc_create() - (feature level 4). *desc is NULL on failure.
 * Returns: UNEXPECTED_NULL; OUT_OF_MEMORY. */
int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc **desc);

/* ANeuralNetworksMemoryDesc_free() - (feature level 4). */
void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc *desc);

/* ANeuralNetworksMemoryDesc_addInputRole(), ..addOutputRole() - the memory may be
 * used as this input or output (feature level 4). frequency, above 0 and at most 1,
 * says how often, as a hint to the device.
 * Returns: UNEXPECTED_NULL; BAD_STATE if desc is finished; BAD_DATA if the
 * compilation is not finished or failed, for an unknown index, a role named
 * twice, a frequency out of range, or an operand that differs in type, scale,
 * zero point or known dimensions from the roles so far; OUT_OF_MEMORY. */
int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc *desc,
                                           const ANeuralNetworksCompilation *compilation,
                                           uint32_t index, float frequency);
int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc *desc,
                                            const ANeuralNetworksCompilation *compilation,
                                            uint32_t index, float frequency);

/* ANeuralNetworksMemoryDesc_setDimensions() - the known dimensions (feature level 4);
 * 0: not known. They are combined with those of roles and of earlier calls.
 * Returns: UNEXPECTED_NULL; BAD_STATE if desc is finished; BAD_DATA if it
 * contradicts them, or the roles are scalars. */
int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc *desc, uint32_t rank,
                                            const uint32_t *dimensions);

/* ANeuralNetworksMemoryDesc_finish() - (feature level 4).
 * Returns: UNEXPECTED_NULL; BAD_STATE if called before; BAD_DATA without any role. */
int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc *desc);

/* -- models ------------------------------------------------------------------ */

/* ANeuralNetworksModel_create() - an empty model (feature level 1).
 * Returns: UNEXPECTED_NULL, OUT_OF_MEMORY. */
int ANeuralNetworksModel_create(ANeuralNetworksModel **model);

/* ANeuralNetworksModel_free() - (feature level 1). Compilations of it stay valid. */
void ANeuralNetworksModel_free(ANeuralNetworksModel *model);

/* ANeuralNetworksModel_finish() - ends building the model (feature level 1). The
 * model is checked as a whole: operations may have been added in any order, but none
 * may depend on its own result; every operand that is read must be written once, or
 * be an input or a constant.
 * Returns: UNEXPECTED_NULL; BAD_STATE if called before, also if that failed;
 * BAD_DATA, after which the model can only be freed; OUT_OF_MEMORY. */
int ANeuralNetworksModel_finish(ANeuralNetworksModel *model);

/* ANeuralNetworksModel_addOperand() - an operand; its index is the number of
 * operands added before (feature level 1). type is copied.
 * Returns: UNEXPECTED_NULL; BAD_STATE if finished; BAD_DATA if the type is
 * unknown, a scalar has dimensions, scale or zero point are not what the type
 * allows, dimensions and dimensionCount do not agree, or the size in bytes
 * exceeds 32 bits. */
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model,
                                    const ANeuralNetworksOperandType *type);

/* ANeuralNetworksModel_setOperandValue() - makes an operand a constant (feature
 * level 1). Any number of bytes is copied before this returns.
 * buffer NULL with length 0: an optional argument that is omitted. A later
 * value replaces an earlier one.
 * Returns: UNEXPECTED_NULL if buffer is NULL and length is not 0; BAD_STATE if
 * finished; BAD_DATA if the index is unknown, the operand is an input, an
 * output or not fully specified, or length is not its size. */
int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index,
                                         const void *buffer, size_t length);

/* ANeuralNetworksModel_setOperandSymmPerChannelQuantParams() - the scales of a
 * per-channel quantized operand, copied (feature level 3).
 * Returns: UNEXPECTED_NULL; BAD_STATE if finished; BAD_DATA if the operand has
 * another type, channelDim is beyond its rank, scaleCount is not that dimension,
 * or a scale is not above 0 and finite. */
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel *model, int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams *channelQuant);

/* ANeuralNetworksModel_setOperandValueFromMemory() - makes bytes of a memory an
 * operand's constant value (feature level 1). The bytes are not copied, and must not
 * change while the model or a compilation of it exists.
 * Returns: UNEXPECTED_NULL; BAD_STATE if finished; BAD_DATA as for
 * setOperandValue(), or if the bytes are not inside the memory. */
int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel *model, int32_t index,
                                                   const ANeuralNetworksMemory *memory,
                                                   size_t offset, size_t length);

/* ANeuralNetworksModel_setOperandValueFromModel() - makes a finished model the
 * value of an operand of type ANEURALNETWORKS_MODEL (feature level 4).
 * Returns: UNEXPECTED_NULL; BAD_STATE if model is finished or value is not;
 * BAD_DATA. */
int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel *model, int32_t index,
                                                  const ANeuralNetworksModel *value);

/* ANeuralNetworksModel_addOperation() - adds an operation on operands that were added
 * before (feature level 1). Types and counts are checked here; values may be set
 * later. The arrays are copied.
 * Returns: UNEXPECTED_NULL if an array is NULL; BAD_STATE if finished; BAD_DATA
 * if the operation is unknown, an index is, or the operands do not fit it. */
int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model,
                                      ANeuralNetworksOperationType type, uint32_t inputCount,
                                      const uint32_t *inputs, uint32_t outputCount,
                                      const uint32_t *outputs);

/* ANeuralNetworksModel_identifyInputsAndOutputs() - which operands an execution
 * sets and gets (feature level 1). A later call replaces an earlier one. The
 * arrays are copied.
 * Returns: UNEXPECTED_NULL if an array is NULL; BAD_STATE if finished; BAD_DATA
 * if a count is 0, or an operand is unknown, constant or listed twice. */
int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel *model, uint32_t inputCount,
                                                  const uint32_t *inputs, uint32_t outputCount,
                                                  const uint32_t *outputs);

/* ANeuralNetworksModel_relaxComputationFloat32toFloat16() - whether 32 bit
 * floats may be computed with the range and precision of 16 bits (feature
 * level 2). Returns: UNEXPECTED_NULL; BAD_STATE if finished. */
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel *model, bool allow);

/* -- compilations -------------------------------------------------------------- */

/* ANeuralNetworksCompilation_create() - a compilation of a finished model for
 * the device, or the devices together, that compute it for the least time or power
 * (feature level 1). If one fails to prepare it, another is taken, down to the CPU.
 * *compilation is NULL on failure.
 * Returns: UNEXPECTED_NULL; BAD_STATE if the model is not finished; OUT_OF_MEMORY. */
int ANeuralNetworksCompilation_create(ANeuralNetworksModel *model,
                                      ANeuralNetworksCompilation **compilation);

/* ANeuralNetworksCompilation_createForDevices() - a compilation for the devices
 * of a list, and no others (feature level 3), which compute it together if none takes
 * all of it. *compilation is NULL on failure.
 * Returns: UNEXPECTED_NULL, also for an element of devices; BAD_STATE if the
 * model is not finished; BAD_DATA if numDevices is 0, or a device is unknown
 * or listed twice; OUT_OF_MEMORY. */
int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel *model,
                                                const ANeuralNetworksDevice *const *devices,
                                                uint32_t numDevices,
                                                ANeuralNetworksCompilation **compilation);

/* ANeuralNetworksCompilation_free() - (feature level 1). Executions stay valid. */
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation);

/* ANeuralNetworksCompilation_setCaching() - the folder in which compiled models are
 * cached, and the token that identifies this one (feature level 3). cacheDir is a folder
 * of the application that is there; token has ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN bytes. It must
 * identify the model completely, including large constants, whose contents are not
 * compared. Both are copied; the last call counts. A cache that cannot be used is not an
 * error: see nnhal_compilation_get_cache_info() in nnhal/ext.h. finish() does not
 * wait for the disk: a compiled model is kept in the background, for which exit() waits. A
 * process that ends in another way may leave nothing for the next one.
 * Returns: UNEXPECTED_NULL; BAD_STATE if finished; OUT_OF_MEMORY. */
int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *compilation,
                                          const char *cacheDir, const uint8_t *token);

/* ANeuralNetworksCompilation_setPreference() - a PreferenceCode (feature level 1), by which the library chooses
 * among devices: by energy for low power, else by time. Drivers are told.
 * Returns: UNEXPECTED_NULL; BAD_STATE if finished; BAD_DATA. */
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation *compilation,
                                             int32_t preference);

/* ANeuralNetworksCompilation_setPriority() - a PriorityCode (feature level 4).
 * Returns: UNEXPECTED_NULL; BAD_STATE if finished; BAD_DATA. */
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation *compilation, int priority);

/* ANeuralNetworksCompilation_setTimeout() - how long finish() may take, in
 * nanoseconds; 0: no limit (feature level 4). Only for compilations
 * made by createForDevices() with one device.
 * Returns: UNEXPECTED_NULL; BAD_STATE if finished; BAD_DATA for other
 * compilations. */
int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation *compilation,
                                          uint64_t duration);

/* ANeuralNetworksCompilation_finish() - compiles the model (feature level 1). Blocks. A
 * compilation whose finish() failed can only be freed.
 * Returns: UNEXPECTED_NULL; BAD_STATE if called before; BAD_DATA if no allowed
 * device can execute all operations; MISSED_DEADLINE_*; DEAD_OBJECT; OP_FAILED;
 * UNMAPPABLE; OUT_OF_MEMORY. */
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation);

/* ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(), ..ForOutput(),
 * ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(), ..ForOutput() -
 * the preferred alignment of arguments' addresses, and the multiple to which their
 * lengths are best padded, in bytes, powers of two (feature level 5).
 * Returns: UNEXPECTED_NULL; BAD_STATE unless finish() succeeded; BAD_DATA for an
 * unknown index. */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *padding);
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *alignment);
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation *compilation, uint32_t index, uint32_t *padding);

/* -- executions ------------------------------------------------------------------
 *
 * An execution is prepared by setters, computes, and is completed. A reusable
 * execution may compute again with the same arguments; the bytes in its buffers may
 * change in between. Setters return BAD_STATE from the first computation on. */

/* ANeuralNetworksExecution_create() - an execution of a compilation whose
 * finish() succeeded (feature level 1). *execution is NULL on failure.
 * Returns: UNEXPECTED_NULL; BAD_STATE; OUT_OF_MEMORY. */
int ANeuralNetworksExecution_create(ANeuralNetworksCompilation *compilation,
                                    ANeuralNetworksExecution **execution);

/* ANeuralNetworksExecution_free() - (feature level 1). An execution that is being
 * computed is freed when the computation has ended; its buffers must stay valid until then. */
void ANeuralNetworksExecution_free(ANeuralNetworksExecution *execution);

/* ANeuralNetworksExecution_setInput() - the bytes of an input (feature level 1).
 * type NULL: as in the model; otherwise it specifies what the model left open, and
 * its scale and zero point are ignored if they are 0. buffer NULL with length 0: an
 * optional input that is omitted. The buffer must stay unchanged until the
 * computation has ended, and stay valid until a reusable execution is freed.
 * Returns: UNEXPECTED_NULL if buffer is NULL and length is not 0; BAD_STATE if
 * computing has begun or the input was set before; BAD_DATA for an unknown
 * index, a type that contradicts the model's or leaves something open, or a
 * length that is not the input's size (with padding: less than it). */
int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution *execution, int32_t index,
                                      const ANeuralNetworksOperandType *type, const void *buffer,
                                      size_t length);

/* ANeuralNetworksExecution_setInputFromMemory() - the same, with bytes of a memory
 * (feature level 1). Returns: as setInput(); BAD_DATA if the bytes are not inside it. */
int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution *execution, int32_t index,
                                                const ANeuralNetworksOperandType *type,
                                                const ANeuralNetworksMemory *memory, size_t offset,
                                                size_t length);

/* ANeuralNetworksExecution_setOutput() - the buffer of an output (feature level 1).
 * As setInput(), but dimensions may stay open; length is then the capacity.
 * Returns: as setInput(). */
int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution *execution, int32_t index,
                                       const ANeuralNetworksOperandType *type, void *buffer,
                                       size_t length);

/* ANeuralNetworksExecution_setOutputFromMemory() - the same, into a memory (feature
 * level 1). Returns: as setOutput(); BAD_DATA if the bytes are not inside it. */
int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution *execution, int32_t index,
                                                 const ANeuralNetworksOperandType *type,
                                                 const ANeuralNetworksMemory *memory, size_t offset,
                                                 size_t length);

/* ANeuralNetworksExecution_enableInputAndOutputPadding() - whether lengths may
 * exceed the size of the operand (feature level 5). Before all setInput.. and
 * setOutput... Returns: UNEXPECTED_NULL; BAD_STATE. */
int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution *execution,
                                                         bool enable);

/* ANeuralNetworksExecution_setReusable() - whether it may compute more than once
 * (feature level 5). Returns: UNEXPECTED_NULL; BAD_STATE if computing has begun. */
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution, bool reusable);

/* ANeuralNetworksExecution_setMeasureTiming() - whether the time is measured for
 * getDuration() (feature level 3). Only for compilations made by
 * createForDevices() with one device.
 * Returns: UNEXPECTED_NULL; BAD_DATA for other compilations; BAD_STATE if
 * computing has begun. */
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution, bool measure);

/* ANeuralNetworksExecution_setTimeout() - how long a computation may take, in
 * nanoseconds; 0: no limit (feature level 4). Devices check it now and then. A driver in
 * another process that does not is left after 50 ms more; one in this process (embedded) that
 * does not return is waited for.
 * Only for compilations made by createForDevices() with one device.
 * Returns: UNEXPECTED_NULL; BAD_DATA for other compilations; BAD_STATE if
 * computing has begun. */
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution, uint64_t duration);

/* ANeuralNetworksExecution_setLoopTimeout() - how long each WHILE may run, in
 * nanoseconds; more than the maximum counts as the maximum (feature level 4).
 * Returns: UNEXPECTED_NULL; BAD_STATE if computing has begun. */
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution, uint64_t duration);

/* ANeuralNetworksExecution_compute() - computes; blocks until the end (feature level
 * 3). If inputs or outputs are missing, a BAD_DATA completes the
 * execution. After a failure the contents of outputs are undefined.
 * Returns: UNEXPECTED_NULL; BAD_STATE if it is computing, or is completed and not
 * reusable; BAD_DATA; OUTPUT_INSUFFICIENT_SIZE if a buffer for an output with open
 * dimensions is too small; MISSED_DEADLINE_*; RESOURCE_EXHAUSTED_*; DEAD_OBJECT;
 * UNMAPPABLE; OP_FAILED. */
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution *execution);

/* ANeuralNetworksBurst_create() - a burst, for a sequence of computations of one
 * compilation that follow each other closely (feature level 3), such as camera frames
 * or blocks of sound. While it exists, the device stays ready, memories that the burst
 * has used stay mapped until they are freed, and the device is reached without a
 * system call where that is possible. It may be freed before and after memories,
 * executions and the compilation, but not while it computes.
 * Returns: UNEXPECTED_NULL; BAD_STATE unless the compilation is finished;
 * DEAD_OBJECT in a forked child. */
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation *compilation,
                                ANeuralNetworksBurst **burst);
void ANeuralNetworksBurst_free(ANeuralNetworksBurst *burst);

/* ANeuralNetworksExecution_burstCompute() - as compute(), on a burst (feature level 3).
 * One computation at a time runs on a burst.
 * Returns: UNEXPECTED_NULL; BAD_DATA if execution and burst are of different
 * compilations, which leaves the execution as it was; BAD_STATE if the burst is
 * computing; others as compute(). */
int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution *execution,
                                          ANeuralNetworksBurst *burst);

/* ANeuralNetworksExecution_startCompute() - computes in the background (feature
 * level 1). The event, which the caller frees, signals the end. *event is NULL on failure.
 * Returns: UNEXPECTED_NULL; BAD_STATE and BAD_DATA as compute(); OUT_OF_MEMORY. */
int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution *execution,
                                          ANeuralNetworksEvent **event);

/* ANeuralNetworksExecution_startComputeWithDependencies() - computes when other
 * events have succeeded (feature level 4). duration, in nanoseconds and counted
 * from then, is as for setTimeout(), 0: none. All outputs must be fully
 * specified. *event is NULL on failure. If a dependency fails, this event
 * fails, too.
 * Returns: UNEXPECTED_NULL; BAD_STATE and BAD_DATA as compute(), BAD_DATA also for a
 * duration on a compilation without exactly one listed device; OP_FAILED;
 * MISSED_DEADLINE_* if a device in another process does not take it in time; OUT_OF_MEMORY. */
int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution *execution, const ANeuralNetworksEvent *const *dependencies,
    uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent **event);

/* ANeuralNetworksExecution_getOutputOperandRank() - the rank of an output of a
 * completed execution, 0 for a scalar (feature level 3).
 * Returns: UNEXPECTED_NULL; BAD_STATE unless completed with NO_ERROR or
 * OUTPUT_INSUFFICIENT_SIZE; BAD_DATA for an unknown index;
 * OUTPUT_INSUFFICIENT_SIZE (with *rank set) if this output's buffer was too small. */
int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution *execution,
                                                  int32_t index, uint32_t *rank);

/* ANeuralNetworksExecution_getOutputOperandDimensions() - the dimensions, as many
 * as the rank (feature level 3). Returns: as getOutputOperandRank(); BAD_DATA also
 * for a scalar. */
int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution *execution,
                                                        int32_t index, uint32_t *dimensions);

/* ANeuralNetworksExecution_getDuration() - the duration of a measured execution, in
 * nanoseconds (feature level 3). durationCode is a DurationCode. *duration is
 * UINT64_MAX if the device did not measure it, and on failure.
 * Returns: UNEXPECTED_NULL; BAD_DATA for an unknown code; BAD_STATE unless the
 * execution succeeded and setMeasureTiming() was called. */
int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution *execution,
                                         int32_t durationCode, uint64_t *duration);

/* -- events --------------------------------------------------------------------- */

/* ANeuralNetworksEvent_wait() - waits for the end of a computation (feature level
 * 1). Any number of threads, any number of times.
 * Returns: the result that compute() would have returned; UNEXPECTED_NULL. */
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent *event);

/* ANeuralNetworksEvent_free() - (feature level 1). Waits for the end first. */
void ANeuralNetworksEvent_free(ANeuralNetworksEvent *event);

/* ANeuralNetworksEvent_createFromSyncFenceFd() - an event that ends when a fence
 * signals: the file polls as POLLIN after success and as POLLERR after failure
 * (feature level 4). The fd is duplicated. Until it signals, who waits for it waits, and a
 * computation that depends on it until its deadline.
 * Returns: UNEXPECTED_NULL; BAD_DATA if fd is not open; OUT_OF_MEMORY. */
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent **event);

/* ANeuralNetworksEvent_getSyncFenceFd() - a fence that signals when the event ends
 * (feature level 4). The fd belongs to the caller. *sync_fence_fd is -1 on failure.
 * Returns: UNEXPECTED_NULL; BAD_DATA if the event has no fence, such as an event of
 * startCompute(). */
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent *event, int *sync_fence_fd);

#ifdef __cplusplus
}
#endif

#endif
