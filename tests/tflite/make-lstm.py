#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes .tflite files of LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM, with activations of 8 or 16 bits and of reals.

    make-lstm.py FLATC MODEL_SCHEMA FOLDER

FOLDER/lstm.tflite has cells in each of their forms, side by side on three sequences and a single step: coupled
or not, with peepholes, with layer normalization, with a projection and clips, by time or by batch. What they
give can be compared bit by bit. Weights, biases and scales are random, and always the same. FOLDER/lstm-bare.tflite
lacks what a cell counts in. FOLDER/lstm-real.tflite has sequences and a step of reals, as converters of old wrote
them: no input is listed for a normalization.

FOLDER/lstm-sixteen.tflite has plain cells of 16 bits, as TensorFlow Lite Micro's requantize_flatbuffer.py makes
them of those of 8, and as TensorFlow's quantizer does. What they give for the int16 in FOLDER/lstm-sixteen.bin
stands behind them: the oracle's codes as int16, and as float32 what the same cell gives in real numbers.
FOLDER/lstm-sixteen-peephole.tflite has a cell that is not plain.
"""

import itertools
import math
import struct
import sys
from pathlib import Path

import net as network

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
import ops_sixteen_lstm as oracle  # noqa: E402
from case import Tensor  # noqa: E402
from num import f32  # noqa: E402

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
        values = [net.rng.uniform(-1, 1) for _ in range(math.prod(shape))]
        return net.tensor(list(shape), "FLOAT32", values=values)
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


class Sixteen:
    """A plain cell of 16 bits on a sequence of its own, and what it gives."""

    def __init__(self, net, n_batches, n_steps, n_cells, time_major):
        self.net, self.n_batches, self.n_steps = net, n_batches, n_steps
        self.n_cells, self.time_major = n_cells, time_major
        self.bias_type, self.cell_scale, self.cell_clip, self.has_peepholes = "INT64", 2**-15, 0.0, False
        self.x_scale, self.h_scale = f32(net.scale(3e-5, 9e-5)), f32(net.scale(2e-5, 3e-5))

    def constant(self, shape, type_, limit, scale):
        """The tensor in the file, and as the oracle has it."""
        values, scale = [self.net.rng.randint(-limit, limit) for _ in range(math.prod(shape))], f32(scale)
        return Tensor(self.net.tensor(shape, type_, scale, values=values), None, shape, values, scale)

    def matrices(self, n_columns):
        shape = [self.n_cells, n_columns]
        return [self.constant(shape, "INT8", 127, self.net.scale(0.003, 0.012)) for _ in range(GATES)]

    def state(self, scale):
        made = self.net.tensor([self.n_batches, self.n_cells], "INT16", scale, zero_point=0)
        self.net.tensors[made]["is_variable"] = True
        return made

    def shape(self, size):
        return ([self.n_steps, self.n_batches] if self.time_major else [self.n_batches, self.n_steps]) + [size]

    def rows(self, of):
        """of(batch, step) in the order of the sequence's tensors."""
        outer, inner = (self.n_steps, self.n_batches) if self.time_major else (self.n_batches, self.n_steps)
        return [v for a in range(outer) for b in range(inner) for v in (of(b, a) if self.time_major else of(a, b))]

    def add(self):
        net = self.net
        self.weights, self.recurrent = self.matrices(N_INPUTS), self.matrices(self.n_cells)
        self.bias = [self.constant([self.n_cells], self.bias_type, int(0.5 / (self.x_scale * w.scale)),
                                   self.x_scale * w.scale) for w in self.weights]
        peepholes = [self.constant([self.n_cells], "INT16", 9, 1e-4).index if self.has_peepholes else -1
                     for _ in range(3)]
        x = net.tensor(self.shape(N_INPUTS), "INT16", self.x_scale)
        net.inputs.append(x)
        result = net.tensor(self.shape(self.n_cells), "INT16", self.h_scale)
        inputs = [x] + [t.index for t in self.weights + self.recurrent] + peepholes + [t.index for t in self.bias]
        inputs += [-1, -1, self.state(self.h_scale), self.state(self.cell_scale), -1, -1, -1, -1]
        # What is left of a file of 8 bits.
        intermediates = [net.tensor([0], "INT8", 0.01, zero_point=3) for _ in range(5)]
        net.add("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [result], "UnidirectionalSequenceLSTM", intermediates,
                fused_activation_function="TANH", cell_clip=self.cell_clip, time_major=self.time_major)

    def codes(self, sequences):
        cell = oracle.Cell((self.x_scale, self.h_scale, self.cell_scale), self.weights, self.recurrent, self.bias,
                           f32(self.cell_clip))
        zeros = [[0] * self.n_cells for _ in range(2 * self.n_batches)]
        return cell.walk(sequences, zeros[:self.n_batches], zeros[self.n_batches:])[0]

    def real_gate(self, k, x, h):
        def product(matrix, u, values):
            return sum(w * v for w, v in zip(oracle.rows(matrix, u), values)) * matrix.scale
        return [product(self.weights[k], u, x) + product(self.recurrent[k], u, h)
                + self.bias[k].values[u] * self.bias[k].scale for u in range(self.n_cells)]

    def reals(self, steps):
        """The outputs of one batch in real numbers."""
        h, c, out = [0.0] * self.n_cells, [0.0] * self.n_cells, []
        for codes in steps:
            x = [q * self.x_scale for q in codes]
            i, f, j, o = (self.real_gate(k, x, h) for k in range(GATES))
            sigmoid = lambda v: 1 / (1 + math.exp(-v))
            c = [sigmoid(fv) * cv + sigmoid(iv) * math.tanh(jv) for iv, fv, jv, cv in zip(i, f, j, c)]
            if self.cell_clip:
                c = [min(max(v, -self.cell_clip), self.cell_clip) for v in c]
            h = [sigmoid(ov) * math.tanh(cv) for ov, cv in zip(o, c)]
            out.append(h)
        return out

    def bytes(self):
        """A sequence, the codes of its outputs, and the same in real numbers."""
        sequences = [[[self.net.rng.randint(-32768, 32767) for _ in range(N_INPUTS)] for _ in range(self.n_steps)]
                     for _ in range(self.n_batches)]
        codes, reals = self.codes(sequences), [self.reals(steps) for steps in sequences]
        data = b"".join(struct.pack(f"<{len(v)}h", *v) for v in (self.rows(lambda b, t: rows[b][t])
                                                                 for rows in (sequences, codes)))
        real = self.rows(lambda b, t: reals[b][t])
        return data + struct.pack(f"<{len(real)}f", *real)


def make_sixteen():
    """Long and short sequences, both types of biases, a clip, and several scales of the cells' states."""
    net = network.Net(OPERATORS)
    cells = [Sixteen(net, *form) for form in ((2, 6, 7, True), (3, 5, 4, False), (1, 120, 9, True), (1, 9, 3, False))]
    cells[1].bias_type, cells[1].cell_scale, cells[1].cell_clip = "INT32", 2**-14, 0.4
    cells[2].cell_scale, cells[3].cell_scale = 2**-13, 2**-16
    cells[3].cell_clip = 0.3
    for cell in cells:
        cell.add()
    return net, b"".join(cell.bytes() for cell in cells)


def main(flatc, schema, folder):
    net, results = make_sixteen()
    net.write(flatc, schema, folder, "lstm-sixteen")
    (Path(folder) / "lstm-sixteen.bin").write_bytes(results)
    odd = network.Net(OPERATORS)
    cell = Sixteen(odd, 1, 2, 3, True)
    cell.has_peepholes = True
    cell.add()
    odd.write(flatc, schema, folder, "lstm-sixteen-peephole")
    make_taken().write(flatc, schema, folder, "lstm")
    make_real().write(flatc, schema, folder, "lstm-real")
    bare = network.Net(OPERATORS)
    Cell(bare, Sequence(bare, 1, 2, True)).add()
    del bare.operators[0]["intermediates"]
    bare.write(flatc, schema, folder, "lstm-bare")


main(*sys.argv[1:])
