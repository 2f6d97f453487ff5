#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes .tflite files of operators on tensors of rank 5 and 6, and of group normalization.

    make-ranks.py FLATC MODEL_SCHEMA FOLDER

FOLDER/ranks.tflite has the operators that nnhal.tflite takes beyond NNAPI's rank, side by side: what they
give can be compared with TensorFlow Lite 2.9.0. It begins with those whose bits are the same.
FOLDER/ranks-alone.tflite has the forms at which that release aborts. FOLDER/group-norm.tflite normalizes
twice by plain operators, FOLDER/group-norm-composite.tflite by composites of them, one in the other, and
FOLDER/bad-composite.tflite by one that is computed by itself. FOLDER/odd-composite.tflite has one whose
subgraph gives another shape.
"""

import sys

import net as network

FIVE, SIX = [2, 3, 2, 4, 3], [2, 3, 2, 2, 1, 3]
GRID, COMB = [2, 1, 2, 1, 3], [2, 1, 2, 1, 1, 3]  # every other dimension of theirs
OPERATORS = {
    "ADD": (0, 2), "DEQUANTIZE": (6, 2), "FLOOR": (8, 1), "LOGISTIC": (14, 2), "MUL": (18, 2), "RELU": (19, 2),
    "RELU_N1_TO_1": (20, 1), "RELU6": (21, 2), "RESHAPE": (22, 1), "TANH": (28, 2), "TRANSPOSE": (39, 2),
    "MEAN": (40, 2), "SUB": (41, 2), "DIV": (42, 1), "MAXIMUM": (55, 2), "SUM": (74, 1), "SQRT": (75, 1),
    "REDUCE_MAX": (82, 2), "REDUCE_MIN": (89, 2), "SQUARE": (92, 1), "QUANTIZE": (114, 1),
    "STABLEHLO_COMPOSITE": (206, 1),
}


def reduced(shape, axes):
    return [1 if d in axes else n for d, n in enumerate(shape)]


def reductions(net, x, shape, type_, scale, names):
    """Over axes that are neighbors, that are not, and that alternate with the others."""
    for name in names:
        for axes in ([1, 2, 4], [0, 2, 4], [-2]):
            y = net.tensor(reduced(shape, [axis % len(shape) for axis in axes]), type_, scale)
            net.add(name, [x, net.integers(*axes)], [y], "Reducer", keep_dims=True)


def of_codes(net, x, other, shape, scale):
    for name, factor in (("ADD", 2), ("SUB", 1.5), ("MUL", 3)):
        net.add(name, [x, x if name != "SUB" else other], [net.tensor(shape, "INT8", scale * factor)],
                name.capitalize(), fused_activation_function="RELU")
    for name in ("RELU", "RELU6"):
        net.add(name, [x], [net.tensor(shape, "INT8", scale)])
    net.add("LOGISTIC", [x], [net.tensor(shape, "INT8", 1 / 256, zero_point=-128)])
    net.add("TANH", [x], [net.tensor(shape, "INT8", 1 / 128)])
    net.add("DEQUANTIZE", [x], [net.tensor(shape, "FLOAT32")])
    reductions(net, x, shape, "INT8", scale, ("REDUCE_MAX", "REDUCE_MIN"))
    net.add("RESHAPE", [x, net.integers(4, -1)], [net.tensor([4, 36 if shape == FIVE else 18], "INT8", scale)],
            "Reshape", new_shape=[4, -1])


def of_reals(net, x, other, shape):
    def same():
        return net.tensor(shape, "FLOAT32")
    for name in ("ADD", "SUB", "MUL", "DIV"):
        net.add(name, [x, x], [same()], name.capitalize(), fused_activation_function="RELU6")
    for name in ("SUB", "DIV", "MAXIMUM"):
        if shape == FIVE:
            net.add(name, [x, other], [same()], name.capitalize() if name != "MAXIMUM" else "MaximumMinimum")
    for name in ("RELU", "RELU_N1_TO_1", "RELU6", "FLOOR", "SQUARE"):
        net.add(name, [x], [same()])
    reductions(net, x, shape, "FLOAT32", None, ("REDUCE_MAX", "REDUCE_MIN"))
    net.add("RESHAPE", [x, net.integers(*reversed(shape))], [net.tensor(shape[::-1], "FLOAT32")], "Reshape",
            new_shape=shape[::-1])


def make_ranks():
    """Inputs: of reals, then of codes, of each rank."""
    net, scale = network.Net(OPERATORS), 0.05
    pairs = [(shape, net.tensor(shape, "FLOAT32"), net.tensor(part, "FLOAT32"), net.tensor(shape, "INT8", scale),
              net.tensor(part, "INT8", scale)) for shape, part in ((FIVE, GRID), (SIX, COMB))]
    net.inputs = [tensor for pair in pairs for tensor in pair[1:]]
    for shape, x, other, codes, other_codes in pairs:
        of_reals(net, x, other, shape)
        of_codes(net, codes, other_codes if shape == FIVE else codes, shape, scale)
    for type_ in ("FLOAT32", "INT8", "INT32", "INT64", "BOOL"):
        x = net.tensor(FIVE, type_, scale if type_ == "INT8" else None)
        net.inputs.append(x)
        order = [4, 2, 0, 3, 1]
        net.add("TRANSPOSE", [x, net.integers(*order)],
                [net.tensor([FIVE[d] for d in order], type_, scale if type_ == "INT8" else None)], "Transpose")
        net.add("RESHAPE", [x, net.integers(12, 12)],
                [net.tensor([12, 12], type_, scale if type_ == "INT8" else None)], "Reshape", new_shape=[12, 12])
    for shape, x, _, _, _ in pairs:
        for name in ("LOGISTIC", "TANH"):
            net.add(name, [x], [net.tensor(shape, "FLOAT32")])
        reductions(net, x, shape, "FLOAT32", None, ("MEAN", "SUM"))
    return net


def make_alone():
    net = network.Net(OPERATORS)
    x, comb = net.tensor(SIX, "FLOAT32"), net.tensor(COMB, "FLOAT32")
    net.inputs = [x, comb]
    for name in ("ADD", "MUL"):
        net.add(name, [x, comb], [net.tensor(SIX, "FLOAT32")], name.capitalize())
    order = [5, 3, 1, 4, 0, 2]
    net.add("TRANSPOSE", [x, net.integers(*order)], [net.tensor([SIX[d] for d in order], "FLOAT32")], "Transpose")
    return net


IMAGE, GROUPS = [2, 4, 3, 6], [2, 4, 3, 2, 3]  # six channels in two groups


def reals(net, shape, values=None):
    return net.tensor(shape, "FLOAT32", values=values)


def normalize(net, x):
    """Subtracts the mean of each group, and divides by the deviation; x has the shape GROUPS."""
    point, axes = reduced(GROUPS, [1, 2, 4]), net.integers(1, 2, 4)
    mean, square, variance, sum_, deviation = (reals(net, shape) for shape in (point, GROUPS, point, point, point))
    difference, result = reals(net, GROUPS), reals(net, GROUPS)
    net.add("MEAN", [x, axes], [mean], "Reducer", keep_dims=True)
    net.add("SUB", [x, mean], [difference], "Sub")
    net.add("SQUARE", [difference], [square])
    net.add("MEAN", [square, axes], [variance], "Reducer", keep_dims=True)
    net.add("ADD", [variance, reals(net, [], [1e-5])], [sum_], "Add")
    net.add("SQRT", [sum_], [deviation])
    net.add("DIV", [difference, deviation], [result], "Div")
    return result


def scale_and_shift(net, x, gamma, beta):
    back, scaled, result = (reals(net, IMAGE) for _ in range(3))
    net.add("RESHAPE", [x, net.integers(*IMAGE)], [back], "Reshape", new_shape=IMAGE)
    net.add("MUL", [back, gamma], [scaled], "Mul")
    net.add("ADD", [scaled, beta], [result], "Add")
    return result


def to_groups(net, x):
    result = reals(net, GROUPS)
    net.add("RESHAPE", [x, net.integers(*GROUPS)], [result], "Reshape", new_shape=GROUPS)
    return result


def make_norms(norm):
    """Two normalizations with a RELU between them."""
    net = network.Net(OPERATORS)
    x, active = reals(net, IMAGE), reals(net, IMAGE)
    net.inputs = [x]
    parameters = [reals(net, [6], [0.5 * i + offset for i in range(6)]) for offset in (1, -1, -2, 0.25)]
    norm = norm(net)
    net.add("RELU", [norm(x, *parameters[:2])], [active])
    net.outputs = [norm(active, *parameters[2:])]
    return net


def plain(net):
    return lambda x, gamma, beta: scale_and_shift(net, normalize(net, to_groups(net, x)), gamma, beta)


def composed(net):
    """A composite of a reshaping, of a composite that normalizes, and of what comes after it."""
    (outer, outer_number), (inner, inner_number) = net.part(), net.part()
    inner.inputs = [reals(inner, GROUPS)]
    inner.outputs = [normalize(inner, inner.inputs[0])]
    outer.inputs = [reals(outer, shape) for shape in (IMAGE, [6], [6])]
    groups, normal = to_groups(outer, outer.inputs[0]), reals(outer, GROUPS)
    outer.composite("test.normalize", [groups], [normal], inner_number)
    outer.outputs = [scale_and_shift(outer, normal, *outer.inputs[1:])]

    def norm(*inputs):
        result = reals(net, IMAGE)
        net.composite("odml.group_norm", list(inputs), [result], outer_number)
        return result
    return norm


def make_bad():
    net = network.Net(OPERATORS)
    part, number = net.part()
    for graph in (net, part):
        graph.inputs = [reals(graph, [2])]
        graph.composite("test.endless", graph.inputs, [reals(graph, [2])], number)
    return net


def make_odd():
    net = network.Net(OPERATORS)
    part, number = net.part()
    for graph, shape in ((net, [2]), (part, [1, 2])):
        graph.inputs = [reals(graph, [2])]
        if graph == part:
            graph.add("RELU", graph.inputs, [reals(graph, shape)])
        else:
            graph.composite("test.odd", graph.inputs, [reals(graph, shape)], number)
    return net


def main(flatc, schema, folder):
    for name, net in (("ranks", make_ranks()), ("ranks-alone", make_alone()), ("group-norm", make_norms(plain)),
                      ("group-norm-composite", make_norms(composed)), ("bad-composite", make_bad()),
                      ("odd-composite", make_odd())):
        net.write(flatc, schema, folder, name)


main(*sys.argv[1:])
