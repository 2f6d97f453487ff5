# SPDX-License-Identifier: Apache-2.0
"""Pools, convolutions and fully connected layers: sums over windows."""

import math

import nnt
from case import FLOATS, QUANTS, count, indices, offset, operation, to_nchw, types_of
from num import (RANGE, activation_bounds, activation_real, clamp, f32, mbqm, mbqm_once,
                 mbqm_reduced, qm, tdiv)


class Axis:
    """A window along one axis: its sizes, and which taps meet the input."""

    def __init__(self, size, taps, stride, dilation=1, head=0, tail=0):
        self.size, self.taps, self.stride, self.dilation = size, taps, stride, dilation
        self.head, self.tail = head, tail

    def span(self):
        return (self.taps - 1) * self.dilation + 1

    def set_same(self):
        positions = -(-self.size // self.stride)
        total = max(0, (positions - 1) * self.stride + self.span() - self.size)
        self.head, self.tail = total // 2, total - total // 2

    def output(self):
        return (self.size - self.span() + self.stride + self.head + self.tail) // self.stride

    def cells(self, position):
        """(tap, cell) pairs inside the input."""
        first = position * self.stride - self.head
        pairs = ((t, first + t * self.dilation) for t in range(self.taps))
        return [(t, c) for t, c in pairs if 0 <= c < self.size]


class Transposed(Axis):
    """A transposed convolution's axis."""

    def output(self):
        return (self.size - 1) * self.stride + self.taps - self.head - self.tail

    def set_same(self, wanted):
        positions = -(-wanted // self.stride)
        total = (positions - 1) * self.stride + self.taps - wanted
        self.head = max(0, total) // 2
        self.tail = total - self.head

    def cells(self, position):
        pairs = ((t, position + self.head - t) for t in range(self.taps))
        return [(t, c // self.stride) for t, c in pairs
                if c % self.stride == 0 and 0 <= c // self.stride < self.size]


def random_axes(case, dilated=False):
    """Height and width of an image and a window, with a legal padding; and its arguments."""
    axes = []
    for _ in range(2):
        taps = case.between(1, 4)
        dilation = case.between(1, 3) if dilated else 1
        size = case.between((taps - 1) * dilation + 1, (taps - 1) * dilation + 7)
        axes.append(Axis(size, taps, case.between(1, 3), dilation))
    code = case.choose(None, 1, 2)
    for axis in axes:
        if code == 1:
            axis.set_same()
        if code is None:
            axis.head, axis.tail = (case.between(0, axis.span() - 1) for _ in range(2))
    return axes, code


def padding_arguments(case, axes, code):
    height, width = axes
    if code is not None:
        return [case.i32(code)]
    return [case.i32(v) for v in (width.head, width.tail, height.head, height.tail)]


def strides(case, axes):
    return [case.i32(axes[1].stride), case.i32(axes[0].stride)]


def image(case, type_, dims, nchw, **more):
    """A data input given as NHWC; its elements stay in that order in .values."""
    values = case.values(type_, count(dims), -2.0, 2.0)
    stored_dims, stored = to_nchw(dims, values) if nchw else (dims, values)
    tensor = case.tensor(type_, stored_dims, stored, **more)
    tensor.dims, tensor.values = list(dims), values
    return tensor


def result(case, type_, dims, values, nchw, scale=0.0, zero_point=0):
    if nchw:
        dims, values = to_nchw(dims, values)
    return case.output(type_, dims, values, scale, zero_point)


POOLS = {'AVERAGE_POOL_2D': FLOATS + QUANTS, 'L2_POOL_2D': FLOATS, 'MAX_POOL_2D': FLOATS + QUANTS}


def pool_cells(name, type_, cells):
    if name == 'MAX_POOL_2D':
        return max(cells)
    if name == 'L2_POOL_2D':
        return math.sqrt(math.fsum(c * c for c in cells) / len(cells))
    if type_ in FLOATS:
        return math.fsum(cells) / len(cells)
    total, n = sum(cells), len(cells)
    return tdiv(total + n // 2 if total > 0 else total - n // 2, n)


@operation(*POOLS)
def pool(case, name):
    type_ = case.choose(*POOLS[name])
    axes, code = random_axes(case)
    depth, batch = case.between(1, 5), case.between(1, 2)
    nchw = case.choose(None, False, True)
    a = image(case, type_, [batch, axes[0].size, axes[1].size, depth], nchw, scale=case.scale(0.01, 0.2))
    act = case.between(0, 3)
    inputs = [a] + padding_arguments(case, axes, code) + strides(case, axes)
    inputs += [case.i32(axes[1].taps), case.i32(axes[0].taps), case.i32(act)]
    inputs += [] if nchw is None else [case.boolean(nchw)]
    dims = [batch, axes[0].output(), axes[1].output(), depth]
    values = []
    for n, y, x, c in indices(dims):
        cells = [a.values[offset(a.dims, (n, i, j, c))]
                 for _, i in axes[0].cells(y) for _, j in axes[1].cells(x)]
        values.append(pool_cells(name, type_, cells))
    if type_ in FLOATS:
        values = [activation_real(act, v) for v in values]
    else:
        low, high = activation_bounds(act, type_, a.scale, a.zero_point)
        values = [clamp(v, low, high) for v in values]
    return case.model(name, inputs, [result(case, type_, dims, values, nchw, a.scale, a.zero_point)])


class Layer:
    """The operands that all convolutions and FULLY_CONNECTED share."""

    def __init__(self, case, type_, data, filter_dims, channel_dim, n_out, rounds_once=False):
        # TensorFlow Lite's int8: scales are multiplied in double; FULLY_CONNECTED rounds once.
        self.type, self.data = type_, data
        self.rounds_once = rounds_once and type_ == nnt.Q8S
        per_channel = type_ in QUANTS and channel_dim is not None and case.coin()
        if per_channel:
            self.filter = case.per_channel(filter_dims, channel_dim)
            scales = self.filter.channel_scales
        else:
            self.filter = case.tensor(type_, filter_dims, low=-1.0, high=1.0)
            scales = [self.filter.scale] * n_out
        if type_ in FLOATS:
            self.bias = case.tensor(type_, [n_out], low=-1.0, high=1.0)
            return
        products = [f32(data.scale * s) for s in scales]
        self.bias = case.tensor(nnt.I32, [n_out], low=-4000, high=4000,
                                scale=None if per_channel else products[0])
        reach = 60 * math.sqrt(count(filter_dims) / n_out) * max(products)
        self.scale = f32(reach * case.rng.uniform(0.5, 2.0))
        self.zero_point = case.zero_point(type_)
        if type_ == nnt.Q8S and not rounds_once:
            products = [data.scale * s for s in scales]
        self.multipliers = [qm(p / self.scale) for p in products]

    def element(self, pairs, channel, act):
        """One output element: pairs are offsets into data and filter."""
        a, f = self.data, self.filter
        if self.type in FLOATS:
            total = math.fsum([a.values[i] * f.values[j] for i, j in pairs])
            return activation_real(act, total + self.bias.values[channel])
        acc = sum((a.values[i] - a.zero_point) * (f.values[j] - f.zero_point) for i, j in pairs)
        scale = mbqm_once if self.rounds_once else mbqm
        code = scale(acc + self.bias.values[channel], *self.multipliers[channel]) + self.zero_point
        return clamp(code, *activation_bounds(act, self.type, self.scale, self.zero_point))

    def quant(self):
        return (0.0, 0) if self.type in FLOATS else (self.scale, self.zero_point)


class WideLayer:
    """The same of 16-bit data and 8-bit weights, whose bias has 64 or 32 bits: how its sums are rounded
    goes by that."""

    def __init__(self, case, name, data, filter_dims, channel_dim, n_out):
        self.data = data
        is_wide = name == 'DEPTHWISE_CONV_2D' or case.coin()
        per_channel = channel_dim is not None and case.coin()
        if per_channel:
            self.filter = case.per_channel(filter_dims, channel_dim)
            scales = self.filter.channel_scales
        else:
            self.filter = case.tensor(nnt.Q8Y, filter_dims)
            scales = [self.filter.scale] * n_out
        products = [data.scale * s for s in scales]
        if is_wide:
            self.bias = case.tensor(nnt.I64, [n_out], low=-2**30, high=2**30)
        else:
            self.bias = case.tensor(nnt.I32, [n_out], low=-2**24, high=2**24,
                                    scale=None if per_channel else f32(products[0]))
        if name == 'FULLY_CONNECTED':
            products = [f32(p) for p in products]
        self.scale = f32(max(products) * math.sqrt(count(filter_dims) / n_out) * case.rng.uniform(20, 200))
        self.multipliers = [qm(p / self.scale) for p in products]
        self.scaled = mbqm_reduced if is_wide else mbqm if name == 'TRANSPOSE_CONV_2D' else mbqm_once

    def element(self, pairs, channel, act):
        total = sum(self.data.values[i] * self.filter.values[j] for i, j in pairs)
        code = self.scaled(total + self.bias.values[channel], *self.multipliers[channel])
        return clamp(code, *activation_bounds(act, nnt.Q16Y, self.scale, 0))

    def quant(self):
        return self.scale, 0


def make_layer(case, name, data, filter_dims, channel_dim, n_out):
    """name: of the operation, without the extension's prefix."""
    if data.type == nnt.Q16Y:
        return WideLayer(case, name, data, filter_dims, channel_dim, n_out)
    return Layer(case, data.type, data, filter_dims, channel_dim, n_out, name == 'FULLY_CONNECTED')


def random_data(case, type_, dims, nchw):
    return image(case, type_, dims, nchw, scale=case.scale(0.01, 0.05))


@operation('CONV_2D', 'DEPTHWISE_CONV_2D', 'GROUPED_CONV_2D', 'TFLITE_CONV_2D', 'TFLITE_DEPTHWISE_CONV_2D')
def convolution(case, full_name):
    name = full_name.removeprefix('TFLITE_')
    type_ = case.choose(*types_of(full_name, FLOATS + QUANTS))
    nchw = case.coin() if name == 'GROUPED_CONV_2D' else case.choose(None, False, True)
    dilated = nchw is not None and name != 'GROUPED_CONV_2D' and case.coin()
    axes, code = random_axes(case, dilated)
    batch, depth, groups = case.between(1, 2), case.between(1, 6), 1
    n_out = case.between(1, 6)
    taps = [axes[0].taps, axes[1].taps]
    if name == 'DEPTHWISE_CONV_2D':
        groups = case.between(1, 3)  # the depth multiplier
        n_out = depth * groups
        filter_dims, channel_dim = [1] + taps + [n_out], 3
    elif name == 'GROUPED_CONV_2D':
        groups = case.between(1, 3)
        n_out, per_group = case.between(1, 3) * groups, depth
        depth *= groups
        filter_dims, channel_dim = [n_out] + taps + [per_group], 0
    else:
        filter_dims, channel_dim = [n_out] + taps + [depth], 0
    data = random_data(case, type_, [batch, axes[0].size, axes[1].size, depth], nchw)
    layer = make_layer(case, name, data, filter_dims, channel_dim, n_out)
    act = case.between(0, 3)
    inputs = [data, layer.filter, layer.bias] + padding_arguments(case, axes, code) + strides(case, axes)
    inputs += [case.i32(groups)] if name != 'CONV_2D' else []
    inputs += [case.i32(act)]
    inputs += [] if nchw is None else [case.boolean(nchw)]
    inputs += [case.i32(axes[1].dilation), case.i32(axes[0].dilation)] if dilated else []

    def pairs(n, y, x, c):
        for ty, i in axes[0].cells(y):
            for tx, j in axes[1].cells(x):
                if name == 'DEPTHWISE_CONV_2D':
                    yield offset(data.dims, (n, i, j, c // groups)), offset(filter_dims, (0, ty, tx, c))
                    continue
                first = c // (n_out // groups) * filter_dims[3]
                for k in range(filter_dims[3]):
                    yield offset(data.dims, (n, i, j, first + k)), offset(filter_dims, (c, ty, tx, k))
    dims = [batch, axes[0].output(), axes[1].output(), n_out]
    values = [layer.element(list(pairs(*index)), index[3], act) for index in indices(dims)]
    return case.model(full_name, inputs, [result(case, type_, dims, values, nchw, *layer.quant())])


@operation('TRANSPOSE_CONV_2D', 'TFLITE_TRANSPOSE_CONV_2D')
def transpose_convolution(case, name):
    type_ = case.choose(*types_of(name, FLOATS + QUANTS))
    nchw, code = case.coin(), case.choose(None, 1, 2)
    axes = [Transposed(case.between(1, 5), case.between(1, 4), case.between(1, 3)) for _ in range(2)]
    for axis in axes:
        if code is None:
            axis.head = case.between(0, axis.taps - 1)
            axis.tail = case.between(-1, axis.taps - 1)
            if axis.output() <= 0:
                axis.head, axis.tail = 0, 0
        if code == 1:
            axis.set_same(axis.size * axis.stride)
    batch, depth, n_out = case.between(1, 2), case.between(1, 5), case.between(1, 5)
    data = random_data(case, type_, [batch, axes[0].size, axes[1].size, depth], nchw)
    filter_dims = [n_out, axes[0].taps, axes[1].taps, depth]
    layer = make_layer(case, 'TRANSPOSE_CONV_2D', data, filter_dims, 0, n_out)
    act = case.between(0, 3)
    dims = [batch, axes[0].output(), axes[1].output(), n_out]
    inputs = [data, layer.filter, layer.bias]
    if code is not None:
        shape = [dims[0], dims[3], dims[1], dims[2]] if nchw else dims
        inputs += [case.tensor(nnt.I32, [4], shape)]
    inputs += padding_arguments(case, axes, code) + strides(case, axes)
    inputs += [case.i32(act), case.boolean(nchw)]

    def pairs(n, y, x, c):
        return [(offset(data.dims, (n, i, j, k)), offset(filter_dims, (c, ty, tx, k)))
                for ty, i in axes[0].cells(y) for tx, j in axes[1].cells(x) for k in range(depth)]
    values = [layer.element(pairs(*index), index[3], act) for index in indices(dims)]
    return case.model(name, inputs, [result(case, type_, dims, values, nchw, *layer.quant())])


@operation('FULLY_CONNECTED', 'TFLITE_FULLY_CONNECTED')
def fully_connected(case, name):
    type_ = case.choose(*types_of(name, FLOATS + QUANTS))
    depth, units, batch = case.between(1, 40), case.between(1, 12), case.between(1, 5)
    dims = case.choose([batch, depth], [batch, 1, depth], [1, batch, 1, depth], [depth, batch])
    data = case.tensor(type_, dims, scale=case.scale(0.01, 0.05))
    layer = make_layer(case, 'FULLY_CONNECTED', data, [units, depth], None, units)
    act = case.between(0, 3)
    values = [layer.element([(b * depth + i, u * depth + i) for i in range(depth)], u, act)
              for b in range(batch) for u in range(units)]
    out = case.output(type_, [batch, units], values, *layer.quant())
    return case.model(name, [data, layer.filter, layer.bias, case.i32(act)], [out])


@operation('BATCH_MATMUL')
def batch_matmul(case, name):
    type_ = case.choose(nnt.F32, nnt.F16, nnt.I32, nnt.Q8S)
    batch = case.shape(1, 2, max_dim=3) if case.coin(0.7) else []
    m, n, k = (case.between(1, 9) for _ in range(3))
    adjoint = [case.coin(), case.coin()]
    wide = 100 if type_ != nnt.I32 or case.coin() else 2**31 - 1
    limits = {'low': -wide, 'high': wide} if type_ == nnt.I32 else {}
    x = case.tensor(type_, batch + ([k, m] if adjoint[0] else [m, k]), **limits)
    y = case.tensor(type_, batch + ([n, k] if adjoint[1] else [k, n]), **limits)
    quant, multiplier = (0.0, 0), None
    if type_ == nnt.Q8S:
        quant = (f32(f32(x.scale * y.scale) * 60 * math.sqrt(k)), case.zero_point(type_))
        multiplier = qm(f32(x.scale * y.scale) / quant[0])

    def term(at, i, j, step):
        xi = step * m + i if adjoint[0] else i * k + step
        yi = j * k + step if adjoint[1] else step * n + j
        return ((x.values[at * m * k + xi] - x.zero_point) * (y.values[at * n * k + yi] - y.zero_point))

    def element(at, i, j):
        terms = [term(at, i, j, step) for step in range(k)]
        if type_ in FLOATS:
            return math.fsum(terms)
        total = sum(terms)
        if type_ == nnt.I32:
            return (total + 2**31) % 2**32 - 2**31
        return clamp(mbqm(total, *multiplier) + quant[1], *RANGE[type_])
    values = [element(at, i, j) for at in range(count(batch)) for i in range(m) for j in range(n)]
    out = case.output(type_, batch + [m, n], values, *quant)
    return case.model(name, [x, y, case.boolean(adjoint[0]), case.boolean(adjoint[1])], [out])
