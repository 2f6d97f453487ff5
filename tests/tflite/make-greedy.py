#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes small .tflite files that ask for much.

    make-greedy.py FLATC MODEL_SCHEMA FOLDER

FOLDER/bad-lists.tflite has many operators, which are one, with a long list of inputs. FOLDER/bad-room.tflite
has a sparse constant and a composite that together take more memory than a file may.
FOLDER/bad-zero-points.tflite has a tensor with more zero points than scales.
"""

import struct
import sys
from pathlib import Path

import net as network

OPERATORS = {"RELU": (19, 1), "STABLEHLO_COMPOSITE": (206, 1)}
MAX_ENTRIES, MAX_BYTES = 1 << 24, 1 << 28  # of reader-tensors.cc
LONG = 1 << 13


def reals(net):
    return net.tensor([2], "FLOAT32")


def make_lists():
    net = network.Net(OPERATORS)
    net.inputs = [reals(net)]
    net.add("RELU", net.inputs * LONG, [reals(net)])
    net.operators += [{}] * (MAX_ENTRIES // LONG)  # become the first one
    return net


def make_room():
    """The operator in the composite has a list that does not fit beside the constant."""
    net = network.Net(OPERATORS)
    part, number = net.part()
    net.tensor([MAX_BYTES - 2 * LONG], "INT8", values=[1])
    net.tensors[-1]["sparsity"] = {"traversal_order": [0], "dim_metadata": [{
        "format": "SPARSE_CSR", "array_segments_type": "Uint8Vector", "array_segments": {"values": [0, 1]},
        "array_indices_type": "Uint8Vector", "array_indices": {"values": [0]}}]}
    net.inputs, part.inputs = [reals(net)], [reals(part)]
    net.composite("test.room", net.inputs, [reals(net)], number)
    part.add("RELU", part.inputs * LONG, [reals(part)])
    return net


def make_zero_points():
    net = network.Net(OPERATORS)
    net.inputs = [net.tensor([2], "INT8", [0.5, 0.25])]
    net.tensors[0]["quantization"]["zero_point"] = [0] * 3
    net.add("RELU", net.inputs, [net.tensor([2], "INT8", 0.5)])
    return net


def number(data, at, form="<i"):
    return struct.unpack_from(form, data, at)[0]


def follow(data, at):
    return at + number(data, at, "<I")


def field(data, table, index):
    """Where a member of a FlatBuffers table is."""
    return table + number(data, table - number(data, table) + 4 + 2 * index, "<H")


def share_operators(path):
    """Every operator of the first subgraph becomes the first."""
    data = bytearray(path.read_bytes())
    graphs = follow(data, field(data, follow(data, 0), 2))
    operators = follow(data, field(data, follow(data, graphs + 4), 3))
    first = follow(data, operators + 4)
    for i in range(number(data, operators)):
        at = operators + 4 + 4 * i
        struct.pack_into("<I", data, at, first - at)
    path.write_bytes(data)


def main(flatc, schema, folder):
    for name, net in (("lists", make_lists()), ("room", make_room()), ("zero-points", make_zero_points())):
        net.write(flatc, schema, folder, f"bad-{name}")
    share_operators(Path(folder) / "bad-lists.tflite")


main(*sys.argv[1:])
