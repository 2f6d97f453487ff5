#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes .tflite files of operators that NNAPI lacks and nnhal.tflite has.

    make-extension.py FLATC MODEL_SCHEMA FOLDER

FOLDER/extension.tflite rounds and divides, finds places and dimensions as INT64, and scatters. FOLDER/fourier.tflite
transforms matrices; its complex numbers are read by parts, in another shape, and as an output.
FOLDER/sparse.tflite has constants of blocks and of points, of which FOLDER/bad-sparse.tflite has one out of place.
"""

import sys

import net as network

OPERATORS = {
    "ADD": (0, 1), "RESHAPE": (22, 1), "ARG_MAX": (56, 1), "SHAPE": (77, 1), "ARG_MIN": (79, 1), "FLOOR_MOD": (95, 1),
    "COS": (108, 1), "ROUND": (116, 1), "SCATTER_ND": (122, 1), "DENSIFY": (124, 1), "RFFT2D": (131, 1),
    "IMAG": (133, 1), "REAL": (134, 1),
    "COMPLEX_ABS": (135, 1),
}


def make_extension():
    net = network.Net(OPERATORS)
    image = [2, 3, 4]
    x, n = net.tensor(image, "FLOAT32"), net.tensor(image[:2], "INT32")
    divisors = net.tensor([4], "FLOAT32", values=[1.5, -2, 0.75, 3])
    net.inputs = [x, n]
    net.add("ROUND", [x], [net.tensor(image, "FLOAT32")])
    net.add("FLOOR_MOD", [x, divisors], [net.tensor(image, "FLOAT32")])
    for name, kind, made in (("ARG_MAX", "ArgMax", "most"), ("ARG_MIN", "ArgMin", "least")):
        net.add(name, [x, net.integers(1)], [net.tensor([2, 4], "INT64", name=made)], kind, output_type="INT64")
    net.add("SHAPE", [x], [net.tensor([3], "INT64")], "Shape", out_type="INT64")
    where = net.tensor([2, 1], "INT32", values=[2, 2])
    net.add("SCATTER_ND", [where, x, net.integers(3, 3, 4)], [net.tensor([3, 3, 4], "FLOAT32")])
    net.add("FLOOR_MOD", [n, net.integers(7, -7, -1)], [net.tensor(image[:2], "INT32")])
    return net


def make_fourier():
    net = network.Net(OPERATORS)
    x = net.tensor([3, 5, 6], "FLOAT32")
    spectrum, flat = net.tensor([3, 4, 5], "COMPLEX64"), net.tensor([12, 5], "COMPLEX64")
    net.inputs = [x]
    net.add("RFFT2D", [x, net.integers(4, 8)], [spectrum])
    net.add("RESHAPE", [spectrum, net.integers(12, 5)], [flat])
    net.outputs = []
    net.add("COMPLEX_ABS", [spectrum], [net.tensor([3, 4, 5], "FLOAT32")])
    for name in ("REAL", "IMAG"):
        net.add(name, [flat], [net.tensor([12, 5], "FLOAT32")])
    net.add("COS", [x], [net.tensor([3, 5, 6], "FLOAT32")])
    net.outputs.append(spectrum)
    return net


def dense(size):
    return {"format": "DENSE", "dense_size": size}


def sparse(vector, segments, indices):
    return {"format": "SPARSE_CSR", "array_segments_type": vector, "array_segments": {"values": segments},
            "array_indices_type": vector, "array_indices": {"values": indices}}


def add_dense(net, shape, values, sparsity):
    """An input is added to a sparse constant."""
    x, constant = net.tensor(shape, "FLOAT32"), net.tensor(shape, "FLOAT32", values=values)
    net.tensors[constant]["sparsity"] = sparsity
    made, total = (net.tensor(shape, "FLOAT32") for _ in range(2))
    net.add("DENSIFY", [constant], [made])
    net.add("ADD", [x, made], [total], "Add")
    net.inputs.append(x)
    net.outputs.remove(made)


def make_sparse(block):
    """The second block stands in this column of blocks, of which there are two."""
    net = network.Net(OPERATORS)
    add_dense(net, [4, 4], [1, 2, 3, 4, 5, 6, 7, 8], {
        "traversal_order": [0, 1, 2, 3], "block_map": [0, 1],
        "dim_metadata": [dense(2), sparse("Uint8Vector", [0, 1, 2], [0, block]), dense(2), dense(2)]})
    points = [sparse("Int32Vector", [0, 2], [0, 2]), sparse("Uint16Vector", [0, 1, 3], [3, 0, 2]), dense(2)]
    add_dense(net, [3, 2, 4], [1, 2, 3, 4, 5, 6], {"traversal_order": [0, 2, 1], "dim_metadata": points})
    return net


def main(flatc, schema, folder):
    nets = {"extension": make_extension(), "fourier": make_fourier(), "sparse": make_sparse(1),
            "bad-sparse": make_sparse(2)}
    for name, net in nets.items():
        net.write(flatc, schema, folder, name)


main(*sys.argv[1:])
