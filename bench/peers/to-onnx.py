#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layers of a .tflite model as an ONNX model, for ONNX Runtime.

    to-onnx.py MODEL.tflite MODEL.onnx
    to-onnx.py --class MODEL.tflite

The second form prints float, uint8 or int8: what most of the model's values are. The first prints its inputs and outputs as bench/peers/ort.c reads them. The same layers with the same shapes,
weights and quantizations, in the layout of ONNX, [N,C,H,W]. Data of int8 becomes uint8, codes 128
higher, with weights of int8: the form that ONNX Runtime is fast with. Clamping by a fused activation
of 8 bits is left to the range of the codes, as quantized ONNX models do it. A last operation without
a counterpart is left out: post-processing at the end of a detector. flatc (Debian's
flatbuffers-compiler) reads the .tflite file.
"""

import array
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

SCHEMA = Path(__file__).resolve().parents[2] / "src" / "tflite" / "schema.fbs"
KINDS = {"FLOAT32": onnx.FLOAT, "UINT8": onnx.UINT8, "INT8": onnx.INT8, "INT32": onnx.INT32,
         "INT64": onnx.INT64}
MICROSOFT = "com.microsoft"
NHWC_TO_NCHW = (0, 3, 1, 2)


OPSET_OF_SOFTMAX = 13
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


class NoCounterpart(Exception):
    """An operation, or a form of one, that is not written here."""


def operation_names():
    text = re.search(r"enum BuiltinOperator[^{]*\{(.*?)\}", SCHEMA.read_text(), re.S)[1]
    names, code = {}, -1
    for entry in re.sub(r"//.*", "", text).replace("\n", "").split(","):
        if entry.strip():
            name, _, value = entry.partition("=")
            code = int(value) if value else code + 1
            names[name.strip()] = code
    return names


def read_tflite(path):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["flatc", "--json", "--strict-json", "--raw-binary", "--defaults-json", "-o",
                        folder, SCHEMA, "--", path.resolve()], check=True, capture_output=True)
        return json.loads(next(Path(folder).glob("*.json")).read_text())


def transposed(data, element, dims, order):
    """Bytes of a tensor with its dimensions in another order; rank 4, the last one moves forward."""
    if order == NHWC_TO_NCHW:
        n, _, _, c = dims
        items = array.array({1: "B", 4: "I"}[element], data)
        size = len(items) // n if n else 0
        return b"".join(items[i * size + k:(i + 1) * size:c].tobytes()
                        for i in range(n) for k in range(c))
    raise ValueError(order)


class Converter:
    """One subgraph, operation by operation."""

    def __init__(self, tflite):
        names = {code: name for name, code in operation_names().items()}
        graph = tflite["subgraphs"][0]
        self.tensors, self.buffers = graph["tensors"], tflite["buffers"]
        self.operators, self.graph = graph["operators"], graph
        self.codes = [self.code(entry, names) for entry in tflite["operator_codes"]]
        self.model = onnx.Model()
        self.values = {}   # tensor: name in the model
        self.folded = {}   # tensor: bytes of a constant that an operation made
        self.weights = {operator["inputs"][1] for operator in self.operators
                        if self.name_of(operator) in WEIGHTED}

    @staticmethod
    def code(entry, names):
        known = {name: code for code, name in names.items()}
        return names[max(known.get(entry.get(key), entry.get(key) or 0)
                         if isinstance(entry.get(key), str) else entry.get(key) or 0
                         for key in ("deprecated_builtin_code", "builtin_code"))]

    def name_of(self, operator):
        return self.codes[operator.get("opcode_index", 0)]

    # -- tensors --

    def dims(self, tensor):
        return self.tensors[tensor].get("shape", [])

    def kind(self, tensor):
        name = self.tensors[tensor]["type"]
        if name == "FLOAT16" and tensor in self.folded:
            return onnx.FLOAT
        if name not in KINDS:
            raise NoCounterpart(name)
        return onnx.UINT8 if self.is_raised(tensor) else KINDS[name]

    def is_raised(self, tensor):
        """Whether int8 codes become uint8."""
        return self.tensors[tensor]["type"] == "INT8" and tensor not in self.weights

    def is_quantized(self, tensor):
        return self.kind(tensor) in (onnx.UINT8, onnx.INT8)

    def quantization(self, tensor):
        q = self.tensors[tensor].get("quantization", {})
        raised = 128 if self.is_raised(tensor) else 0
        return q.get("scale", []), [zero + raised for zero in q.get("zero_point", [0])]

    def data(self, tensor):
        """Bytes of a constant, or None."""
        if tensor in self.folded:
            return self.folded[tensor]
        data = self.buffers[self.tensors[tensor].get("buffer", 0)].get("data")
        if data and self.is_raised(tensor):
            return bytes(code ^ 0x80 for code in data)
        return bytes(data) if data else None

    def ints_of(self, tensor):
        return list(array.array("i", self.data(tensor)))

    def layout(self, dims):
        return [dims[i] for i in NHWC_TO_NCHW] if len(dims) == 4 else dims

    def value(self, tensor):
        """The name of a tensor, in ONNX's layout."""
        if tensor not in self.values:
            data = self.data(tensor)
            if data is None:
                raise NoCounterpart("a tensor without a value")
            dims = self.dims(tensor)
            if len(dims) == 4:
                data = transposed(data, 1 if self.is_quantized(tensor) else 4, dims, NHWC_TO_NCHW)
            self.values[tensor] = self.model.constant(self.kind(tensor), self.layout(dims), data)
        return self.values[tensor]

    def scales(self, tensor):
        """[scale, zero point] of a tensor, as constants; lists for one that is per channel."""
        scale, zero = self.quantization(tensor)
        kind = self.kind(tensor)
        if len(scale) > 1:
            return [self.model.constant(onnx.FLOAT, [len(scale)],
                                        struct.pack(f"<{len(scale)}f", *scale)),
                    self.model.constant(kind, [len(scale)], bytes(len(scale)))]
        return [self.model.scalar(onnx.FLOAT, scale[0]), self.model.scalar(kind, zero[0])]

    def argument(self, tensor):
        """What QLinear operations take of a tensor."""
        return [self.value(tensor), *self.scales(tensor)]

    # -- results --

    def activated(self, options, name):
        kind = options.get("fused_activation_function", "NONE")
        if kind == "RELU":
            return self.model.node("Relu", [name])
        if kind == "RELU6":
            return self.model.node("Clip", [name, self.model.scalar(onnx.FLOAT, 0.0),
                                            self.model.scalar(onnx.FLOAT, 6.0)])
        if kind != "NONE":
            raise NoCounterpart(kind)
        return name

    def pads(self, options, source, result, filter_sizes):
        """Of a window, as ONNX has them: top, left, bottom, right."""
        if options["padding"] != "SAME":
            return [0, 0, 0, 0]
        begins, ends = [], []
        for axis, (size, letter) in enumerate(zip(filter_sizes, "hw")):
            stride = options[f"stride_{letter}"]
            reach = (size - 1) * options.get(f"dilation_{letter}_factor", 1) + 1
            total = max((self.dims(result)[axis + 1] - 1) * stride + reach
                        - self.dims(source)[axis + 1], 0)
            begins.append(total // 2)
            ends.append(total - total // 2)
        return begins + ends

    # -- operations: each gets its inputs, outputs and options --

    def convolution(self, inputs, outputs, options, group):
        source, filters, bias = inputs
        out_dims, filter_dims = self.dims(outputs[0]), self.dims(filters)
        attributes = {
            "strides": [options["stride_h"], options["stride_w"]],
            "dilations": [options["dilation_h_factor"], options["dilation_w_factor"]],
            "pads": self.pads(options, source, outputs[0], filter_dims[1:3]), "group": group}
        data = self.data(filters)
        if data is None:
            raise NoCounterpart("a filter that is not constant")
        element = 1 if self.is_quantized(filters) else 4
        weights = transposed(data, element, filter_dims, NHWC_TO_NCHW)
        dims = [out_dims[3], filter_dims[3] if group == 1 else 1, *filter_dims[1:3]]
        weights = self.model.constant(self.kind(filters), dims, weights)
        if not self.is_quantized(source):
            name = self.model.node("Conv", [self.value(source), weights, self.value(bias)],
                                   **attributes)
            return self.activated(options, name)
        return self.model.node("QLinearConv", [*self.argument(source), weights,
                                               *self.scales(filters), *self.scales(outputs[0]),
                                               self.value(bias)], **attributes)

    def conv_2d(self, inputs, outputs, options):
        return self.convolution(inputs, outputs, options, 1)

    def depthwise_conv_2d(self, inputs, outputs, options):
        return self.convolution(inputs, outputs, options, self.dims(inputs[0])[3])

    def fully_connected(self, inputs, outputs, options):
        source, weights, bias = (inputs + [-1])[:3]
        name, (columns, k) = self.value(source), self.dims(weights)
        if len(self.dims(source)) != 2 or self.dims(source)[1] != k:
            name = self.model.node("Reshape", [name, self.model.ints([-1, k])])
        if not self.is_quantized(source):
            terms = [name, self.value(weights)] + ([self.value(bias)] if bias >= 0 else [])
            return self.activated(options, self.model.node("Gemm", terms, transB=1))
        bias = self.value(bias) if bias >= 0 else self.model.constant(onnx.INT32, [columns],
                                                                      bytes(4 * columns))
        return self.model.node("QGemm", [name, *self.scales(source), *self.argument(weights), bias,
                                         *self.scales(outputs[0])], domain=MICROSOFT, transB=1)

    def binary(self, inputs, outputs, options, op):
        if self.is_quantized(inputs[0]):
            return self.model.node(f"QLinear{op}", [*self.argument(inputs[0]),
                                                    *self.argument(inputs[1]),
                                                    *self.scales(outputs[0])], domain=MICROSOFT)
        return self.activated(options, self.model.node(op, [self.value(i) for i in inputs]))

    def add(self, inputs, outputs, options):
        return self.binary(inputs, outputs, options, "Add")

    def mul(self, inputs, outputs, options):
        return self.binary(inputs, outputs, options, "Mul")

    def batch_matmul(self, inputs, _outputs, options):
        if self.is_quantized(inputs[0]) or len(self.dims(inputs[0])) == 4 or options.get("adj_x"):
            raise NoCounterpart("BATCH_MATMUL of this form")
        names = [self.value(i) for i in inputs]
        if options.get("adj_y"):
            rank = len(self.dims(inputs[1]))
            order = list(range(rank - 2)) + [rank - 1, rank - 2]
            names[1] = self.model.node("Transpose", [names[1]], perm=order)
        return self.model.node("MatMul", names)

    def pool(self, inputs, outputs, options, op):
        sizes = [options["filter_height"], options["filter_width"]]
        attributes = {"kernel_shape": sizes, "strides": [options["stride_h"], options["stride_w"]],
                      "pads": self.pads(options, inputs[0], outputs[0], sizes)}
        if op == "AveragePool" and self.is_quantized(inputs[0]):
            return self.model.node("QLinearAveragePool", [*self.argument(inputs[0]),
                                                          *self.scales(outputs[0])],
                                   domain=MICROSOFT, **attributes)
        return self.activated(options, self.model.node(op, [self.value(inputs[0])], **attributes))

    def average_pool_2d(self, inputs, outputs, options):
        return self.pool(inputs, outputs, options, "AveragePool")

    def max_pool_2d(self, inputs, outputs, options):
        return self.pool(inputs, outputs, options, "MaxPool")

    def mean(self, inputs, outputs, options):
        if sorted(self.ints_of(inputs[1])) != [1, 2] or len(self.dims(inputs[0])) != 4:
            raise NoCounterpart("MEAN of other axes")
        if self.is_quantized(inputs[0]):
            name = self.model.node("QLinearGlobalAveragePool", [*self.argument(inputs[0]),
                                                                *self.scales(outputs[0])],
                                   domain=MICROSOFT)
        else:
            name = self.model.node("GlobalAveragePool", [self.value(inputs[0])])
        if options.get("keep_dims"):
            return name
        return self.model.node("Reshape", [name, self.model.ints(self.dims(outputs[0]))])

    def reshape(self, inputs, outputs, _options):
        name, dims = self.value(inputs[0]), self.dims(inputs[0])
        out_dims = self.dims(outputs[0])
        if len(dims) == 4 and dims[3] > 1 and dims[1] * dims[2] > 1:
            name = self.model.node("Transpose", [name], perm=[0, 2, 3, 1])
        name = self.model.node("Reshape", [name, self.model.ints(out_dims)])
        if len(out_dims) == 4 and out_dims[3] > 1 and out_dims[1] * out_dims[2] > 1:
            return self.model.node("Transpose", [name], perm=list(NHWC_TO_NCHW))
        if len(out_dims) == 4:
            return self.model.node("Reshape", [name, self.model.ints(self.layout(out_dims))])
        return name

    squeeze = reshape

    def concatenation(self, inputs, outputs, options):
        axis = options["axis"] % len(self.dims(outputs[0]))
        axis = NHWC_TO_NCHW.index(axis) if len(self.dims(outputs[0])) == 4 else axis
        if not self.is_quantized(inputs[0]):
            return self.model.node("Concat", [self.value(i) for i in inputs], axis=axis)
        terms = [name for i in inputs for name in self.argument(i)]
        return self.model.node("QLinearConcat", [*self.scales(outputs[0]), *terms],
                               domain=MICROSOFT, axis=axis)

    def unary(self, inputs, outputs, op, **attributes):
        if not self.is_quantized(inputs[0]):
            return self.model.node(op, [self.value(inputs[0])], **attributes)
        return self.model.node(f"QLinear{op}", [*self.argument(inputs[0]),
                                                *self.scales(outputs[0])], domain=MICROSOFT,
                               **attributes)

    def softmax(self, inputs, outputs, _options):
        rank = len(self.dims(inputs[0]))
        if self.is_quantized(inputs[0]):
            return self.unary(inputs, outputs, "Softmax", axis=rank - 1, opset=OPSET_OF_SOFTMAX)
        return self.unary(inputs, outputs, "Softmax", axis=1 if rank == 4 else rank - 1)

    def logistic(self, inputs, outputs, _options):
        return self.unary(inputs, outputs, "Sigmoid")

    def relu(self, inputs, _outputs, _options):
        if self.is_quantized(inputs[0]):
            raise NoCounterpart("RELU of codes")
        return self.model.node("Relu", [self.value(inputs[0])])

    def tanh(self, inputs, _outputs, _options):
        if self.is_quantized(inputs[0]):
            raise NoCounterpart("TANH of codes")
        return self.model.node("Tanh", [self.value(inputs[0])])

    def prelu(self, inputs, _outputs, _options):
        slope = self.model.constant(onnx.FLOAT, [self.dims(inputs[1])[-1], 1, 1],
                                    self.data(inputs[1]))
        return self.model.node("PRelu", [self.value(inputs[0]), slope])

    def pad(self, inputs, _outputs, _options):
        pads = self.ints_of(inputs[1])
        if len(pads) != 8 or self.is_quantized(inputs[0]):
            raise NoCounterpart("PAD of this form")
        sides = [[pads[2 * axis + side] for axis in NHWC_TO_NCHW] for side in (0, 1)]
        return self.model.node("Pad", [self.value(inputs[0]), self.model.ints(sides[0] + sides[1])])

    def dequantize(self, inputs, outputs, _options):
        data = self.data(inputs[0])
        if self.tensors[inputs[0]]["type"] == "FLOAT16" and data is not None:
            halves = struct.unpack(f"<{len(data) // 2}e", data)
            self.folded[outputs[0]] = struct.pack(f"<{len(halves)}f", *halves)
            return None
        return self.model.node("DequantizeLinear", self.argument(inputs[0]))

    def quantize(self, inputs, outputs, _options):
        name = self.value(inputs[0])
        if self.is_quantized(inputs[0]):
            name = self.model.node("DequantizeLinear", self.argument(inputs[0]))
        return self.model.node("QuantizeLinear", [name, *self.scales(outputs[0])])

    # -- the graph --

    def convert(self):
        for tensor in self.graph["inputs"]:
            self.values[tensor] = f"in{tensor}"
            self.model.inputs.append((f"in{tensor}", self.kind(tensor),
                                      self.layout(self.dims(tensor))))
        read, made = set(), []
        for operator in self.operators:
            name = self.name_of(operator)
            method = getattr(self, name.lower(), None)
            inputs, outputs = operator["inputs"], operator["outputs"]
            try:
                if not method:
                    raise NoCounterpart(name)
                result = method(inputs, outputs, operator.get("builtin_options") or {})
            except NoCounterpart as why:
                if not made or operator is not self.operators[-1]:
                    raise
                print(f"left out at the end: {why}", file=sys.stderr)
                break
            read.update(inputs)
            if result is not None:
                self.values[outputs[0]] = result
                made.append(outputs[0])
        for tensor in made:
            if tensor not in read:
                self.model.outputs.append((self.values[tensor], self.kind(tensor),
                                           self.layout(self.dims(tensor))))
        return self.model


def class_of(tflite):
    types = [tensor.get("type", "FLOAT32") for tensor in tflite["subgraphs"][0]["tensors"]]
    counts = {kind: types.count(name) for kind, name in
              (("float", "FLOAT32"), ("uint8", "UINT8"), ("int8", "INT8"))}
    return max(counts, key=counts.get)


def main(source, target):
    if source == "--class":
        tflite = read_tflite(Path(target))
        print(class_of(tflite), len(tflite["subgraphs"][0]["operators"]))
        return 0
    try:
        model = Converter(read_tflite(Path(source))).convert()
    except NoCounterpart as why:
        print(f"{source}: no counterpart in ONNX here: {why}", file=sys.stderr)
        return 1
    model.write(Path(target))
    print(model.describe())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
