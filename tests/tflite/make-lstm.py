#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes .tflite files of LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM, with activations of 8 bits and of reals.

    make-lstm.py FLATC MODEL_SCHEMA FOLDER

FOLDER/lstm.tflite has cells in each of their forms, side by side on three sequences and a single step: coupled
or not, with peepholes, with layer normalization, with a projection and clips, by time or by batch. What they
give can be compared bit by bit. Weights, biases and scales are random, and always the same. FOLDER/lstm-bare.tflite
lacks what a cell counts in. FOLDER/lstm-real.tflite has sequences and a step of reals, as converters of old wrote them: no
input is listed for a normalization.
"""

import itertools
import sys

import net as network

OPERATORS = {"LSTM": (16, 4), "UNIDIRECTIONAL_SEQUENCE_LSTM": (44, 3)}
GATES = 4
N_INPUTS = 5


class Sequence:
    """A tensor of data; one of a single step has no steps."""

    def __init__(self, net, n_batches, n_steps, time_major):
        self.n_batches, self.n_steps, self.time_major = n_batches, n_steps, time_major
        self.tensor = net.tensor(self.shape(N_INPUTS), "INT8", 0.03, zero_point=4)
        net.inputs.append(self.tensor)

    def shape(self, size):
        if not self.n_steps:
            return [self.n_batches, size]
        steps = [self.n_steps, self.n_batches]
        return (steps if self.time_major else steps[::-1]) + [size]


class Cell:
    """An operator: tensors are made in the order in which it takes them."""

    def __init__(self, net, data):
        self.net, self.data, self.n_cells, self.n_outputs, self.cell_scale = net, data, 7, 7, 2**-11
        self.is_coupled = self.has_peepholes = self.has_norms = self.is_projected = False
        self.cell_clip = self.proj_clip = 0.0
        self.gate_scales, self.norm_scale = (3e-4, 1e-3), 2e-5
        self.output = (net.scale(0.005, 0.01), net.rng.randint(-20, 20))
        # What the file says of the values before a projection is read without one, too.
        self.hidden = (net.scale(0.006, 0.009), net.rng.randint(-9, 9))

    def group(self, is_there, make):
        """One for each gate; a coupled cell has none for the input gate."""
        return [make() if is_there and not (gate == 0 and self.is_coupled) else -1 for gate in range(GATES)]

    def codes(self, shape, type_, low, high, scale):
        n = 1
        for dimension in shape:
            n *= dimension
        return self.net.tensor(shape, type_, scale, values=[self.net.rng.randint(low, high) for _ in range(n)])

    def matrices(self, n_columns):
        return self.group(True, lambda: self.net.weights([self.n_cells, n_columns], self.net.scale(0.003, 0.012)))

    def vector(self, low, high, scale=2e-5):
        return lambda: self.codes([self.n_cells], "INT16", low, high, self.net.scale(scale, 4 * scale))

    def state(self, size, type_, scale, zero_point=0):
        made = self.net.tensor([self.data.n_batches, size], type_, scale, zero_point=zero_point)
        self.net.tensors[made]["is_variable"] = True
        return made

    def inputs(self):
        net = self.net
        peepholes = self.group(self.has_peepholes, self.vector(-30000, 30000))
        del peepholes[2]
        made = [self.data.tensor] + self.matrices(N_INPUTS) + self.matrices(self.n_outputs) + peepholes
        made += self.group(True, lambda: self.codes([self.n_cells], "INT32", -30000, 30000, 1e-4))
        if self.is_projected:
            made += [net.weights([self.n_outputs, self.n_cells], 0.008),
                     self.codes([self.n_outputs], "INT32", -3000, 3000, 1e-4)]
        else:
            made += [-1, -1]
        made += [self.state(self.n_outputs, "INT8", *self.output), self.state(self.n_cells, "INT16", self.cell_scale)]
        return made + self.group(self.has_norms, self.vector(1, 30000, self.norm_scale))

    def add(self):
        net, is_step = self.net, not self.data.n_steps
        inputs = self.inputs()
        intermediates = [net.tensor([1], scale=net.scale(*self.gate_scales)) for _ in range(GATES)]
        intermediates.append(net.tensor([1], "INT8", self.hidden[0], zero_point=self.hidden[1]))
        result = net.tensor(self.data.shape(self.n_outputs), "INT8", self.output[0], zero_point=self.output[1])
        options = {} if is_step else {"time_major": self.data.time_major}
        net.add("LSTM" if is_step else "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [result],
                "LSTM" if is_step else "UnidirectionalSequenceLSTM", intermediates,
                fused_activation_function="TANH", cell_clip=self.cell_clip, proj_clip=self.proj_clip, **options)


def make_taken():
    net = network.Net(OPERATORS)
    *several, one, step = (Sequence(net, *form) for form in ((2, 6, True), (2, 6, False), (1, 300, True), (3, 0, True)))
    flags = (False, True)
    for is_coupled, has_peepholes, has_norms, data in itertools.product(flags, flags, flags, (*several, step)):
        cell = Cell(net, data)
        cell.is_coupled, cell.has_peepholes, cell.has_norms = is_coupled, has_peepholes, has_norms
        cell.add()
    for n_outputs, exponent in ((7, 9), (3, 15), (12, 12)):
        for has_norms, data in ((False, one), (True, one), (True, step)):
            cell = Cell(net, data)
            cell.n_outputs, cell.cell_scale, cell.is_projected = n_outputs, 2**-exponent, True
            cell.has_norms, cell.has_peepholes = has_norms, n_outputs == cell.n_cells
            cell.cell_clip, cell.proj_clip = (0.3, 0.4) if has_norms else (0.0, 0.0)
            cell.add()
    cell = Cell(net, one)  # sums that differ little: the scale of the normalization decides
    cell.has_norms, cell.gate_scales, cell.norm_scale = True, (2.0, 4.0), 1e-3
    cell.add()
    return net


def make_real():
    net, size = network.Net(OPERATORS), 4

    def reals(*shape):
        n = shape[0] * (shape[1] if len(shape) > 1 else 1)
        return net.tensor(list(shape), "FLOAT32", values=[net.rng.uniform(-1, 1) for _ in range(n)])
    for shape, options in (([2, N_INPUTS], {}), ([3, 2, N_INPUTS], {"time_major": True}), ([2, 3, N_INPUTS], {})):
        name, kind = ("UNIDIRECTIONAL_SEQUENCE_LSTM", "UnidirectionalSequenceLSTM") if shape[2:] else ("LSTM", "LSTM")
        data, states = net.tensor(shape, "FLOAT32"), [net.tensor([2, size], "FLOAT32") for _ in range(2)]
        for state in states:
            net.tensors[state]["is_variable"] = True
        net.inputs.append(data)
        net.add(name, [data] + [reals(size, N_INPUTS) for _ in range(GATES)] + [reals(size, size) for _ in range(GATES)]
                + [-1] * 3 + [reals(size) for _ in range(GATES)] + [-1] * 2 + states,
                [net.tensor(shape[:-1] + [size], "FLOAT32")], kind, fused_activation_function="TANH", **options)
    return net


def main(flatc, schema, folder):
    make_taken().write(flatc, schema, folder, "lstm")
    make_real().write(flatc, schema, folder, "lstm-real")
    bare = network.Net(OPERATORS)
    Cell(bare, Sequence(bare, 1, 2, True)).add()
    del bare.operators[0]["intermediates"]
    bare.write(flatc, schema, folder, "lstm-bare")


main(*sys.argv[1:])
