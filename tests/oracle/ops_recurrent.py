# SPDX-License-Identifier: Apache-2.0
"""RNN, LSTM, their sequences, and SVDF, in double precision."""

import math

import nnt
from case import FLOATS, operation
from num import clamp

ACTIVATIONS = {0: lambda x: x, 1: lambda x: max(x, 0.0), 2: lambda x: clamp(x, -1.0, 1.0),
               3: lambda x: clamp(x, 0.0, 6.0), 4: math.tanh, 6: lambda x: 1 / (1 + math.exp(-x))}
SIGMOID = ACTIVATIONS[6]


class Matrix:
    """An operand of rank 2 (or of rank 1, one row), by rows."""

    def __init__(self, tensor):
        self.rows, self.columns = tensor.dims[-2] if len(tensor.dims) > 1 else 1, tensor.dims[-1]
        self.values = tensor.values

    def row(self, i):
        return self.values[i * self.columns:(i + 1) * self.columns]

    def times(self, x):
        return [math.fsum(a * b for a, b in zip(self.row(i), x)) for i in range(self.rows)]


def plus(*vectors):
    return [math.fsum(parts) for parts in zip(*vectors)]


def flat(rows):
    return [v for row in rows for v in row]


class Sequence:
    """A [steps, batches, size] tensor, or its first two exchanged."""

    def __init__(self, steps, batches, time_major):
        self.steps, self.batches, self.time_major = steps, batches, time_major

    def dims(self, size):
        first = (self.steps, self.batches) if self.time_major else (self.batches, self.steps)
        return list(first) + [size]

    def at(self, step, batch):
        return step * self.batches + batch if self.time_major else batch * self.steps + step

    def walk(self, cell, states, size, backward=False):
        """Runs cell(row, state) -> (output, state) over every batch. Returns the rows of the
        output tensor and the last states."""
        rows, last = [None] * (self.steps * self.batches), []
        for b in range(self.batches):
            state = states[b]
            for t in sorted(range(self.steps), reverse=backward):
                rows[self.at(t, b)], state = cell(self.at(t, b), state)
            last.append(state)
        return rows, last


def float_tensor(case, type_, dims, low=-0.6, high=0.6):
    return case.tensor(type_, dims, low=low, high=high)


# RNN

class RnnCell:
    """W, R, b and h of a direction, as operands and as a cell."""

    def __init__(self, case, type_, batches, inputs, units):
        self.units = units
        self.operands = [float_tensor(case, type_, dims)
                         for dims in ([units, inputs], [units, units], [units], [batches, units])]
        self.w, self.r, self.b, self.h = (Matrix(o) for o in self.operands)
        self.states = [self.h.row(b) for b in range(batches)]

    def step(self, activation, x, h, extra=()):
        sums = plus(self.w.times(x), self.r.times(h), self.b.values, *extra)
        return [ACTIVATIONS[activation](v) for v in sums]


@operation('RNN')
def rnn(case, name):
    type_, batches, inputs = case.choose(*FLOATS), case.between(1, 3), case.between(1, 20)
    x = float_tensor(case, type_, [batches, inputs])
    cell = RnnCell(case, type_, batches, inputs, case.between(1, 20))
    activation = case.choose(*ACTIVATIONS)
    values = flat(cell.step(activation, Matrix(x).row(b), cell.h.row(b)) for b in range(batches))
    outs = [case.output(type_, [batches, cell.units], values) for _ in range(2)]
    return case.model(name, [x] + cell.operands + [case.i32(activation)], outs)


@operation('UNIDIRECTIONAL_SEQUENCE_RNN')
def unidirectional_rnn(case, name):
    type_, inputs = case.choose(*FLOATS), case.between(1, 6)
    sequence = Sequence(case.between(1, 4), case.between(1, 3), case.coin())
    x = float_tensor(case, type_, sequence.dims(inputs))
    cell = RnnCell(case, type_, sequence.batches, inputs, case.between(1, 6))
    activation, xs = case.choose(1, 2, 3, 4, 6), Matrix(x)

    def step(row, h):
        out = cell.step(activation, xs.row(row), h)
        return out, out
    rows, last = sequence.walk(step, cell.states, cell.units)
    outs = [case.output(type_, sequence.dims(cell.units), flat(rows))]
    if case.coin():
        outs.append(case.output(type_, [sequence.batches, cell.units], flat(last)))
    scalars = [case.i32(activation), case.i32(sequence.time_major)]
    return case.model(name, [x] + cell.operands + scalars, outs)


def merged_outputs(case, type_, sequence, merge, forward, backward):
    """Outputs of two directions, each (rows, size): side by side, or one after the other."""
    (front, n), (back, m) = forward, backward
    if merge:
        return [case.output(type_, sequence.dims(n + m), flat(a + b for a, b in zip(front, back)))]
    return [case.output(type_, sequence.dims(n), flat(front)),
            case.output(type_, sequence.dims(m), flat(back))]


@operation('BIDIRECTIONAL_SEQUENCE_RNN')
def bidirectional_rnn(case, name):
    type_, inputs, extra = case.choose(*FLOATS), case.between(1, 5), case.between(1, 5)
    sequence = Sequence(case.between(1, 4), case.between(1, 3), case.coin())
    x = float_tensor(case, type_, sequence.dims(inputs))
    mode = case.choose('none', 'parallel', 'cross')
    forward = RnnCell(case, type_, sequence.batches, inputs, case.between(1, 5))
    backward = RnnCell(case, type_, sequence.batches, extra if mode == 'parallel' else inputs,
                       case.between(1, 5))
    aux = case.omitted(type_, [0, 0, 0])
    aux_weights = [case.omitted(type_, [0, 0]) for _ in range(2)]
    if mode != 'none':
        aux = float_tensor(case, type_, sequence.dims(extra))
    if mode == 'cross':
        aux_weights = [float_tensor(case, type_, [cell.units, extra]) for cell in (forward, backward)]
    activation = case.choose(1, 2, 3, 4, 6)

    def steps(cell, read, weights):
        def step(row, h):
            more = [Matrix(weights).times(Matrix(aux).row(row))] if mode == 'cross' else []
            out = cell.step(activation, Matrix(read).row(row), h, more)
            return out, out
        return step
    results = [sequence.walk(steps(forward, x, aux_weights[0]), forward.states, forward.units),
               sequence.walk(steps(backward, aux if mode == 'parallel' else x, aux_weights[1]),
                             backward.states, backward.units, backward=True)]
    merge = case.coin()
    outs = merged_outputs(case, type_, sequence, merge, (results[0][0], forward.units),
                          (results[1][0], backward.units))
    if case.coin():
        outs += [case.output(type_, [sequence.batches, cell.units], flat(last))
                 for cell, (_, last) in zip((forward, backward), results)]
    inputs_ = [x] + forward.operands + backward.operands + [aux] + aux_weights
    scalars = [case.i32(activation), case.boolean(sequence.time_major), case.boolean(merge)]
    return case.model(name, inputs_ + scalars, outs)


# LSTM

class LstmForm:
    """Which parts cells have, their activation and their bounds."""

    def __init__(self, case, type_):
        self.type = type_
        self.coupled, self.peephole, self.projection = case.coin(0.4), case.coin(0.4), case.coin(0.4)
        self.projection_bias, self.layer_norm = case.coin(), case.coin(0.4)
        self.activation = case.choose(0, 1, 3, 4, 4, 6)
        self.clip = case.choose(0.0, 0.0, 0.5)
        self.projection_clip = case.choose(0.0, 0.0, 0.25)


class LstmCell:
    """The operands of one cell, in groups, and the cell."""

    def __init__(self, case, form, batches, inputs, aux=0):
        self.case, self.form = case, form
        self.cells = case.between(2, 5)
        self.outputs = case.between(1, 5) if form.projection else self.cells
        cells, outputs = self.cells, self.outputs
        self.weights = self.group([cells, inputs])
        self.recurrent = self.group([cells, outputs])
        self.peephole = [self.part([cells], form.peephole and not (k == 0 and form.coupled))
                         for k in range(3)]
        self.bias = self.group([cells])
        self.projection = self.part([outputs, cells], form.projection)
        self.projection_bias = self.part([outputs], form.projection and form.projection_bias)
        self.h = float_tensor(case, form.type, [batches, outputs])
        self.c = float_tensor(case, form.type, [batches, cells])
        self.norm = self.group([cells], form.layer_norm)
        self.aux = self.group([cells, aux or 1], aux > 0)

    def part(self, dims, present):
        if present:
            return float_tensor(self.case, self.form.type, dims)
        return self.case.omitted(self.form.type, [0] * len(dims))

    def group(self, dims, present=True):
        """Operands for input, forget, cell and output gate; a coupled cell has no input gate."""
        return [self.part(dims, present and not (k == 0 and self.form.coupled)) for k in range(4)]

    def first(self):
        """The operands from the input weights to the projection's bias."""
        return (self.weights + self.recurrent + self.peephole + self.bias
                + [self.projection, self.projection_bias])

    def states(self):
        h, c = Matrix(self.h), Matrix(self.c)
        return [(h.row(b), c.row(b)) for b in range(h.rows)]

    def gate(self, k, x, aux, h, c):
        sums = plus(Matrix(self.weights[k]).times(x), Matrix(self.recurrent[k]).times(h))
        if aux is not None:
            sums = plus(sums, Matrix(self.aux[k]).times(aux))
        if self.form.peephole and k != 2:
            weights = self.peephole[{0: 0, 1: 1, 3: 2}[k]].values
            sums = [s + w * v for s, w, v in zip(sums, weights, c)]
        if self.form.layer_norm:
            mean = math.fsum(sums) / len(sums)
            deviation = math.sqrt(math.fsum((s - mean)**2 for s in sums) / len(sums) + 1e-8)
            sums = [(s - mean) / deviation * w for s, w in zip(sums, self.norm[k].values)]
        return plus(sums, self.bias[k].values)

    def step(self, x, aux, state):
        form, (h, c) = self.form, state
        act = ACTIVATIONS[form.activation]
        f = [SIGMOID(v) for v in self.gate(1, x, aux, h, c)]
        i = [1 - v for v in f] if form.coupled else [SIGMOID(v) for v in self.gate(0, x, aux, h, c)]
        j = [act(v) for v in self.gate(2, x, aux, h, c)]
        c = [fv * cv + iv * jv for fv, cv, iv, jv in zip(f, c, i, j)]
        if form.clip:
            c = [clamp(v, -form.clip, form.clip) for v in c]
        o = [SIGMOID(v) for v in self.gate(3, x, aux, h, c)]
        y = [ov * act(cv) for ov, cv in zip(o, c)]
        if form.projection:
            y = Matrix(self.projection).times(y)
            if form.projection_bias:
                y = plus(y, self.projection_bias.values)
            if form.projection_clip:
                y = [clamp(v, -form.projection_clip, form.projection_clip) for v in y]
        return y, (y, c)

    def walk(self, sequence, x, aux=None, backward=False):
        xs, extra = Matrix(x), Matrix(aux) if aux else None
        return sequence.walk(lambda row, state: self.step(xs.row(row), extra.row(row) if extra else None, state),
                             self.states(), self.outputs, backward)


def lstm_scalars(case, form):
    return [case.i32(form.activation), case.real(form.clip, form.type),
            case.real(form.projection_clip, form.type)]


def state_outputs(case, type_, batches, cell, last):
    return [case.output(type_, [batches, cell.outputs], flat(h for h, _ in last)),
            case.output(type_, [batches, cell.cells], flat(c for _, c in last))]


@operation('LSTM')
def lstm(case, name):
    form = LstmForm(case, case.choose(*FLOATS))
    batches, inputs = case.between(1, 3), case.between(1, 6)
    x = float_tensor(case, form.type, [batches, inputs])
    cell = LstmCell(case, form, batches, inputs)
    _, last = cell.walk(Sequence(1, batches, True), x)
    operands = [x] + cell.first() + [cell.h, cell.c] + lstm_scalars(case, form)
    if form.layer_norm or case.coin():
        operands += cell.norm
    width = (3 if form.coupled else 4) * cell.cells
    scratch = case.output(form.type, [batches, width], [0.0] * batches * width, compared=False)
    states = state_outputs(case, form.type, batches, cell, last)
    out = case.output(form.type, [batches, cell.outputs], flat(h for h, _ in last))
    return case.model(name, operands, [scratch] + states + [out])


@operation('UNIDIRECTIONAL_SEQUENCE_LSTM')
def unidirectional_lstm(case, name):
    form = LstmForm(case, case.choose(*FLOATS))
    sequence, inputs = Sequence(case.between(1, 4), case.between(1, 3), case.coin()), case.between(1, 6)
    x = float_tensor(case, form.type, sequence.dims(inputs))
    cell = LstmCell(case, form, sequence.batches, inputs)
    rows, last = cell.walk(sequence, x)
    operands = [x] + cell.first() + [cell.h, cell.c] + lstm_scalars(case, form)
    operands += [case.boolean(sequence.time_major)] + cell.norm
    outs = [case.output(form.type, sequence.dims(cell.outputs), flat(rows))]
    if case.coin():
        outs += state_outputs(case, form.type, sequence.batches, cell, last)
    return case.model(name, operands, outs)


@operation('BIDIRECTIONAL_SEQUENCE_LSTM')
def bidirectional_lstm(case, name):
    form = LstmForm(case, case.choose(*FLOATS))
    sequence = Sequence(case.between(1, 3), case.between(1, 3), case.coin())
    inputs, extra = case.between(1, 4), case.between(1, 4)
    x = float_tensor(case, form.type, sequence.dims(inputs))
    mode = case.choose('none', 'parallel', 'cross')
    n_aux = extra if mode == 'cross' else 0
    forward = LstmCell(case, form, sequence.batches, inputs, n_aux)
    backward = LstmCell(case, form, sequence.batches, extra if mode == 'parallel' else inputs, n_aux)
    aux = case.omitted(form.type, [0, 0, 0])
    if mode != 'none':
        aux = float_tensor(case, form.type, sequence.dims(extra))
    shared = aux if mode == 'cross' else None
    front, front_last = forward.walk(sequence, x, shared)
    back, back_last = backward.walk(sequence, aux if mode == 'parallel' else x, shared, backward=True)
    merge = case.coin()
    operands = ([x] + forward.first() + backward.first() + [forward.h, forward.c, backward.h, backward.c]
                + [aux] + forward.aux + backward.aux + lstm_scalars(case, form)
                + [case.boolean(merge), case.boolean(sequence.time_major)] + forward.norm + backward.norm)
    outs = merged_outputs(case, form.type, sequence, merge, (front, forward.outputs), (back, backward.outputs))
    if case.coin():
        outs += state_outputs(case, form.type, sequence.batches, forward, front_last)
        outs += state_outputs(case, form.type, sequence.batches, backward, back_last)
    return case.model(name, operands, outs)


@operation('SVDF')
def svdf(case, name):
    type_ = case.choose(*FLOATS)
    batches, inputs, memory = case.between(1, 3), case.between(1, 8), case.between(1, 6)
    rank, units = case.between(1, 3), case.between(1, 4)
    filters = rank * units
    x = float_tensor(case, type_, [batches, inputs])
    features, time = float_tensor(case, type_, [filters, inputs]), float_tensor(case, type_, [filters, memory])
    bias = float_tensor(case, type_, [units]) if case.coin() else case.omitted(type_, [0])
    state = float_tensor(case, type_, [batches, memory * filters])
    activation = case.choose(*ACTIVATIONS)
    new_state, out = [], []
    for b in range(batches):
        newest = Matrix(features).times(Matrix(x).row(b))
        sums = list(bias.values) or [0.0] * units
        for f in range(filters):
            past = Matrix(state).row(b)[f * memory:(f + 1) * memory - 1] + [newest[f]]
            sums[f // rank] += math.fsum(s * w for s, w in zip(past, Matrix(time).row(f)))
            new_state += past[1:] + [0.0]
        out += [ACTIVATIONS[activation](s) for s in sums]
    return case.model(name, [x, features, time, bias, state, case.i32(rank), case.i32(activation)],
                      [case.output(type_, [batches, memory * filters], new_state),
                       case.output(type_, [batches, units], out)])
