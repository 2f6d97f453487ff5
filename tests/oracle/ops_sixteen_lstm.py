# SPDX-License-Identifier: Apache-2.0
"""nnhal.tflite's UNIDIRECTIONAL_SEQUENCE_LSTM: of 16-bit activations by TensorFlow Lite Micro's EvalLstm, in operations
of 16 bits one after the other; of 8 bits by ops_quantized_lstm."""

import math

import nnt
import ops_quantized_lstm
from case import operation
from num import clamp, f32, mbqm, mbqm_reduced, qm
from ops_quantized_lstm import dot, operand, rows, sat16
from ops_sixteen import logistic_of, tanh_of

INPUT, FORGET, CELL, OUTPUT = range(4)
GATE_SCALE = 2.0**-12


def dense(codes, weights, unit, bias, scale):
    """FULLY_CONNECTED to a code of a gate; scale: the data's."""
    m = qm(f32(scale * weights.scale) / GATE_SCALE)
    return sat16(mbqm_reduced(dot(codes, rows(weights, unit)) + bias, *m))


def product(a, b, scale):
    """MUL of codes; scale: the product's by the result's."""
    return [sat16(mbqm(x * y, *qm(scale))) for x, y in zip(a, b)]


def logistic(codes):
    return [logistic_of(3 * q) for q in codes]


def tanh(codes, power):
    """Of codes of scale 2**power, in steps of 1 / 12288 rounded half up."""
    return [tanh_of(math.floor(3 * q * 2.0**(power + 12) + 0.5)) for q in codes]


class Cell:
    """Scales, weights and one step; of tensors as the oracle or a file has them."""

    def __init__(self, scales, weights, recurrent, bias, clip):
        self.x_scale, self.h_scale, self.c_scale = scales
        self.weights, self.recurrent, self.bias, self.clip = weights, recurrent, bias, clip

    def gate(self, k, x, h):
        return [sat16(dense(x, self.weights[k], u, self.bias[k].values[u], self.x_scale)
                      + dense(h, self.recurrent[k], u, 0, self.h_scale)) for u in range(self.weights[k].dims[0])]

    def step(self, x, h, c):
        """The output and the new cell state of one batch."""
        i, f, o = (logistic(self.gate(k, x, h)) for k in (INPUT, FORGET, OUTPUT))
        j, power = tanh(self.gate(CELL, x, h), -12), round(math.log2(self.c_scale))
        c = [sat16(a + b) for a, b in zip(product(f, c, 2.0**-15), product(i, j, 2.0**-30 / self.c_scale))]
        if self.clip > 0:
            bound = int(min(self.clip / self.c_scale, 32767))
            c = [clamp(v, -bound, bound) for v in c]
        return product(tanh(c, power), o, 2.0**-30 / self.h_scale), c

    def walk(self, sequences, h, c):
        """The outputs of each batch's steps, and the last states."""
        out = []
        for b, steps in enumerate(sequences):
            out.append([])
            for x in steps:
                h[b], c[b] = self.step(x, h[b], c[b])
                out[b].append(h[b])
        return out, h, c


def batches(tensor):
    return [rows(tensor, b) for b in range(tensor.dims[0])]


def codes(case, dims, scale):
    return operand(case, nnt.Q16Y, dims, -32768, 32767, scale)


def biases(case, cells):
    type_ = case.choose(nnt.I64, nnt.I64, nnt.I32)
    limit = 2**36 if type_ == nnt.I64 and case.coin(0.2) else 2**22
    return [operand(case, type_, [cells], -limit, limit, 0.0) for _ in range(4)]


def sixteen(case, name):
    n, steps, inputs, cells, time_major = (*(case.between(1, 4) for _ in range(4)), case.coin())
    order = (lambda size: [steps, n, size]) if time_major else (lambda size: [n, steps, size])
    x = codes(case, order(inputs), case.scale(2e-5, 2e-4))
    weights, recurrent = ([operand(case, nnt.Q8Y, [cells, size], -127, 127, case.scale(0.001, 0.012)) for _ in range(4)]
                          for size in (inputs, cells))
    bias = biases(case, cells)
    h = codes(case, [n, cells], case.scale(2e-5, 5e-5))
    c = codes(case, [n, cells], f32(2.0**case.choose(case.between(-15, -9), case.between(-30, -1))
                                    * case.choose(1, 1, 1.0005)))
    clip = f32(case.choose(0.0, 0.0, c.scale * case.between(0, 40000), c.scale / 2))
    cell = Cell((x.scale, h.scale, c.scale), weights, recurrent, bias, clip)
    at = (lambda b, t: t * n + b) if time_major else (lambda b, t: b * steps + t)
    sequences = [[rows(x, at(b, t)) for t in range(steps)] for b in range(n)]
    out, last_h, last_c = cell.walk(sequences, batches(h), batches(c))
    found = [None] * (n * steps)
    for b in range(n):
        for t in range(steps):
            found[at(b, t)] = out[b][t]
    outputs = [case.output(nnt.Q16Y, order(cells), sum(found, []), case.scale(2e-5, 5e-5))]
    if case.coin():
        outputs += [case.output(nnt.Q16Y, h.dims, sum(last_h, []), h.scale),
                    case.output(nnt.Q16Y, c.dims, sum(last_c, []), c.scale)]
    return case.model(name, [x] + weights + recurrent + bias + [h, c, case.scalar(nnt.FLOAT32, clip),
                                                               case.boolean(time_major)], outputs)


@operation('TFLITE_UNIDIRECTIONAL_SEQUENCE_LSTM')
def sequence_lstm(case, name):
    return sixteen(case, name) if case.coin() else ops_quantized_lstm.sequence_lstm(case, name)
