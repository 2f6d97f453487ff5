# SPDX-License-Identifier: Apache-2.0
"""The quantized LSTMs, NNAPI's two and nnhal.tflite's, in exact 16-bit and 32-bit integers."""

import math

import nnt
from case import operation
from num import INT32_MAX, clamp, f32, mbqm, qm, rdp, shl_sat, srdhm, tdiv, wrap32


def sat16(x):
    return clamp(x, -32768, 32767)


def wrap16(x):
    return (x + 32768) % 65536 - 32768


def mul16(a, b):
    """Saturating rounding doubling high multiplication of 16 bits."""
    if a == b == -32768:
        return 32767
    p = a * b
    return tdiv(p + (2**14 if p >= 0 else 1 - 2**14), 2**15)


def shl16(x, n):
    limit = 2**(15 - n) - 1
    return 32767 if x > limit else -32768 if x < -limit else x << n


def exp_quarter(a):
    x = wrap16(a + 4096)
    x2 = mul16(x, x)
    x3, x4 = mul16(x2, x), mul16(x2, x2)
    t = rdp(wrap16(mul16(wrap16(rdp(x4, 2) + x3), 10923) + x2), 1)
    return sat16(28918 + mul16(28918, wrap16(x + t)))


def exp_negative(a, bits):
    """e**a for a <= 0 with that many integer bits."""
    if a == 0:
        return 32767
    if bits > 5 and a < -2**(20 - bits):
        return 0
    fraction = 15 - bits
    unit = 2**(fraction - 2)
    r = (a & (unit - 1)) - unit
    e = exp_quarter(shl16(r, bits))
    for k, c in enumerate((25520, 19875, 12055, 4435, 600, 11, 0), -2):
        if bits > k and (r - a) & 2**(fraction + k):
            e = mul16(e, c)
    return e


def reciprocal(e):
    s = e + 32767
    h = tdiv(s + (1 if s >= 0 else -1), 2)
    x = wrap16(23130 + mul16(h, -15420))
    for _ in range(3):
        x = wrap16(x + shl16(mul16(x, wrap16(8192 - mul16(h, x))), 2))
    return x


def logistic16(a):
    if a == 0:
        return 16384
    y = shl16(reciprocal(exp_negative(-abs(a), 3)), 1)
    return y if a > 0 else 32767 - y


def tanh16(a, bits):
    if a == 0:
        return 0
    y = shl16(wrap16(reciprocal(exp_negative(-abs(a), bits + 1)) - 8192), 2)
    return y if a > 0 else -y


def codes(case, n, low, high):
    return [case.between(low, high) for _ in range(n)]


def operand(case, type_, dims, low, high, scale, zero_point=0, constant=None):
    return case.tensor(type_, dims, codes(case, math.prod(dims), low, high), scale, zero_point, constant)


def rows(tensor, i):
    n = tensor.dims[-1]
    return tensor.values[i * n:(i + 1) * n]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


@operation('QUANTIZED_16BIT_LSTM')
def lstm16(case, name):
    batches, inputs, outputs = case.between(1, 3), case.between(1, 6), case.between(1, 6)
    scale, zero = case.scale(0.002, 0.02), case.between(100, 150)
    x = operand(case, nnt.Q8, [batches, inputs], 0, 255, 1 / 128, 128)
    weights = [operand(case, nnt.Q8, [outputs, n], 0, 255, scale, zero)
               for n in [inputs] * 4 + [outputs] * 4]
    bias_scale = f32(scale / 128)
    bias = [operand(case, nnt.I32, [outputs], -9000, 9000, bias_scale) for _ in range(4)]
    state = operand(case, nnt.Q16Y, [batches, outputs], -9000, 9000, 1 / 2048)
    previous = operand(case, nnt.Q8, [batches, outputs], 0, 255, 1 / 128, 128)
    m, shift = qm(f32(4096 * bias_scale))
    new_state, out = [], []
    for b in range(batches):
        both = [q - 128 for q in rows(x, b) + rows(previous, b)]
        for c in range(outputs):
            gates = []
            for k in range(4):
                row = [w - zero for w in rows(weights[4 + k], c) + rows(weights[k], c)]
                gates.append(sat16(mbqm(bias[k].values[c] + dot(row, both), m, shift)))
            i, f, o = (logistic16(gates[k]) for k in (0, 1, 3))
            kept = mul16(f, rows(state, b)[c])
            new = sat16(rdp(mul16(i, tanh16(gates[2], 3)), 4) + kept)
            y = mul16(o, tanh16(shl16(new, 1), 3))
            new_state.append(new)
            out.append(128 + clamp(rdp(y, 8), -128, 127))
    return case.model(name, [x] + weights + bias + [state, previous],
                      [case.output(nnt.Q16Y, state.dims, new_state, 1 / 2048),
                       case.output(nnt.Q8, state.dims, out, 1 / 128, 128)])


# QUANTIZED_LSTM

def inverse_sqrt(n):
    """1 / sqrt(n) as a multiplier."""
    if n <= 1:
        return INT32_MAX, 0
    shift = 11
    while n >= 2**29:
        n //= 4
        shift += 1
    pairs = (32 - n.bit_length() - 1) // 2 - 1
    shift -= pairs
    half = rdp((n << 2 * pairs) >> 1, 1)
    x = 2**28
    for _ in range(5):
        cube = shl_sat(srdhm(srdhm(x, x), x), 6)
        x = shl_sat(srdhm(2**28 + 2**27, x) - srdhm(half, cube), 3)
    x = srdhm(x, 1518500250)
    return (x << -shift, 0) if shift < 0 else (x, -shift)


def layer_norm(q, weights, bias, lowest):
    n = len(q)
    mean = tdiv(1024 * sum(q), n)
    variance = tdiv(sum(v * v for v in q) * (2**20 // n) - mean * mean, 2**20)
    if variance < 1:
        variance = lowest(1, math.trunc(f32(10000 * weights.scale)))
    a, e = inverse_sqrt(variance)
    m, shift = qm(weights.scale)
    out = []
    for v, w, b in zip(q, weights.values, bias.values):
        t = mbqm(1024 * v - mean, a, e) * w + b
        out.append(sat16(mbqm(tdiv(t + 512 if t > 0 else t - 512, 1024), m, shift + 12)))
    return out


class Cell:
    """Operands and arithmetic of QUANTIZED_LSTM. lowest: of 1 and what a variance below 1 would be by its scale."""

    lowest = staticmethod(min)
    norm_scale = 3e-5

    def __init__(self, case):
        self.case = case
        self.batches, self.inputs, self.cells = (case.between(1, 3) for _ in range(3))
        self.cells += 1
        self.x_dims = [self.batches, self.inputs]
        self.coupled, self.peephole = case.coin(0.4), case.coin(0.4)
        self.norm_present, self.projected = case.coin(), case.coin()
        self.outputs = case.between(1, 4) if self.projected else self.cells
        self.power = case.between(-15, -9)
        self.cell_clip, self.projection_clip = case.choose(0.0, 1.5), case.choose(0.0, 0.3)
        self.hidden_zero, self.hidden_scale = case.choose(0, 0, 7, -9), f32(1 / 128)
        self.inter = [case.scale(0.0003, 0.001) for _ in range(4)]
        self.make()

    def part(self, present, type_, dims, low, high, scale):
        if present:
            return operand(self.case, type_, dims, low, high, scale)
        index = self.case.omitted(type_, [0] * len(dims))
        self.case.built.operands[index.index].scale = 0.0 if type_ == nnt.I32 else 1.0
        return index

    def group(self, type_, dims, low, high, scale, present=True):
        return [self.part(present and not (k == 0 and self.coupled), type_, dims, low, high,
                          scale if type_ == nnt.I32 else self.case.scale(scale, 2 * scale))
                for k in range(4)]

    def make(self):
        case, cells = self.case, self.cells
        self.x = operand(case, nnt.Q8S, self.x_dims, -128, 127, case.scale(), case.between(-20, 20))
        self.weights = self.group(nnt.Q8Y, [cells, self.inputs], -127, 127, 0.005)
        self.recurrent = self.group(nnt.Q8Y, [cells, self.outputs], -127, 127, 0.005)
        self.peepholes = [self.part(self.peephole and not (k == 0 and self.coupled), nnt.Q16Y, [cells],
                                    -30000, 30000, f32(3e-5)) for k in range(3)]
        self.bias = self.group(nnt.I32, [cells], -30000, 30000, 0.0)
        self.projection = self.part(self.projected, nnt.Q8Y, [self.outputs, cells], -127, 127, f32(0.01))
        self.projection_bias = self.part(self.projected and case.coin(), nnt.I32, [self.outputs], -5000, 5000, 0.0)
        self.h = operand(case, nnt.Q8S, [self.batches, self.outputs], -128, 127, case.scale(0.006, 0.02), case.between(-20, 20))
        self.c = operand(case, nnt.Q16Y, [self.batches, cells], -20000, 20000, 2.0**self.power)
        self.norm = self.group(nnt.Q16Y, [cells], 1, 30000, self.norm_scale, self.norm_present)

    def operands(self):
        case = self.case
        clips = [case.scalar(nnt.FLOAT32, v) if v or case.coin() else case.omitted(nnt.FLOAT32)
                 for v in (self.cell_clip, self.projection_clip)]
        floats = clips + [case.scalar(nnt.FLOAT32, v) for v in self.inter]
        return ([self.x] + self.weights + self.recurrent + self.peepholes + self.bias
                + [self.projection, self.projection_bias, self.h, self.c] + self.norm + floats
                + [case.i32(self.hidden_zero), case.scalar(nnt.FLOAT32, self.hidden_scale)])

    def gate(self, k, x, h, c):
        inter = self.inter[k]

        def multiplier(weights, scale):
            return qm(f32(f32(weights.scale * scale) / inter))
        out = []
        for u in range(self.cells):
            total = dot(rows(self.weights[k], u), x)
            if not self.norm_present:
                total = wrap32(total + self.bias[k].values[u])
            q = sat16(mbqm(total, *multiplier(self.weights[k], self.x.scale)))
            q = sat16(mbqm(dot(rows(self.recurrent[k], u), h), *multiplier(self.recurrent[k], self.h.scale)) + q)
            if self.peephole and k != 2:
                weights = self.peepholes[{0: 0, 1: 1, 3: 2}[k]]
                q = sat16(mbqm(weights.values[u] * c[u], *multiplier(weights, 2.0**self.power)) + q)
            out.append(q)
        return layer_norm(out, self.norm[k], self.bias[k], self.lowest) if self.norm_present else out

    def step(self, x, h, old):
        """The new cell state and output of codes of one batch."""
        x = [q - self.x.zero_point for q in x]
        h = [q - self.h.zero_point for q in h]
        f = [logistic16(q) for q in self.gate(1, x, h, old)]
        m = [tanh16(q, 3) for q in self.gate(2, x, h, old)]
        i = [32767 - v for v in f] if self.coupled else [logistic16(q) for q in self.gate(0, x, h, old)]
        new = [sat16(rdp(fv * cv, 15) + rdp(iv * mv, 30 + self.power)) for fv, cv, iv, mv in zip(f, old, i, m)]
        if self.cell_clip > 0:
            bound = math.trunc(clamp(f32(self.cell_clip / 2.0**self.power), -32768, 32767))
            new = [clamp(v, -bound, bound) for v in new]
        o = [logistic16(q) for q in self.gate(3, x, h, new)]
        hidden = [clamp(mbqm(ov * tanh16(cv, self.power + 15), *qm(f32(2.0**-30 / self.hidden_scale))) - self.hidden_zero,
                        -128, 127) for ov, cv in zip(o, new)]
        return new, self.project(hidden) if self.projected else hidden

    def clip_scale(self):
        return self.projection.scale

    def project(self, hidden):
        m, shift = qm(f32(f32(self.projection.scale * self.hidden_scale) / self.h.scale))
        shifted, out = [q + self.hidden_zero for q in hidden], []
        for r in range(self.outputs):
            total = dot(rows(self.projection, r), shifted)
            total += self.projection_bias.values[r] if self.projection_bias.values else 0
            y = clamp(mbqm(total, m, shift) + self.h.zero_point, -128, 127)
            if self.projection_clip > 0:
                bound = math.trunc(clamp(f32(self.projection_clip / self.clip_scale()), -128, 127))
                y = clamp(y, -bound, bound)
            out.append(y)
        return out


@operation('QUANTIZED_LSTM')
def quantized_lstm(case, name):
    cell = Cell(case)
    results = [cell.step(rows(cell.x, b), rows(cell.h, b), rows(cell.c, b)) for b in range(cell.batches)]
    out = [q for _, y in results for q in y]
    shape = [cell.batches, cell.outputs]
    quant = (cell.h.scale, cell.h.zero_point)
    return case.model(name, cell.operands(),
                      [case.output(nnt.Q8S, shape, out, *quant),
                       case.output(nnt.Q16Y, cell.c.dims, [q for c, _ in results for q in c], cell.c.scale),
                       case.output(nnt.Q8S, shape, out, *quant)])


# nnhal.tflite

class LiteCell(Cell):
    """What differs in TensorFlow Lite, and a sequence of steps; one of rank 2 is a step."""

    lowest = staticmethod(max)

    def __init__(self, case):
        super().__init__(case)
        self.out_scale = case.scale(0.006, 0.02)
        if self.norm_scale != Cell.norm_scale:
            self.inter = [case.scale(1.0, 4.0) for _ in range(4)]

    def make(self):
        case = self.case
        self.steps, self.time_major = case.between(1, 4), case.coin()
        self.is_step = case.coin(0.2)
        if self.is_step:
            self.steps, self.time_major = 1, True
        else:
            self.x_dims = self.sequence(self.inputs)
        if self.peephole:
            self.outputs = self.cells
        if case.coin(0.3):  # sums that differ little: a variance below 1 counts as more than 1
            self.norm_scale = 1e-3
        super().make()

    def sequence(self, size):
        if self.is_step:
            return [self.batches, size]
        return ([self.steps, self.batches] if self.time_major else [self.batches, self.steps]) + [size]

    def clip_scale(self):
        return self.out_scale

    def walk(self):
        """All outputs, and the states behind the last step."""
        out, last_h, last_c = [None] * (self.steps * self.batches), [], []
        for b in range(self.batches):
            h, c = rows(self.h, b), rows(self.c, b)
            for t in range(self.steps):
                row = t * self.batches + b if self.time_major else b * self.steps + t
                c, h = self.step(rows(self.x, row), h, c)
                out[row] = h
            last_h += h
            last_c += c
        return [q for row in out for q in row], last_h, last_c


def sequence_lstm(case, name):
    """Of 8 bits; ops_sixteen_lstm.py chooses."""
    cell = LiteCell(case)
    out, last_h, last_c = cell.walk()
    outputs = [case.output(nnt.Q8S, cell.sequence(cell.outputs), out, cell.out_scale, case.between(-20, 20))]
    if case.coin():
        outputs += [case.output(nnt.Q8S, cell.h.dims, last_h, cell.h.scale, cell.h.zero_point),
                    case.output(nnt.Q16Y, cell.c.dims, last_c, cell.c.scale)]
    return case.model(name, cell.operands() + [case.boolean(cell.time_major)], outputs)
