#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes .tflite files of one operator, which NNAPI computes otherwise than TensorFlow Lite or which asks for
too much.

    make-refused.py FLATC MODEL_SCHEMA FOLDER

FOLDER/refused-NAME.tflite is refused by the loader, each for a reason of its own.
"""

import sys

import net as network

MOST = 2**31 - 1
OPERATORS = {"DEPTHWISE_CONV_2D": (4, 3), "RNN": (24, 3), "DIV": (42, 1), "STRIDED_SLICE": (45, 1), "TOPK_V2": (48, 1),
             "SHAPE": (77, 1), "SPLIT_V": (102, 1)}


def quotient(net):
    net.inputs = [net.tensor([4], "INT32") for _ in range(2)]
    net.add("DIV", net.inputs, [net.tensor([4], "INT32")], "Div")


def scalar(net):
    net.inputs = [net.tensor([], "FLOAT32")]
    net.add("SHAPE", net.inputs, [net.tensor([0], "INT32")], "Shape", out_type="INT32")


def weights(net):
    net.inputs = [net.tensor([1, 4, 4, 2], "INT8", 0.1)]
    filters = net.tensor([1, 1, 1, 2], "INT8", 0.5, 3, values=[1, 2], zero_point=7)
    bias = net.tensor([2], "INT32", 0.05, values=[0, 0])
    net.add("DEPTHWISE_CONV_2D", [net.inputs[0], filters, bias], [net.tensor([1, 4, 4, 2], "INT8", 0.1)],
            "DepthwiseConv2D", depth_multiplier=1, stride_w=1, stride_h=1)


def cell(net):
    net.inputs = [net.tensor([1, 2], "FLOAT32")]
    first, recurrent = (net.tensor([2, 2], "INT8", 0.5, values=[1, 2, 3, 4], zero_point=7) for _ in range(2))
    bias, state = net.tensor([2], "FLOAT32", values=[0, 0]), net.tensor([1, 2], "FLOAT32")
    net.tensors[state]["is_variable"] = True
    net.add("RNN", [net.inputs[0], first, recurrent, bias, state], [net.tensor([1, 2], "FLOAT32")], "RNN")


def row(net):
    net.inputs = [net.tensor([2, 0], "FLOAT32")]
    net.add("TOPK_V2", [net.inputs[0], net.tensor([], "INT32", values=[2])],
            [net.tensor([2, 2], type_) for type_ in ("FLOAT32", "INT32")], "TopKV2")


def slice_(net):
    net.inputs = [net.tensor([4], "FLOAT32")]
    net.add("STRIDED_SLICE", net.inputs + [net.integers(n) for n in (MOST, MOST, 1)], [net.tensor([], "FLOAT32")],
            "StridedSlice", shrink_axis_mask=1)


def split(net):
    net.inputs = [net.tensor([MOST], "INT8", 0.5)]
    net.add("SPLIT_V", net.inputs + [net.integers(MOST, MOST), net.tensor([], "INT32", values=[0])],
            [net.tensor([MOST], "INT8", 0.5) for _ in range(2)], "SplitV", num_splits=2)


def main(flatc, schema, folder):
    for name, fill in (("quotient", quotient), ("scalar", scalar), ("weights", weights), ("cell", cell), ("row", row),
                       ("slice", slice_), ("split", split)):
        net = network.Net(OPERATORS)
        fill(net)
        net.write(flatc, schema, folder, f"refused-{name}")


main(*sys.argv[1:])
