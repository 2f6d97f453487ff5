# SPDX-License-Identifier: Apache-2.0
"""Models with their inputs and expected outputs, in the .nnt vector format.

Model is a builder for one model; write() puts many of them into one file that
build/nnt reads. Numbers are little-endian; the format has two areas, the
models and the data that their operands point into.
"""

import re
import struct
import zlib
from pathlib import Path

FLOAT32, INT32, UINT32, F32, I32, Q8, BOOL, Q16Y, F16, B8, FLOAT16, QPC, Q16A, Q8Y, Q8S, SUBGRAPH = range(16)

# Of nnhal.tflite: in a file, types and operations of the extension have the prefix 1.
EXTENSION = 1 << 16
I64 = EXTENSION

# struct codes of one element
ELEMENT = {FLOAT32: 'f', INT32: 'i', UINT32: 'I', F32: 'f', I32: 'i', Q8: 'B', BOOL: '?', Q16Y: 'h',
           F16: 'e', B8: 'B', FLOAT16: 'e', QPC: 'b', Q16A: 'H', Q8Y: 'b', Q8S: 'b', SUBGRAPH: 'I', I64: 'q'}
SCALARS = (FLOAT32, INT32, UINT32, BOOL, FLOAT16, SUBGRAPH)

INTERNAL, INPUT, OUTPUT, CONST_COPY, CONST_MEMORY, NO_VALUE, SUBGRAPH_VALUE = range(7)

IGNORED, EXPECTED, OMITTED_INPUT = 1, 2, 4
RELAXED, EXPECT_FAILURE, NO_DYNAMIC_OUTPUT, QUANT_COUPLING, DEVICE_MEMORY = (1 << n for n in (0, 1, 3, 4, 5))
HAS_EXPECTED, FP16, MULTI_OP = 1 << 7, 1 << 8, 1 << 9
CONTROL_FLOW = 1 << 13
SUBGRAPH = 15

MAGIC = b'NNTVEC1\n'
GRAPH = 0xffffffff

ROOT = Path(__file__).resolve().parents[2]

# The codes are the contract's: what a new operation is called stands in hal/types.hal alone, and
# what one of nnhal.tflite is called in its header. TFLITE_ROUND is the extension's ROUND.
CODES = {name: int(code) for name, code in
         re.findall(r'^ +OP_(\w+) = (\d+)(?: since \d+)?;$',
                    (ROOT / 'hal/types.hal').read_text(encoding='utf-8'), re.M)
         if name != 'OEM_OPERATION'}
CODES |= {'TFLITE_' + name: EXTENSION | int(code) for name, code in
          re.findall(r'^    NNHAL_TFLITE_(\w+) = (\d+),$',
                     (ROOT / 'include/nnhal/tflite-extension.h').read_text(encoding='utf-8'), re.M)
          if name not in ('TENSOR_INT64', 'OPERAND_TYPE_N', 'OPERATION_N')}
# These have other forms for signed operands, or none.
UNCOUPLED = {CODES[name] for name in ('HASHTABLE_LOOKUP', 'LSH_PROJECTION', 'PAD_V2', 'CAST', 'QUANTIZED_16BIT_LSTM')}
OPERATIONS = sorted(CODES, key=CODES.get)


def pack(type_, values):
    """The bytes of elements; float16 beyond its range becomes infinite."""
    code = ELEMENT[type_]
    if code == 'e':
        return b''.join(_pack_f16(v) for v in values)
    return struct.pack('<%d%s' % (len(values), code), *values)


def _pack_f16(value):
    try:
        return struct.pack('<e', value)
    except OverflowError:
        return struct.pack('<e', float('inf') if value > 0 else float('-inf'))


class Operand:
    def __init__(self, type_, lifetime, dims=(), scale=0.0, zero_point=0, data=b'', flags=0,
                 channel_dim=0, channel_scales=()):
        self.type, self.lifetime, self.dims = type_, lifetime, list(dims)
        self.scale, self.zero_point = scale, zero_point
        self.data, self.flags, self.uses = data, flags, 0
        self.channel_dim, self.channel_scales = channel_dim, list(channel_scales)

    def encode(self, data_area):
        offset = data_area.add(self.data) if self.data else 0
        head = struct.pack('<4IfiIIIII', self.type, self.lifetime, self.flags, self.uses, self.scale,
                           self.zero_point, offset, len(self.data), self.channel_dim,
                           len(self.channel_scales), len(self.dims))
        return (head + struct.pack('<%dI' % len(self.dims), *self.dims)
                + struct.pack('<%df' % len(self.channel_scales), *self.channel_scales))


class Model:
    """One model: its main subgraph, operands in the order of operand(), and those it refers to,
    which are Models too."""

    def __init__(self, name, flags=0, quant_tolerance=0, primary=GRAPH):
        self.name, self.flags, self.quant_tolerance = name, flags, quant_tolerance
        self.primary = primary
        self.operands, self.operations, self.referenced = [], [], []

    def operand(self, operand):
        self.operands.append(operand)
        return len(self.operands) - 1

    def operation(self, name, inputs, outputs):
        for i in inputs:
            self.operands[i].uses += 1
        self.operations.append((CODES[name], list(inputs), list(outputs)))

    def refer(self, model):
        """An operand that stands for a referenced model."""
        self.referenced.append(model)
        number = struct.pack('<I', len(self.referenced) - 1)
        return self.operand(Operand(SUBGRAPH, SUBGRAPH_VALUE, data=number))

    def _numbers(self, lifetime):
        return [i for i, o in enumerate(self.operands) if o.lifetime == lifetime]

    def _is_coupled(self):
        """Whether the same model with signed operands must have the same results."""
        return (any(o.type == Q8 for o in self.operands) and not self.referenced
                and all(code < EXTENSION and code not in UNCOUPLED for code, _, _ in self.operations))

    def _all_flags(self):
        flags = self.flags
        if any(o.flags & EXPECTED for o in self.operands):
            flags |= HAS_EXPECTED
        if any(o.type == F16 for o in self.operands):
            flags |= FP16
        if len(self.operations) > 1:
            flags |= MULTI_OP
        if self.referenced:
            flags |= CONTROL_FLOW | NO_DYNAMIC_OUTPUT
        arguments = [o for o in self.operands if o.lifetime in (INPUT, OUTPUT)]
        if all(o.type < EXTENSION and (o.data or o.lifetime == INPUT) for o in arguments):
            flags |= DEVICE_MEMORY
        if self._is_coupled():
            flags |= QUANT_COUPLING
        return flags

    def _subgraph(self, data_area):
        inputs, outputs = self._numbers(INPUT), self._numbers(OUTPUT)
        parts = [struct.pack('<4I', len(self.operands), len(self.operations), len(inputs), len(outputs))]
        parts += [o.encode(data_area) for o in self.operands]
        for code, ins, outs in self.operations:
            parts.append(struct.pack('<3I', code, len(ins), len(outs)))
            parts.append(struct.pack('<%dI' % (len(ins) + len(outs)), *ins, *outs))
        parts.append(struct.pack('<%dI' % (len(inputs) + len(outputs)), *inputs, *outputs))
        return b''.join(parts)

    def encode(self, data_area):
        name, source = self.name.encode(), ('AIDL_V3/' + self.name).encode()
        body = struct.pack('<IIfIIIII', self._all_flags(), 7, 0.0, self.quant_tolerance, self.primary,
                           1 + len(self.referenced), len(name), len(source))
        body += _terminated(name) + _terminated(source)
        body += b''.join(m._subgraph(data_area) for m in [self, *self.referenced])
        return struct.pack('<I', len(body) + 4) + body


def _terminated(text):
    return text + b'\0' * (4 - len(text) % 4)


class DataArea:
    """Pieces of data at multiples of 4, equal ones stored once."""

    def __init__(self):
        self.bytes, self.known = bytearray(), {}

    def add(self, data):
        if data not in self.known:
            self.known[data] = len(self.bytes)
            self.bytes += data + b'\0' * (-len(data) % 4)
        return self.known[data]


def write(path, models):
    area = DataArea()
    model_area = b''.join(m.encode(area) for m in models)
    rest = model_area + bytes(area.bytes)
    with open(path, 'wb') as file:
        file.write(MAGIC + struct.pack('<8I', 1, len(models), 40, len(model_area), 40 + len(model_area),
                                       len(area.bytes), zlib.crc32(rest), 0) + rest)
