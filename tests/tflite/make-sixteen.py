#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes .tflite files of the operators that have 16-bit activations.

    make-sixteen.py FLATC MODEL_SCHEMA FOLDER

FOLDER/sixteen.tflite has each operator of the extension in each of its forms (not UNPACK, SQUEEZE and
EXPAND_DIMS, which become others of them), side by side on one image of 16 bits: what it gives can be compared bit by bit. Weights, biases and scales are random, and always the same.
FOLDER/sixteen-refused.tflite has what is not taken, and a DEQUANTIZE of each result.
"""

import sys

import net as network

IMAGE = [1, 6, 5, 4]
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6")
# The numbers of the operators, and the versions that have 16 bits.
OPERATORS = {
    "ADD": (0, 3), "CONCATENATION": (2, 3), "CONV_2D": (3, 5), "DEPTHWISE_CONV_2D": (4, 5), "DEQUANTIZE": (6, 3),
    "FULLY_CONNECTED": (9, 7), "LOGISTIC": (14, 3), "MUL": (18, 4), "RESHAPE": (22, 1), "SOFTMAX": (25, 3),
    "TANH": (28, 3), "PAD": (34, 3), "TRANSPOSE": (39, 4), "SUB": (41, 5), "STRIDED_SLICE": (45, 4),
    "SPLIT": (49, 4), "TRANSPOSE_CONV": (67, 3), "LEAKY_RELU": (98, 2), "QUANTIZE": (114, 2),
}


def arithmetic(net, image, row):
    other = net.tensor(IMAGE, scale=2.3e-3)
    net.add("ADD", [image, row], [other], "Add")  # may shift, but no scale is a power of two
    for name in ("ADD", "SUB", "MUL"):
        options = {} if name == "MUL" else {"pot_scale_int16": False}
        for activation, second in zip(ACTIVATIONS, (other, row, row, other)):
            net.add(name, [image, second], [net.tensor(IMAGE, scale=net.scale(1e-3, 1e-2))], name.capitalize(),
                    fused_activation_function=activation, **options)
    powers = [net.tensor(IMAGE, scale=2**-exponent) for exponent in (8, 9)]
    for power in powers:
        net.add("QUANTIZE", [image], [power], "Quantize")
    for name in ("ADD", "SUB"):
        net.add(name, powers, [net.tensor(IMAGE, scale=2**-7)], name.capitalize(), pot_scale_int16=False)


def functions(net, image):
    for scale in (1e-3, 5e-3):
        net.add("LEAKY_RELU", [image], [net.tensor(IMAGE, scale=scale)], "LeakyRelu", alpha=0.3)
    for scale, type_ in ((3e-3, "INT16"), (4e-4, "INT16"), (0.2, "INT8")):
        net.add("QUANTIZE", [image], [net.tensor(IMAGE, type_, scale)], "Quantize")
    net.add("DEQUANTIZE", [image], [net.tensor(IMAGE, "FLOAT32")], "Dequantize")
    # In a form of its own each: by a table, and with 12 or 11 bits of fraction, or nearly so, without one.
    for scale in (7e-4, 2**-12, 2**-11, 2**-12 * 1.0003, 2**-11 * 0.9995, 2**-11 * 1.001):
        scaled = net.tensor(IMAGE, scale=scale)
        net.add("QUANTIZE", [image], [scaled], "Quantize")
        for name in ("LOGISTIC", "TANH"):
            net.add(name, [scaled], [net.tensor(IMAGE, scale=2**-15)])
    for beta in (1.0, 0.25):
        net.add("SOFTMAX", [image], [net.tensor(IMAGE, scale=2**-15)], "Softmax", beta=beta)


def moves(net, image, scale):
    def same(*shape):
        return net.tensor(list(shape), scale=scale)
    net.add("RESHAPE", [image, net.integers(6, 20)], [same(6, 20)], "Reshape", new_shape=[6, 20])
    net.add("TRANSPOSE", [image, net.integers(0, 3, 1, 2)], [same(1, 4, 6, 5)], "Transpose")
    padding = net.tensor([4, 2], "INT32", values=[0, 0, 1, 2, 3, 0, 0, 1])
    net.add("PAD", [image, padding], [same(1, 9, 8, 5)], "Pad")
    net.add("CONCATENATION", [image, image, image], [same(1, 6, 15, 4)], "Concatenation", axis=2)
    net.add("SPLIT", [net.integers(1), image], [same(1, 2, 5, 4) for _ in range(3)], "Split", num_splits=3)
    slices = [net.integers(0, 5, 1, 3), net.integers(1, 0, 5, 0), net.integers(1, -2, 3, -1)]
    net.add("STRIDED_SLICE", [image, *slices], [same(1, 3, 2, 3)], "StridedSlice")


def convolutions(net, image):
    forms = (("SAME", 1, 1, "INT64"), ("VALID", 2, 1, "INT32"), ("SAME", 2, 1, "INT32"), ("VALID", 1, 2, "INT64"))
    for activation, (padding, stride, dilation, bias) in zip(ACTIVATIONS, forms):
        rows, columns = ((6, 5) if padding == "SAME" else (6 - 2 * dilation, 5 - dilation))
        shape = [1, -(-rows // stride), -(-columns // stride)]
        window = {"padding": padding, "stride_w": stride, "stride_h": stride, "dilation_w_factor": dilation,
                  "dilation_h_factor": dilation, "fused_activation_function": activation}
        scales = [net.scale(0.005, 0.1) for _ in range(8)]
        net.add("CONV_2D", [image, net.weights([7, 3, 2, 4], scales[:7]), net.bias(7, bias)],
                [net.tensor(shape + [7], scale=net.scale(1e-2, 1e-1))], "Conv2D", **window)
        net.add("DEPTHWISE_CONV_2D", [image, net.weights([1, 3, 2, 8], scales, 3), net.bias(8)],
                [net.tensor(shape + [8], scale=net.scale(1e-2, 1e-1))], "DepthwiseConv2D", depth_multiplier=2,
                **window)
    for padding, bias in (("SAME", "INT64"), ("VALID", "INT32"), ("VALID", None)):
        rows, columns = (12, 10) if padding == "SAME" else (13, 11)
        shape, scales = [1, rows, columns, 3], [net.scale(0.005, 0.1) for _ in range(3)]
        net.add("TRANSPOSE_CONV", [net.integers(*shape), net.weights([3, 3, 3, 4], scales), image]
                + ([net.bias(3, bias)] if bias else []),
                [net.tensor(shape, scale=net.scale(1e-2, 1e-1))], "TransposeConv", padding=padding,
                stride_w=2, stride_h=2)
    net.add("DEPTHWISE_CONV_2D", [image, net.weights([1, 3, 2, 4], 0.04, 3)], [net.tensor(IMAGE, scale=0.05)],
            "DepthwiseConv2D", depth_multiplier=1, stride_w=1, stride_h=1)
    one = net.weights([5, 1, 1, 4], 0.03)
    net.add("CONV_2D", [image, one, net.bias(5)], [net.tensor([1, 6, 5, 5], scale=0.02)], "Conv2D",
            stride_w=1, stride_h=1)


def dense(net, image, scale):
    for activation, bias in (("NONE", "INT64"), ("RELU", "INT32"), ("NONE", None), ("RELU_N1_TO_1", None),
                             ("RELU6", "INT64")):
        weights, units = net.scale(0.005, 0.1), 5
        inputs = [image, net.weights([units, 20], weights), -1]
        if bias:
            inputs[2] = net.tensor([units], bias, scale * weights,
                                   values=[net.rng.randint(-2**23, 2**23) for _ in range(units)])
        net.add("FULLY_CONNECTED", inputs, [net.tensor([6, units], scale=net.scale(1e-2, 1e-1))], "FullyConnected",
                fused_activation_function=activation)


def refuse(net, name, inputs, results, kind=None, **options):
    """An operator that stays with TensorFlow Lite, and a DEQUANTIZE of its results, which does not."""
    net.add(name, inputs, results, kind, **options)
    for result in results:
        net.outputs.remove(result)
        net.add("DEQUANTIZE", [result], [net.tensor(net.tensors[result]["shape"], "FLOAT32")], "Dequantize")


def refused_functions(net, reals, image, row):
    refuse(net, "LEAKY_RELU", [image], [net.tensor(IMAGE, scale=1e-3)], "LeakyRelu", alpha=-0.5)
    coarse = net.tensor(IMAGE, scale=6.0)
    net.add("QUANTIZE", [reals], [coarse], "Quantize")
    for name in ("LOGISTIC", "TANH"):
        refuse(net, name, [coarse], [net.tensor(IMAGE, scale=2**-15)])
    refuse(net, "TANH", [image], [net.tensor(IMAGE, scale=1 / 32767)])
    refuse(net, "SOFTMAX", [image], [net.tensor(IMAGE, scale=1 / 32767)], "Softmax", beta=1.0)
    refuse(net, "SOFTMAX", [row], [net.tensor([1, 70000], scale=2**-15)], "Softmax", beta=1.0)


def refused_sums(net, image, scale):
    fine = scale * 0.03 / 139
    window = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    refuse(net, "CONV_2D", [image, net.weights([5, 1, 1, 4], [0.01] * 4 + [0.03]), net.bias(5)],
           [net.tensor([1, 6, 5, 5], scale=fine)], "Conv2D", **window)
    refuse(net, "DEPTHWISE_CONV_2D", [image, net.weights([1, 3, 2, 4], 0.03, 3), net.bias(4)],
           [net.tensor(IMAGE, scale=1e-7)], "DepthwiseConv2D", depth_multiplier=1, **window)
    bias = net.tensor([5], "INT64", scale * 0.03, values=[0, 1, -1, 2**20, -2**20])
    refuse(net, "FULLY_CONNECTED", [image, net.weights([5, 20], 0.03), bias],
           [net.tensor([6, 5], scale=fine)], "FullyConnected")
    # A bias of 32 bits does not limit the scale.
    net.add("CONV_2D", [image, net.weights([5, 1, 1, 4], [0.01] * 4 + [0.03]), net.bias(5, "INT32")],
            [net.tensor([1, 6, 5, 5], scale=fine)], "Conv2D", **window)


def refused_zero_points(net, reals):
    odd, padded = (net.tensor(shape, scale=1e-3, zero_point=5) for shape in (IMAGE, [1, 9, 8, 5]))
    net.add("QUANTIZE", [reals], [odd], "Quantize")
    padding = net.tensor([4, 2], "INT32", values=[0, 0, 1, 2, 3, 0, 0, 1])
    net.add("PAD", [odd, padding], [padded], "Pad")


def make_refused():
    net, scale = network.Net(OPERATORS), 1.7e-3
    reals, image, row = net.tensor(IMAGE, "FLOAT32"), net.tensor(IMAGE, scale=scale), net.tensor([1, 70000], scale=9e-4)
    net.inputs = [reals, row]
    net.add("QUANTIZE", [reals], [image], "Quantize")
    refused_functions(net, reals, image, row)
    refused_sums(net, image, scale)
    refused_zero_points(net, reals)
    return net


def make_taken():
    net, scale = network.Net(OPERATORS), 1.7e-3
    reals, image, row = net.tensor(IMAGE, "FLOAT32"), net.tensor(IMAGE, scale=scale), net.tensor([4], scale=9e-4)
    net.inputs = [reals, row]
    net.add("QUANTIZE", [reals], [image], "Quantize")
    arithmetic(net, image, row)
    functions(net, image)
    moves(net, image, scale)
    moves(net, image, 2e-3)  # codes that are read with another scale
    convolutions(net, image)
    dense(net, image, scale)
    return net


def main(flatc, schema, folder):
    make_taken().write(flatc, schema, folder, "sixteen")
    make_refused().write(flatc, schema, folder, "sixteen-refused")


main(*sys.argv[1:])
