# SPDX-License-Identifier: Apache-2.0
"""Tree to doc/hal.md: every limit, type, method and event, and Android's names."""

from . import tree

ANDROID = """\
| Android (HIDL 1.0-1.3, AIDL) | here |
|---|---|
| IDevice.getCapabilities, _1_1, _1_2, _1_3 | get_device_info: capabilities |
| IDevice.getVersionString | get_device_info: version |
| IDevice.getType | get_device_info: type |
| IDevice.getSupportedExtensions | get_device_info: extensions |
| IDevice.getNumberOfCacheFilesNeeded | get_device_info: n_model_cache_files, n_data_cache_files |
| IDevice.getStatus | none: a device that answers is there |
| IDevice.getSupportedOperations, _1_1, _1_2, _1_3 | get_supported_operations |
| IDevice.prepareModel, _1_1, _1_2, _1_3, prepareModelWithConfig | prepare_model |
| IDevice.prepareModelFromCache, _1_3 | prepare_model_from_cache |
| IPreparedModelCallback.notify, _1_2, _1_3 | the reply of prepare_model |
| IDevice.allocate | allocate |
| IPreparedModel.execute, _1_2, _1_3 | execute_synchronously, on another thread of the caller |
| IPreparedModel.executeSynchronously, _1_3, executeSynchronouslyWithConfig | execute_synchronously |
| IExecutionCallback.notify, _1_2, _1_3 | the reply of execute_synchronously |
| IPreparedModel.executeFenced, _1_3, executeFencedWithConfig | execute_fenced |
| IFencedExecutionCallback.getExecutionInfo | get_fenced_info |
| IPreparedModel.createReusableExecution | create_execution |
| IExecution.executeSynchronously, executeFenced | execute_synchronously, execute_fenced with execution |
| IPreparedModel.configureExecutionBurst | configure_execution_burst |
| IBurstContext.freeMemory | free_burst_memory |
| IBurstCallback.getMemories | get_memories, answered with set_burst_memory |
| IBuffer.copyTo, copyFrom | copy_to, copy_from |
| release of an interface | free_memory, free_prepared_model, free_execution, free_fenced_callback, \
free_buffer, free_burst |
| linkToDeath | nn_hal_listener: died |
| hidl_memory, android.hardware.common.Ashmem, Memory | import_memory, then its id |
| hidl_handle, ParcelFileDescriptor | fd |
| MQDescriptorSync, MQDescriptor | queue_descriptor |
| FmqRequestDatum, FmqResultDatum | fmq_request_datum, fmq_result_datum |
| Model, Subgraph, Operand, Operation, DataLocation | model, subgraph, operand, operation, \
data_location |
| Operand.numberOfConsumers | not carried: the host counts |
| SymmPerChannelQuantParams | channel_quant |
| ExtensionNameAndPrefix | extension_prefix |
| Request, RequestArgument, Request.MemoryPool | request, request_argument, request_pool |
| OutputShape, Timing (microseconds) | output_shape, timing (nanoseconds) |
| Capabilities, PerformanceInfo, OperandPerformance | capabilities, performance_info, \
operand_performance |
| Extension, ExtensionOperandTypeInformation | extension, extension_operand_type |
| BufferDesc, BufferRole | the dimensions and roles of allocate, buffer_role |
| TokenValuePair | hint |
| OptionalTimePoint, OptionalTimeoutDuration | u64 nanoseconds, NNHAL_NO_TIME for none |
| MeasureTiming | bool |
| ErrorStatus, DeviceType, ExecutionPreference, Priority | error_status, device_type, preference, \
priority |
| OperandType, OperationType, OperandLifeTime, FusedActivationFunc | operand_type, operation_type, \
operand_lifetime, fused_activation |
"""

WIRE = """\
## On the wire

A message is the body of one packet (`packet_header`), with the descriptors that belong to it; a body
that does not fit 64 KiB lies in a sealed memfd. Numbers are little-endian, fields stand in the order
of their declaration, without padding.

| type | bytes | what decodes |
|---|---|---|
| u8, u16, u32, i32, u64, i64 | 1, 2, 4, 4, 8, 8 | any number |
| f32 | 4 | any bits |
| bool | 4 | 0, 1 |
| count | 4 | at most its limit, and what the bytes that are left can hold |
| reserved | 4 | 0 |
| enum | 4 | one of its values; of an open one, any number |
| id | 8 | any number; unknown ids are the host's to refuse |
| fd | 4 | the place of the next descriptor of the packet, from 0 |
| fd? | 4 | the same, or 0xffffffff for none |
| string | 4 + n | the length, at most its limit, then as many bytes, none of them 0 |
| string? | 4 (+ n) | the same, or 0xffffffff for none |
| bytes | 4 + n | the size, at most its limit, then as many bytes |
| T[n] | | n of them, one after the other |

A message has one form only: what decodes encodes to the same bytes. Bytes or descriptors left over,
and anything that the table does not list, end the connection. The reply of a method that failed is
the struct `failure`.

"""


def text(lines):
    return " ".join(line for line in lines if line)


def cell(lines):
    return text(lines).replace("|", "\\|")


def type_of(item):
    suffix = f"[{item.array}]" if item.array else ""
    return f"{item.type}{suffix}"


def since_of(item, container):
    out = str(item.since) if item.since != container else ""
    return out + (f" (minor {item.minor})" if getattr(item, "minor", 0) else "")


def fields(struct):
    out = ["| field | type | limit | since | |", "|---|---|---|---|---|"]
    for item in struct.fields:
        out.append(f"| {item.name} | {type_of(item)} | {item.limit or ''} | "
                   f"{since_of(item, struct.since)} | {cell(item.note)} |")
    return out + [""]


def constant_rows(items):
    out = ["## Limits and constants", "",
           "What goes beyond a limit is refused where it is decoded, before anything is allocated.",
           "", "| name | value | |", "|---|---|---|"]
    out += [f"| {i.name} | {i.value_text} | {cell(i.note)} |" for i in items]
    return out + [""]


def enum(item):
    kind = "open enum" if item.is_open else "enum"
    out = [f"### {kind} {item.name}", ""]
    if item.prose:
        out += [text(item.prose), ""]
    out += ["| value | | since | |", "|---|---|---|---|"]
    out += [f"| {v.name} | {v.value} | {since_of(v, item.since)} | {cell(v.note)} |"
            for v in item.legal()]
    return out + [""]


def struct(item):
    out = [f"### struct {item.name}", "", f"Since {item.since}. {text(item.prose)}".rstrip(), ""]
    return out + fields(item)


def union(item):
    out = [f"### union {item.name}", "",
           f"Since {item.since}, {item.size} bytes. {text(item.prose)}".rstrip(), "",
           "| kind | | holds |", "|---|---|---|"]
    for member in item.members:
        holds = ", ".join(f"{f.type} {f.name}" for f in member.fields if f.type != "reserved")
        out.append(f"| {member.name} | {member.value} | {holds} |")
    return out + [""]


def introduction(member):
    minor = f", minor {member.minor}" if member.minor else ""
    return f"Since {member.since}{minor}. {text(member.prose)}".rstrip()


def members(interface):
    out = []
    for member in interface.members:
        if isinstance(member, tree.Method):
            out += [f"### {member.number} {member.name}", "", introduction(member), ""]
            out += [text(member.args.prose), ""] if member.args.prose else []
            out += ["Arguments:", "", *fields(member.args)]
            out += [text(member.reply.prose), ""] if member.reply.prose else []
            also = f" (also with {member.also})" if member.also else ""
            out += [f"Reply{also}:", "", *fields(member.reply)]
        elif isinstance(member, tree.Event):
            out += [f"### event {member.number} {member.name}", "", introduction(member), "",
                    *fields(member.value)]
    return out


def page(linked):
    major, minor = linked.files[0].major, linked.files[0].minor
    out = ["<!-- SPDX-License-Identifier: Apache-2.0 -->",
           "<!-- generated by hal/halgen.py from the .hal files -->",
           "# The driver HAL", "",
           f"Version {major}.{minor} of the wire. `hal/*.hal` declare it, `include/nnhal/types.h` and "
           "`src/hal/hal.h` are its C form.",
           "\"Since\" is the feature level that first has a thing: 27 to 31 are Android 8.1 to 12, "
           "1000006 and up the later ones.",
           "The runtime sends a driver nothing newer than the level it declares.", "",
           "## Android's names and ours", "", ANDROID, WIRE.rstrip(), ""]
    items = [i for f in linked.files for i in f.items]
    out += constant_rows([i for i in items if isinstance(i, tree.Constant)])
    out += ["## Types", ""]
    makers = ((tree.Enum, enum), (tree.Struct, struct), (tree.Union, union))
    for item in items:
        for kind, maker in makers:
            if isinstance(item, kind):
                out += maker(item)
    failure = next((s for s in linked.messages if s.name == "failure"), None)
    out += struct(failure) if failure else []
    for item in items:
        if isinstance(item, tree.Interface):
            out += [f"## {item.name}", "", *members(item)]
    return "\n".join(out).rstrip() + "\n"
