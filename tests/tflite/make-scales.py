#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a .tflite file of operators of 8 bits whose outputs have scales that NNAPI's operations may not have.

    make-scales.py FLATC MODEL_SCHEMA FOLDER

FOLDER/scales.tflite has them side by side on one image of int8 and one of uint8: products, RELU and the like,
what moves codes, which are read with another scale and zero point, and a filter with one scale. Beside them are sums
and products of reals and constants that have a scale for each channel. FOLDER/scales-NAME.tflite have what is not
taken.
"""

import sys

import net as network

IMAGE = [1, 6, 5, 4]
# The numbers of the operators, and the versions that have int8.
OPERATORS = {
    "ADD": (0, 2), "AVERAGE_POOL_2D": (1, 2), "DEPTHWISE_CONV_2D": (4, 3), "DEPTH_TO_SPACE": (5, 2),
    "DEQUANTIZE": (6, 5),
    "LOGISTIC": (14, 2), "MAX_POOL_2D": (17, 2), "MUL": (18, 2), "RELU": (19, 2), "RELU_N1_TO_1": (20, 1), "RELU6": (21, 2),
    "RESHAPE": (22, 1), "RESIZE_BILINEAR": (23, 2), "TANH": (28, 2), "PAD": (34, 2), "GATHER": (36, 2),
    "TRANSPOSE": (39, 2), "SUB": (41, 2), "SQUEEZE": (43, 1), "STRIDED_SLICE": (45, 2), "SPLIT": (49, 2),
    "MAXIMUM": (55, 2), "MINIMUM": (57, 2), "SLICE": (65, 2), "TILE": (69, 2),
    "RESIZE_NEAREST_NEIGHBOR": (97, 2), "MIRROR_PAD": (100, 2), "REVERSE_V2": (105, 2), "SPACE_TO_BATCH_ND": (38, 2), "TOPK_V2": (48, 2),
    "PADV2": (60, 2), "SELECT": (64, 2), "REDUCE_MAX": (82, 2), "PACK": (83, 2),
}


class Image:
    def __init__(self, net, type_, zero_point):
        self.net, self.type, self.zero_point = net, type_, zero_point
        self.input = self.tensor(IMAGE, 0.03, zero_point)
        net.inputs.append(self.input)

    def tensor(self, shape, scale=None, zero_point=None, values=None):
        low = -128 if self.type == "INT8" else 0
        scale = self.net.scale(0.001, 0.2) if scale is None else scale
        zero_point = low + self.net.rng.randint(0, 255) if zero_point is None else zero_point
        return self.net.tensor(list(shape), self.type, scale, values=values, zero_point=zero_point)

    def add(self, name, inputs, outputs, kind=None, **options):
        self.net.add(name, inputs, outputs, kind, **options)


def centered_row(image, scale):
    """A constant that looks like the filter of one channel."""
    low = -128 if image.type == "INT8" else 0
    return image.tensor([1, 1, 1, 4], scale, 0, [low + image.net.rng.randint(0, 255) for _ in range(4)])


def products(image):
    low = -128 if image.type == "INT8" else 0
    row = image.tensor([4], 0.05, image.zero_point + 9, [low + image.net.rng.randint(0, 255) for _ in range(4)])
    for activation in ("NONE", "RELU", "RELU_N1_TO_1", "RELU6"):
        for other, scale in ((image.input, 0.03 * 0.03 / 4), (row, 0.03 * 0.05), (row, 2e-5),
                             (centered_row(image, 0.04), 0.002)):
            image.add("MUL", [image.input, other], [image.tensor(IMAGE, scale)], "Mul",
                      fused_activation_function=activation)


def filters(image):
    """Some have one scale for all channels, and say nothing of the dimension that these are in."""
    weights = image.net.weights([1, 3, 2, 4], 0.02)
    image.add("DEPTHWISE_CONV_2D", [image.input, weights, image.net.tensor([4], "INT32", 0.03 * 0.02, values=range(4))],
              [image.tensor(IMAGE)], "DepthwiseConv2D", depth_multiplier=1, stride_w=1, stride_h=1)


def sums(image):
    image.add("ADD", [image.input, centered_row(image, 0.04)], [image.tensor(IMAGE)], "Add")


def clamped(image):
    for name in ("RELU", "RELU_N1_TO_1", "RELU6"):
        for scale in (0.011, 0.03, 0.07):
            image.add(name, [image.input], [image.tensor(IMAGE, scale)])


def extremes(image):
    low = -128 if image.type == "INT8" else 0
    row = image.tensor([4], values=[low + image.net.rng.randint(0, 255) for _ in range(4)])
    other = image.tensor(IMAGE)
    image.net.inputs.append(other)
    for name in ("MAXIMUM", "MINIMUM"):
        for second in (row, other, image.input, centered_row(image, 0.02)):
            image.add(name, [image.input, second], [image.tensor(IMAGE)], "MaximumMinimum")


def moves(image):
    integers, made, x = image.net.integers, image.tensor, [image.input]
    image.add("RESHAPE", x + [integers(6, 20)], [made([6, 20])], "Reshape", new_shape=[6, 20])
    image.add("SQUEEZE", x, [made(IMAGE[1:])], "Squeeze", squeeze_dims=[0])
    image.add("TRANSPOSE", x + [integers(0, 3, 1, 2)], [made([1, 4, 6, 5])], "Transpose")
    image.add("GATHER", x + [integers(2, 0, 3)], [made([1, 6, 5, 3])], "Gather", axis=3)
    image.add("SLICE", x + [integers(0, 1, 2, 0), integers(1, 4, 2, 4)], [made([1, 4, 2, 4])], "Slice")
    image.add("STRIDED_SLICE", x + [integers(0, 5, 1, 3), integers(1, 0, 5, 0), integers(1, -2, 3, -1)],
              [made([1, 3, 2, 3])], "StridedSlice")
    image.add("SPLIT", [integers(1)] + x, [made([1, 2, 5, 4]) for _ in range(3)], "Split", num_splits=3)
    image.add("TILE", x + [integers(1, 2, 1, 1)], [made([1, 12, 5, 4])], "Tile")
    for axis in (1, -1):
        image.add("REVERSE_V2", x + [integers(axis)], [made(IMAGE)], "ReverseV2")
    image.add("DEPTH_TO_SPACE", x, [made([1, 12, 10, 1])], "DepthToSpace", block_size=2)
    padding = image.net.tensor([4, 2], "INT32", values=[0, 0, 1, 2, 3, 0, 0, 1])
    image.add("PAD", x + [padding], [made([1, 9, 8, 5], zero_point=image.zero_point)], "Pad")
    image.add("MIRROR_PAD", x + [padding], [made([1, 9, 8, 5])], "MirrorPad", mode="REFLECT")
    image.add("RESIZE_NEAREST_NEIGHBOR", x + [integers(9, 7)], [made([1, 9, 7, 4])], "ResizeNearestNeighbor")
    if image.type == "UINT8":  # of int8 TensorFlow Lite takes other steps
        image.add("RESIZE_BILINEAR", x + [integers(9, 7)], [made([1, 9, 7, 4])], "ResizeBilinear")
    for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        image.add(name, x, [made([1, 3, 2, 4])], "Pool2D", padding="VALID", stride_w=2, stride_h=2, filter_width=2,
                  filter_height=2)


def inside(image):
    """Codes between two operators, which the second reads as the file declares them."""
    net, x = image.net, [image.input]

    def add(name, inputs, shape, kind=None, zero_point=None, **options):
        y = image.tensor(shape, zero_point=zero_point)
        image.add(name, inputs, [y], kind, **options)
        net.outputs.remove(y)
        image.add("DEQUANTIZE", [y], [net.tensor(shape, "FLOAT32")])
        return y
    padding = net.tensor([4, 2], "INT32", values=[0, 0, 1, 2, 3, 0, 0, 1])
    constant = image.tensor([], values=[7])
    padded = add("PADV2", x + [padding, constant], [1, 9, 8, 5], "PadV2")
    net.tensors[constant]["quantization"] = net.tensors[padded]["quantization"]
    for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        for activation in ("NONE", "RELU", "RELU6"):
            add(name, x, [1, 3, 2, 4], "Pool2D", padding="VALID", stride_w=2, stride_h=2, filter_width=2,
                filter_height=2, fused_activation_function=activation)
    twice, largest = image.tensor([1, 6, 5, 8]), image.tensor([1, 6, 5, 5])
    image.add("TILE", x + [net.integers(1, 1, 1, 2)], [twice], "Tile")  # has equal codes in each row
    image.add("TOPK_V2", [twice, net.tensor([], "INT32", values=[5])], [largest, net.tensor([1, 6, 5, 5], "INT32")],
              "TopKV2")
    add("SPACE_TO_BATCH_ND", x + [net.integers(2, 5), net.tensor([2, 2], "INT32", values=[1, 1, 0, 0])],
        [10, 4, 1, 4], "SpaceToBatchND", zero_point=image.zero_point)


def channels(net):
    """Constants with a scale for each channel, in one or several dimensions."""
    shape = [2, 3, 4]
    reals = net.tensor(shape, "FLOAT32")
    net.inputs.append(reals)
    for axis, dimensions in ((0, [4]), (2, [1, 3, 4]), (1, [1, 3, 4]), (0, shape)):
        constant = net.weights(dimensions, [net.scale(0.01, 0.1) for _ in range(dimensions[axis])], axis)
        factor = net.tensor(dimensions, "FLOAT32")
        net.add("DEQUANTIZE", [constant], [factor])
        net.outputs.remove(factor)
        for name, kind in (("MUL", "Mul"), ("ADD", "Add"), ("SUB", "Sub")):
            net.add(name, [reals, factor], [net.tensor(shape, "FLOAT32")], kind)


def make_refused(name, *output):
    """One operator that the loader does not take."""
    net = network.Net(OPERATORS)
    image = Image(net, "INT8", -11)
    inputs = [image.input]
    if name == "PAD":
        inputs.append(net.tensor([4, 2], "INT32", values=[0, 0, 1, 1, 1, 1, 0, 0]))
    elif name == "MUL":
        inputs.append(net.weights([4], [0.01, 0.02, 0.03, 0.04]))
    elif name == "SELECT":
        inputs = [net.tensor(IMAGE, "BOOL"), image.input, image.tensor(IMAGE, 0.02, 0)]
        net.inputs += inputs[::2]
    elif name == "REDUCE_MAX":
        inputs.append(net.integers(1))
    elif name == "PACK":
        inputs *= 2
    image.add(name, inputs, [image.tensor(*output)], *(["Pack"] if name == "PACK" else []))
    return net


def main(flatc, schema, folder):
    net = network.Net(OPERATORS)
    for type_, zero_point in (("INT8", -11), ("UINT8", 93)):
        image = Image(net, type_, zero_point)
        products(image)
        sums(image)
        clamped(image)
        extremes(image)
        moves(image)
        inside(image)
        if type_ == "INT8":
            filters(image)
    channels(net)
    net.write(flatc, schema, folder, "scales")
    make_refused("TANH", IMAGE, 0.02, 0).write(flatc, schema, folder, "scales-tanh")
    make_refused("LOGISTIC", IMAGE, 0.02, 0).write(flatc, schema, folder, "scales-logistic")
    make_refused("SELECT", IMAGE, 0.03, -11).write(flatc, schema, folder, "scales-select")
    make_refused("REDUCE_MAX", [1, 5, 4], 0.02, 0).write(flatc, schema, folder, "scales-largest")
    make_refused("PACK", [2] + IMAGE, 0.02, 0).write(flatc, schema, folder, "scales-pack")
    make_refused("MUL", IMAGE, 0.02, 0).write(flatc, schema, folder, "scales-channels")
    make_refused("PAD", [1, 8, 7, 4], 0.03, 7).write(flatc, schema, folder, "scales-pad")


main(*sys.argv[1:])
