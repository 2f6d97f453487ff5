# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and functions of 16-bit codes and of codes of other scales, of nnhal.tflite, by TensorFlow Lite's
reference kernels."""

import math

import nnt
import ops_activation
import ops_elementwise
from case import QUANTS, broadcast_dims, broadcast_offset, count, indices, operation, ranks_of, slices
from num import activation_bounds, clamp, f32, mbqm, qm, round_away
from ops_quantized_lstm import logistic16, shl16, tanh16

LOW, HIGH = -32768, 32767


def codes(case, dims, scale=None):
    return case.tensor(nnt.Q16Y, dims, scale=case.scale(1e-4, 1e-2) if scale is None else scale)


def output(case, dims, values, scale):
    return case.output(nnt.Q16Y, dims, [clamp(v, LOW, HIGH) for v in values], scale)


@operation('TFLITE_ADD', 'TFLITE_SUB', 'TFLITE_MUL')
def arithmetic(case, name):
    if case.coin():
        return ops_elementwise.arithmetic(case, name)
    if name == 'TFLITE_MUL' and case.coin():
        return coarse_product(case, name)
    a_dims, b_dims = case.broadcast_pair(6)
    a, b, act = codes(case, a_dims), codes(case, b_dims), case.between(0, 3)
    scale = f32(max(a.scale, b.scale) * case.rng.uniform(0.5, 4))
    if name == 'TFLITE_MUL':
        scale = f32(a.scale * b.scale * case.rng.uniform(100, 30000))
        m = qm(f32(f32(a.scale * b.scale) / scale))
        function = lambda x, y: mbqm(x * y, *m)
    else:
        twice, sign = 2 * max(a.scale, b.scale), 1 if name == 'TFLITE_ADD' else -1
        ma, mb, m = qm(a.scale / twice), qm(b.scale / twice), qm(twice / (2**15 * scale))
        function = lambda x, y: mbqm(mbqm(x << 15, *ma) + sign * mbqm(y << 15, *mb), *m)
    dims = broadcast_dims(a_dims, b_dims)
    bounds = activation_bounds(act, nnt.Q16Y, scale, 0)
    values = [clamp(function(a.values[broadcast_offset(a_dims, i)], b.values[broadcast_offset(b_dims, i)]),
                    *bounds) for i in indices(dims)]
    return case.model(name, [a, b, case.i32(act)], [output(case, dims, values, scale)])


def coarse_product(case, name):
    """Of 8 bits, with an output's scale that NNAPI's MUL may not have."""
    type_, (a_dims, b_dims) = case.choose(*QUANTS), case.broadcast_pair()
    a, b, act = case.tensor(type_, a_dims), case.tensor(type_, b_dims), case.between(0, 3)
    product, zero_point = f32(a.scale * b.scale), case.zero_point(type_)
    scale = f32(product * case.choose(1.0, case.rng.uniform(0.01, 1)))
    m = qm(f32(product / scale))
    dims, bounds = broadcast_dims(a_dims, b_dims), activation_bounds(act, type_, scale, zero_point)
    values = [clamp(mbqm((a.values[broadcast_offset(a_dims, i)] - a.zero_point)
                         * (b.values[broadcast_offset(b_dims, i)] - b.zero_point), *m) + zero_point, *bounds)
              for i in indices(dims)]
    return case.model(name, [a, b, case.i32(act)], [case.output(type_, dims, values, scale, zero_point)])


@operation('TFLITE_LEAKY_RELU')
def leaky_relu(case, name):
    a, slope = codes(case, case.shape(1, 6)), f32(case.choose(0.0, case.rng.uniform(0, 1.5)))
    scale = f32(a.scale * case.rng.uniform(0.5, 4))
    above, below = qm(f32(a.scale / scale)), qm(f32(f32(a.scale * slope) / scale))
    values = [mbqm(v, *(above if v >= 0 else below)) for v in a.values]
    return case.model(name, [a, case.real(slope, nnt.F32)], [output(case, a.dims, values, scale)])


@operation('TFLITE_QUANTIZE')
def quantize(case, name):
    """From reals, which are divided in double; from codes to those of another scale or of 8 bits."""
    dims, scale = case.shape(1, 6), case.scale(1e-4, 1e-2)
    if case.coin():
        a = case.tensor(nnt.F32, dims, [f32(case.choose(case.between(LOW - 99, HIGH + 99) / 2,
                                                        case.rng.uniform(LOW, HIGH)) * scale)
                                        for _ in range(count(dims))])
        return case.model(name, [a], [output(case, dims, [round_away(v / scale) for v in a.values], scale)])
    a = codes(case, dims)
    if case.coin():
        m = qm(a.scale / scale)
        return case.model(name, [a], [output(case, dims, [mbqm(v, *m) for v in a.values], scale)])
    scale, zero_point = f32(a.scale * case.rng.uniform(100, 400)), case.zero_point(nnt.Q8S)
    m = qm(a.scale / scale)
    values = [clamp(mbqm(v, *m) + zero_point, -128, 127) for v in a.values]
    return case.model(name, [a], [case.output(nnt.Q8S, dims, values, scale, zero_point)])


@operation('TFLITE_DEQUANTIZE')
def dequantize(case, name):
    if case.coin():
        a = codes(case, case.shape(1, 6))
    else:
        a = case.tensor(case.choose(nnt.Q8Y, *QUANTS), case.shape(*ranks_of(name)))
    return case.model(name, [a], [case.output(nnt.F32, a.dims, a.real())])


def between_points(function, at, step):
    """How far the function's middle between two points is above that of a line through them."""
    return function(at + step / 2) - (function(at) + function(at + step)) / 2


def logistic(step):
    return 65536 / (1 + math.exp(-step / 24))


LOGISTIC = [round_away(logistic(i) + between_points(logistic, i, 1) / 2) for i in range(255)] + [65535]


def rescaled(scale):
    """The multiplier and the shift that bring codes to steps of 1 / 12288."""
    multiplier, shift = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767 / 2 and shift <= 30:
        multiplier, shift = multiplier * 2, shift + 1
    return int(multiplier), shift


def interpolated(magnitude, bits):
    """The table's value in 2**-bits, None beyond its end."""
    at, part = magnitude >> bits, magnitude % 2**bits
    return None if at >= 255 else (LOGISTIC[at] << bits) + part * (LOGISTIC[at + 1] - LOGISTIC[at])


def logistic_of(x):
    y = interpolated(abs(x), 9)
    y = 0x7fff << 10 if y is None else y
    return (y + 512 if x >= 0 else (1 << 25) - y + 511) >> 10


def tanh_of(x):
    y = interpolated(abs(x), 8)
    y = 0xffff << 8 if y is None else y
    return (y - (1 << 23) + 128 if x >= 0 else (1 << 23) - y + 127) >> 8


def is_power(scale, exponent):
    """Whether TensorFlow Lite takes the scale for a power of two."""
    return abs(math.log2(scale) - exponent) < 1e-3


@operation('TFLITE_LOGISTIC', 'TFLITE_TANH')
def smooth(case, name):
    if case.coin():
        return ops_activation.smooth(case, name)
    is_tanh = name == 'TFLITE_TANH'
    near = f32(case.choose(2**-12, 2**-11) * case.choose(1.0, case.rng.uniform(0.998, 1.002)))
    scale = case.choose(near, case.scale(1e-6, 1e-2), case.scale(1e-3, 5))
    a = codes(case, case.shape(1, 6), scale)
    if is_power(scale, -12) or is_tanh and is_power(scale, -11):
        function = (lambda v: tanh16(shl16(v, int(is_power(scale, -11))), 3)) if is_tanh else logistic16
    else:
        m, shift = rescaled(scale)
        half = 1 << (shift - 1) if shift else 0
        function = lambda v: (tanh_of if is_tanh else logistic_of)((v * m + half) >> shift)
    return case.model(name, [a], [output(case, a.dims, [function(v) for v in a.values], 2**-15)])


def table(function, low, high):
    """513 values of a function, in 2**-15, each moved by half of its distance from a line."""
    points, step = [], (high - low) / 512
    for i in range(512):
        here, after = round_away(function(low + i * step) * 32768), function(low + (i + 1) * step) * 32768
        middle = round_away(function(low + i * step + step / 2) * 32768)
        points.append(here - round_away((round_away((after + here) / 2) - middle) / 2))
    return [clamp(v, LOW, HIGH) for v in points + [round_away(function(high) * 32768)]]


EXPONENTIAL, RECIPROCAL = table(math.exp, -10.0, 0.0), table(lambda x: 1 / (1 + x), 0.0, 1.0)


def looked_up(points, code):
    at, part = 256 + (code >> 7), code & 127
    return points[at] + (((points[at + 1] - points[at]) * part + 64) >> 7)


def softmax_of(row, m):
    scaled = [mbqm(v - max(row), *m) + 32767 for v in row]
    powers = [looked_up(EXPONENTIAL, clamp(v, LOW, HIGH)) for v in scaled]
    total = sum(powers)
    bits = total.bit_length()
    mantissa = ((total << (31 - bits)) + 2**13) >> 14  # from 2**16 on, less than 2**17
    scale = looked_up(RECIPROCAL, clamp(mantissa - 2**16 - 2**15, LOW, HIGH))
    return [clamp((v * scale + 2**(bits - 2)) >> (bits - 1), 0, HIGH) for v in powers]


@operation('TFLITE_SOFTMAX')
def softmax(case, name):
    a, beta = codes(case, case.shape(), case.scale(1e-6, 1e-2)), f32(case.choose(1.0, case.rng.uniform(0.1, 3)))
    m, values = qm(f32(a.scale * beta) / (10.0 / 65535.0)), list(a.values)
    for places in slices(a.dims, len(a.dims) - 1):
        for place, value in zip(places, softmax_of([a.values[p] for p in places], m)):
            values[place] = value
    return case.model(name, [a, case.real(beta, nnt.F32)], [output(case, a.dims, values, 2**-15)])


# Codes of other scales

@operation('TFLITE_BITCAST')
def bitcast(case, name):
    type_ = case.choose(nnt.Q16Y, *QUANTS)
    a = case.tensor(type_, case.shape(1, 6))
    zero_point = 0 if type_ == nnt.Q16Y else case.zero_point(type_)
    return case.model(name, [a], [case.output(type_, a.dims, a.values, case.scale(), zero_point)])


@operation('TFLITE_RELU')
def scaled_relu(case, name):
    type_, act = case.choose(*QUANTS), case.between(1, 3)
    a = case.tensor(type_, case.shape(1, 6))
    scale, zero_point = f32(a.scale * case.rng.uniform(0.1, 4)), case.zero_point(type_)
    m, bounds = qm(f32(a.scale / scale)), activation_bounds(act, type_, scale, zero_point)
    values = [clamp(mbqm(v - a.zero_point, *m) + zero_point, *bounds) for v in a.values]
    return case.model(name, [a, case.i32(act)], [case.output(type_, a.dims, values, scale, zero_point)])
