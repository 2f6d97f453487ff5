# SPDX-License-Identifier: Apache-2.0
"""Activation functions and softmax."""

import math

import nnt
from case import FLOATS, QUANTS, count, operation, ranks_of, slices
from num import (INT32_MAX, RANGE, activation_bounds, activation_real, clamp, exp_negative, f32, logistic_q4,
                 qm, radius, rdp, reciprocal, srdhm, tanh_q4, tdiv)

CLAMPS = {'RELU': 1, 'RELU1': 2, 'RELU6': 3}


@operation(*CLAMPS)
def relu(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    a = case.tensor(type_, case.shape(), low=-8.0, high=8.0)
    if type_ in FLOATS:
        values = [activation_real(CLAMPS[name], v) for v in a.values]
    else:
        low, high = activation_bounds(CLAMPS[name], type_, a.scale, a.zero_point)
        values = [clamp(v, low, high) for v in a.values]
    return case.model(name, [a], [case.output(type_, a.dims, values, a.scale, a.zero_point)])


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


# real function, fixed-point function, bits to drop, scale and zero point (unsigned, signed) of the result
SMOOTH = {'LOGISTIC': (sigmoid, logistic_q4, 23, 1 / 256, {nnt.Q8: 0, nnt.Q8S: -128}),
          'TANH': (math.tanh, tanh_q4, 24, 1 / 128, {nnt.Q8: 128, nnt.Q8S: 0})}


def smooth_code(a, function, drop, zero, q):
    """One code through the fixed-point function."""
    low, high = RANGE[a.type]
    m, left = qm(a.scale * 2**27)
    v = q - a.zero_point
    limit = radius(4, left)
    if v > limit or (a.type == nnt.Q8S and limit and v >= limit):
        return high
    if v < -limit or (a.type == nnt.Q8S and limit and v <= -limit):
        return low
    return clamp(rdp(function(srdhm(v << left, m)), drop) + zero, low, high)


@operation(*SMOOTH)
def smooth(case, name):
    real, fixed, drop, scale, zeros = SMOOTH[name.removeprefix('TFLITE_')]
    type_ = case.choose(*(FLOATS + QUANTS))
    a = case.tensor(type_, case.shape(*ranks_of(name)), scale=case.scale(0.001, 0.3), low=-8.0, high=8.0)
    if type_ in FLOATS:
        return case.model(name, [a], [case.output(type_, a.dims, [real(v) for v in a.values])])
    values = [smooth_code(a, fixed, drop, zeros[type_], q) for q in a.values]
    return case.model(name, [a], [case.output(type_, a.dims, values, scale, zeros[type_])])


@operation('ELU')
def elu(case, name):
    type_ = case.choose(*FLOATS)
    a = case.tensor(type_, case.shape(1, 6), low=-4.0, high=4.0)
    alpha = case.real(case.rng.uniform(-1.0, 2.0), type_)
    k = alpha.values[0]
    values = [max(0.0, v) + min(0.0, k * math.expm1(v)) for v in a.values]
    return case.model(name, [a, alpha], [case.output(type_, a.dims, values)])


def sat16(x):
    return clamp(x, -32768, 32767)


def rhm16(a, b):
    if a == b == -32768:
        return 32767
    p = a * b
    return tdiv(p + (2**14 if p >= 0 else 1 - 2**14), 2**15)


def hard_swish_code(a, scale, zero, q):
    high_scale = f32(a.scale / 128)
    m_out, e_out = qm(f32(high_scale / scale))
    m_relu, e_relu = qm(f32(high_scale / f32(3 / 32768)))
    m16, r16 = (min((m + 32768) >> 16, 32767) for m in (m_out, m_relu))
    v = (q - a.zero_point) * 128
    p, r = rhm16(v, m16), v
    if e_relu > 0:
        r = sat16(r << (e_relu - 1))
    r = rhm16(r, r16)
    if e_relu > 0:
        r = sat16(r << 1)
    if e_relu < 0:
        r = rdp(r, -e_relu)
    r = (r + 32768) >> 1
    return clamp(rdp(tdiv(r * p, 32768), -e_out) + zero, *RANGE[a.type])


@operation('HARD_SWISH')
def hard_swish(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    a = case.tensor(type_, case.shape(1, 6), low=-5.0, high=5.0)
    if type_ in FLOATS:
        values = [v * clamp(v + 3, 0.0, 6.0) / 6 for v in a.values]
        return case.model(name, [a], [case.output(type_, a.dims, values)])
    scale, zero = case.scale(), case.zero_point(type_)
    values = [hard_swish_code(a, scale, zero, q) for q in a.values]
    return case.model(name, [a], [case.output(type_, a.dims, values, scale, zero)])


def softmax_real(xs, beta):
    top = max(xs)
    e = [math.exp((x - top) * beta) for x in xs]
    return [v / sum(e) for v in e]


def softmax_codes(qs, type_, scale, beta):
    """The fixed-point softmax of one slice."""
    low, high = RANGE[type_]
    m, left = qm(min(beta * scale * 2**26, INT32_MAX))
    floor_, top = -radius(5, left), max(qs)
    e = [exp_negative(srdhm((q - top) << left, m), 5) if q - top >= floor_ else None for q in qs]
    total = sum(rdp(v, 12) for v in e if v is not None)
    zeros = 32 - total.bit_length()
    factor = reciprocal((total << zeros) - 2**31)
    shift = 12 - zeros + 23
    return [low if v is None else clamp(rdp(srdhm(factor, v), shift) + low, low, high) for v in e]


@operation('SOFTMAX')
def softmax(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    a = case.tensor(type_, case.shape(), scale=case.scale(0.005, 0.5))
    axis = case.choose(None, *range(-len(a.dims), len(a.dims)))
    beta = case.real(case.choose(1.0, case.rng.uniform(0.1, 3.0)), type_)
    inputs = [a, beta] + ([] if axis is None else [case.i32(axis)])
    k = beta.values[0]
    values = [None] * count(a.dims)
    for at in slices(a.dims, -1 % len(a.dims) if axis is None else axis % len(a.dims)):
        xs = [a.values[i] for i in at]
        ys = softmax_real(xs, k) if type_ in FLOATS else softmax_codes(xs, type_, a.scale, k)
        for i, y in zip(at, ys):
            values[i] = y
    quant = (0.0, 0) if type_ in FLOATS else (1 / 256, RANGE[type_][0])
    return case.model(name, inputs, [case.output(type_, a.dims, values, *quant)])


@operation('LOG_SOFTMAX')
def log_softmax(case, name):
    type_ = case.choose(*FLOATS)
    a = case.tensor(type_, case.shape(1, 6), low=-4.0, high=4.0)
    axis = case.between(-len(a.dims), len(a.dims) - 1)
    beta = case.real(case.rng.uniform(0.1, 3.0), type_)
    k = beta.values[0]
    values = [None] * count(a.dims)
    for at in slices(a.dims, axis % len(a.dims)):
        top = max(a.values[i] for i in at)
        log_sum = math.log(sum(math.exp((a.values[i] - top) * k) for i in at))
        for i in at:
            values[i] = (a.values[i] - top) * k - log_sum
    return case.model(name, [a, beta, case.i32(axis)], [case.output(type_, a.dims, values)])
