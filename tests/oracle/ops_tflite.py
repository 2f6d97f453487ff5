# SPDX-License-Identifier: Apache-2.0
"""The operations of nnhal.tflite, by what TensorFlow Lite's reference kernels compute."""

import cmath
import math

import nnt
from case import (FLOATS, QUANTS, broadcast_dims, broadcast_offset, count, indices, offset, operation)
from num import f32
from ops_reduce import arg_indices

ANY = FLOATS + QUANTS + (nnt.I32, nnt.B8)


@operation('TFLITE_ARG_MAX', 'TFLITE_ARG_MIN')
def arg(case, name):
    a, axis, dims, values = arg_indices(case, max if name == 'TFLITE_ARG_MAX' else min)
    return case.model(name, [a, axis], [case.output(nnt.I64, dims, values)])


@operation('TFLITE_ROUND')
def round_even(case, name):
    """Python rounds as TensorFlow Lite does: the middle goes to the even neighbor."""
    dims = case.shape()
    a = case.tensor(nnt.F32, dims, [f32(case.choose(case.rng.uniform(-9, 9), case.between(-9, 9) / 2))
                                    for _ in range(count(dims))])
    return case.model(name, [a], [case.output(nnt.F32, dims, [float(round(v)) for v in a.values])])


def floor_mod_of(x, y):
    """The remainder has the divisor's sign."""
    if isinstance(x, int):
        return x % y if y else 0
    rest = math.fmod(x, y)
    return rest + y if rest and (y < 0) != (rest < 0) else rest


@operation('TFLITE_FLOOR_MOD')
def floor_mod(case, name):
    type_ = case.choose(nnt.F32, nnt.I32)
    a_dims, b_dims = case.broadcast_pair()
    if type_ == nnt.I32:
        ends = (-2**31, 2**31 - 1, -1, 0, 1)
        draw = lambda n: [case.choose(*ends) if case.coin(0.2) else case.between(-50, 50) for _ in range(n)]
    else:
        # Sixteenths: the remainder is exact, so that no rounding decides whether it is near 0 or y.
        draw = lambda n: [case.choose(-1, 1) * case.between(1, 160) / 16 for _ in range(n)]
    a = case.tensor(type_, a_dims, draw(count(a_dims)))
    b = case.tensor(type_, b_dims, draw(count(b_dims)))
    dims = broadcast_dims(a_dims, b_dims)
    values = [floor_mod_of(a.values[broadcast_offset(a_dims, i)], b.values[broadcast_offset(b_dims, i)])
              for i in indices(dims)]
    return case.model(name, [a, b], [case.output(type_, dims, values)])


@operation('TFLITE_SHAPE')
def shape(case, name):
    a = case.tensor(case.choose(*ANY), case.shape(1, 6))
    return case.model(name, [a], [case.output(case.choose(nnt.I32, nnt.I64), [len(a.dims)], a.dims)])


def summed(type_, x, y):
    """Integers wrap, as codes: a quantized 0 is the code 0."""
    if type_ == nnt.B8:
        return int(x or y)
    bits = {nnt.I32: 32, nnt.Q8: 8, nnt.Q8S: 8}.get(type_)
    total = x + y
    if bits:
        total %= 2**bits
        if type_ != nnt.Q8 and total >= 2**(bits - 1):
            total -= 2**bits
    return total


@operation('TFLITE_SCATTER_ND')
def scatter_nd(case, name):
    type_ = case.choose(nnt.F32, nnt.I32, nnt.Q8, nnt.Q8S, nnt.B8)
    out_dims = case.shape(1, 4, max_count=200)
    depth = case.between(1, len(out_dims))
    outer = case.shape(1, 2, max_count=12)
    chosen = [[case.between(0, out_dims[d] - 1) for d in range(depth)] for _ in range(count(outer))]
    where = case.tensor(nnt.I32, outer + [depth], [i for index in chosen for i in index])
    updates = case.tensor(type_, outer + out_dims[depth:], low=-50, high=50)
    values = [0] * count(out_dims)
    n = count(out_dims[depth:])
    for k, index in enumerate(chosen):
        at = offset(out_dims[:depth], index) * n
        for i in range(n):
            values[at + i] = summed(type_, values[at + i], updates.values[k * n + i])
    target = case.tensor(nnt.I32, [len(out_dims)], out_dims)
    out = case.output(type_, out_dims, values, updates.scale, updates.zero_point)
    return case.model(name, [where, updates, target], [out])


@operation('TFLITE_COS')
def cos(case, name):
    a = case.tensor(nnt.F32, case.shape(), None)
    return case.model(name, [a], [case.output(nnt.F32, a.dims, [math.cos(v) for v in a.values])])


def transformed(matrix, rows, columns):
    """The discrete Fourier transform of a matrix, cut or filled with zeros; the first half of each row."""
    def at(i, k):
        return matrix[i][k] if i < len(matrix) and k < len(matrix[0]) else 0.0

    def sum_at(u, v):
        return sum(at(i, k) * cmath.exp(-2j * cmath.pi * (u * i / rows + v * k / columns))
                   for i in range(rows) for k in range(columns))

    return [[sum_at(u, v) for v in range(columns // 2 + 1)] for u in range(rows)]


@operation('TFLITE_RFFT2D')
def rfft2d(case, name):
    outer, rows, columns = case.shape(0, 2, max_count=3), case.between(1, 9), case.between(1, 17)
    lengths = [case.choose(1, 1, 2, 4, 8), case.choose(1, 2, 4, 8, 16)]
    a = case.tensor(nnt.F32, outer + [rows, columns], [f32(case.rng.uniform(-1, 1))
                                                       for _ in range(count(outer) * rows * columns)])
    wanted = case.tensor(nnt.I32, [2], lengths)
    values = []
    for m in range(count(outer)):
        flat = a.values[m * rows * columns:(m + 1) * rows * columns]
        matrix = [flat[i * columns:(i + 1) * columns] for i in range(rows)]
        values += [part for row in transformed(matrix, *lengths) for z in row for part in (z.real, z.imag)]
    dims = outer + [lengths[0], (lengths[1] // 2 + 1) * 2]
    return case.model(name, [a, wanted], [case.output(nnt.F32, dims, values)])


@operation('TFLITE_COMPLEX_ABS', 'TFLITE_REAL', 'TFLITE_IMAG')
def complex_part(case, name):
    part = {'TFLITE_COMPLEX_ABS': abs, 'TFLITE_REAL': lambda z: z.real, 'TFLITE_IMAG': lambda z: z.imag}[name]
    dims = case.shape(1, 4)
    a = case.tensor(nnt.F32, dims[:-1] + [dims[-1] * 2], None)
    numbers = [complex(*a.values[i:i + 2]) for i in range(0, len(a.values), 2)]
    return case.model(name, [a], [case.output(nnt.F32, dims, [part(z) for z in numbers])])
