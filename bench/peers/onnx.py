# SPDX-License-Identifier: Apache-2.0
"""A writer of ONNX models: nodes, initializers, inputs and outputs, as one protobuf message.

Field numbers are those of onnx.proto3; the standard library is enough to write them."""

import struct

FLOAT, UINT8, INT8, INT32, INT64 = 1, 2, 3, 6, 7
OPSET, MICROSOFT_OPSET, IR_VERSION = 13, 1, 7


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    """An int, a float, a string or a list of ints."""
    if isinstance(value, float):
        body = varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    elif isinstance(value, int):
        body = number(3, value) + number(20, 2)
    elif isinstance(value, str):
        body = block(4, value) + number(20, 3)
    else:
        body = b"".join(number(8, v) for v in value) + number(20, 7)
    return block(1, name) + body


def value_info(name, kind, dims):
    shape = b"".join(block(1, number(1, d)) for d in dims)
    return block(1, name) + block(2, block(1, number(1, kind) + block(2, shape)))


class Model:
    """Collects the parts of a graph."""

    def __init__(self):
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.n_made = 0

    def name(self):
        self.n_made += 1
        return f"v{self.n_made}"

    def node(self, op, inputs, output=None, domain="", **attributes):
        """Returns the name of its output."""
        output = output or self.name()
        body = b"".join(block(1, i) for i in inputs) + block(2, output) + block(4, op)
        body += b"".join(block(5, attribute(k, v)) for k, v in attributes.items())
        self.nodes.append(body + (block(7, domain) if domain else b""))
        return output

    def constant(self, kind, dims, data):
        name = self.name()
        body = b"".join(number(1, d) for d in dims) + number(2, kind)
        self.initializers.append(body + block(8, name) + block(9, bytes(data)))
        return name

    def scalar(self, kind, value):
        formats = {FLOAT: "<f", UINT8: "<B", INT8: "<b", INT32: "<i", INT64: "<q"}
        return self.constant(kind, [], struct.pack(formats[kind], value))

    def ints(self, values):
        return self.constant(INT64, [len(values)], struct.pack(f"<{len(values)}q", *values))

    def write(self, path):
        graph = b"".join(block(1, n) for n in self.nodes) + block(2, "layers")
        graph += b"".join(block(5, i) for i in self.initializers)
        graph += b"".join(block(11, value_info(*i)) for i in self.inputs)
        graph += b"".join(block(12, value_info(*o)) for o in self.outputs)
        model = number(1, IR_VERSION) + block(2, "nnhal") + block(7, graph)
        model += block(8, block(1, "") + number(2, OPSET))
        model += block(8, block(1, "com.microsoft") + number(2, MICROSOFT_OPSET))
        path.write_bytes(model)

    def describe(self):
        """Inputs and outputs as the program ort reads them."""
        return ",".join(f"{mark}{name}:{kind}:{'x'.join(map(str, dims))}"
                        for mark, some in (("<", self.inputs), (">", self.outputs))
                        for name, kind, dims in some)
