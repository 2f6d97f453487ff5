# SPDX-License-Identifier: Apache-2.0
"""Writes files of conformance vectors: small ones, made for tests of their runner."""

import struct
import zlib

FLOAT32, INT32 = 0, 1
TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8, TENSOR_BOOL8 = 3, 4, 5, 9
TENSOR_FLOAT16, TENSOR_PER_CHANNEL, SUBGRAPH = 8, 11, 15

INTERNAL, INPUT, OUTPUT, COPY, MEMORY, NO_VALUE, REFERENCE = range(7)

RELAXED, EXPECT_FAILURE, INFINITE_LOOP, NO_DYNAMIC_OUTPUT, QUANT_COUPLING = 1, 2, 4, 8, 16
IGNORED, EXPECTED, OMITTED_INPUT = 1, 2, 4

ADD, RELU, DEQUANTIZE, TRANSPOSE, LESS, IF, WHILE = 0, 19, 6, 37, 58, 96, 97


def floats(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def ints(*numbers):
    return struct.pack(f"<{len(numbers)}i", *numbers)


class Operand:
    def __init__(self, kind, lifetime, dimensions=(), data=b"", flags=0, scale=0.0, zero_point=0,
                 channel_dim=0, scales=()):
        self.kind, self.lifetime, self.dimensions = kind, lifetime, tuple(dimensions)
        self.data, self.flags, self.scale, self.zero_point = data, flags, scale, zero_point
        self.channel_dim, self.scales = channel_dim, tuple(scales)


class Graph:
    """Operands, and operations as (code, inputs, outputs)."""

    def __init__(self, operands, operations):
        self.operands, self.operations = operands, operations

    def indexes(self, lifetime):
        return [i for i, operand in enumerate(self.operands) if operand.lifetime == lifetime]


class Model:
    def __init__(self, name, graphs, flags=0, quant8_tolerance=1):
        self.name, self.graphs, self.flags = name, graphs, flags
        self.quant8_tolerance = quant8_tolerance


def _string(text):
    raw = text.encode()
    return raw + b"\0" * (4 - len(raw) % 4)


def _operand(operand, data):
    while len(data) % 4:
        data.append(0)
    offset = len(data) if operand.data else 0
    data += operand.data
    return (struct.pack("<4IfiIIIII", operand.kind, operand.lifetime, operand.flags, 0,
                        operand.scale, operand.zero_point, offset, len(operand.data),
                        operand.channel_dim, len(operand.scales), len(operand.dimensions)) +
            struct.pack(f"<{len(operand.dimensions)}I", *operand.dimensions) +
            floats(*operand.scales))


def _words(numbers):
    return struct.pack(f"<{len(numbers)}I", *numbers)


def _graph(graph, data):
    inputs, outputs = graph.indexes(INPUT), graph.indexes(OUTPUT)
    text = _words([len(graph.operands), len(graph.operations), len(inputs), len(outputs)])
    for operand in graph.operands:
        text += _operand(operand, data)
    for code, ins, outs in graph.operations:
        text += _words([code, len(ins), len(outs), *ins, *outs])
    return text + _words(inputs) + _words(outputs)


def _model(model, data):
    name, source = model.name, "test/made"
    text = struct.pack("<IIfIIIII", model.flags, 1, 0.0, model.quant8_tolerance, 0xFFFFFFFF,
                       len(model.graphs), len(name), len(source))
    text += _string(name) + _string(source)
    for graph in model.graphs:
        text += _graph(graph, data)
    return struct.pack("<I", len(text) + 4) + text


def pack(models):
    """The bytes of a file."""
    data = bytearray()
    area = b"".join(_model(model, data) for model in models)
    return seal(b"NNTVEC1\n" + struct.pack("<8I", 1, len(models), 40, len(area), 40 + len(area),
                                           len(data), 0, 0) + area + bytes(data))


def seal(raw):
    """The same file with the checksum that its contents have."""
    return raw[:32] + struct.pack("<I", zlib.crc32(raw[40:])) + raw[36:]
