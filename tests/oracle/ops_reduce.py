# SPDX-License-Identifier: Apache-2.0
"""Reductions, and normalizations along an axis or over an image."""

import math

import nnt
from case import FLOATS, QUANTS, count, indices, offset, operation, slices
from num import INT32_MAX, RANGE, clamp, mbqm, rdp, round_away, shl_sat, srdhm


def reduced(case, a):
    """Random axes of a tensor: the operand, the kept dims, and each result's elements."""
    rank = len(a.dims)
    axes = case.rng.sample(range(rank), case.between(1, rank))
    listed = [case.choose(axis, axis - rank) for axis in axes]
    if case.coin(0.2):
        listed.append(case.choose(*axes))
    kept = [1 if d in axes else n for d, n in enumerate(a.dims)]
    groups = [[] for _ in range(count(kept))]
    for index, value in zip(indices(a.dims), a.values):
        at = offset(kept, [0 if d in axes else i for d, i in enumerate(index)])
        groups[at].append(value)
    dropped = [n for d, n in enumerate(a.dims) if d not in axes] or [1]
    return case.tensor(nnt.I32, [len(listed)], listed), kept, dropped, groups


REDUCE = {'REDUCE_ALL': ((nnt.B8,), lambda g: int(all(g))), 'REDUCE_ANY': ((nnt.B8,), lambda g: int(any(g))),
          'REDUCE_MAX': (FLOATS + QUANTS, max), 'REDUCE_MIN': (FLOATS + QUANTS, min),
          'REDUCE_PROD': (FLOATS, math.prod), 'REDUCE_SUM': (FLOATS, math.fsum)}


@operation(*REDUCE)
def reduce(case, name):
    types, function = REDUCE[name]
    type_ = case.choose(*types)
    far = 1.2 if name == 'REDUCE_PROD' else 2.0
    a = case.tensor(type_, case.shape(max_count=200), low=-far, high=far)
    axes, kept, dropped, groups = reduced(case, a)
    keeps = case.coin()
    values = [function(g) for g in groups]
    out = case.output(type_, kept if keeps else dropped, values, a.scale, a.zero_point)
    return case.model(name, [a, axes, case.boolean(keeps)], [out])


@operation('MEAN')
def mean(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    a = case.tensor(type_, case.shape())
    axes, kept, dropped, groups = reduced(case, a)
    keeps = case.choose(-1, 0, 1, 7)
    if type_ in FLOATS:
        values = [math.fsum(g) / len(g) for g in groups]
    else:
        zero = a.zero_point
        values = [zero + round_away((sum(g) - zero * len(g)) / len(g)) for g in groups]
    out = case.output(type_, kept if keeps > 0 else dropped, values, a.scale, a.zero_point)
    return case.model(name, [a, axes, case.i32(keeps)], [out])


def arg_indices(case, best):
    """A tensor, an axis, and the first place of the best element along it: its shape and values."""
    type_ = case.choose(*(FLOATS + QUANTS + (nnt.I32,)))
    dims = case.shape(1, 6)
    few = case.values(type_, 5, -9, 9)  # ties
    a = case.tensor(type_, dims, [case.choose(*few) for _ in range(count(dims))])
    axis = case.between(-len(dims), len(dims) - 1)
    values = []
    for at in slices(dims, axis % len(dims)):
        xs = [a.values[i] for i in at]
        values.append(xs.index(best(xs)))
    return a, case.i32(axis), [n for d, n in enumerate(dims) if d != axis % len(dims)] or [1], values


@operation('ARGMAX', 'ARGMIN')
def arg(case, name):
    a, axis, dims, values = arg_indices(case, max if name == 'ARGMAX' else min)
    return case.model(name, [a, axis], [case.output(nnt.I32, dims, values)])


def inverse_sqrt(total):
    """1 / sqrt(total) as a mantissa and a right shift."""
    if total <= 1:
        return INT32_MAX, 0
    shift = 11
    while total >= 2**29:
        total //= 4
        shift += 1
    pairs = (32 - total.bit_length() - 1) // 2 - 1
    shift -= pairs
    half = rdp((total << 2 * pairs) >> 1, 1)
    x = 2**28
    for _ in range(5):
        cube = shl_sat(srdhm(srdhm(x, x), x), 6)
        x = shl_sat(srdhm(2**28 + 2**27, x) - srdhm(half, cube), 3)
    m = srdhm(x, 1518500250)
    return (m << -shift, 0) if shift < 0 else (m, shift)


def l2_codes(ds, type_, last):
    m, shift = inverse_sqrt(sum(d * d for d in ds))
    zero = 128 if type_ == nnt.Q8 else 0
    if type_ == nnt.Q8S and last:
        codes = [mbqm(d, m, 7 - shift) for d in ds]
    else:
        codes = [rdp(srdhm(128 * d, m), shift) for d in ds]
    return [clamp(c + zero, *RANGE[type_]) for c in codes]


@operation('L2_NORMALIZATION')
def l2_normalization(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    a = case.tensor(type_, case.shape())
    rank = len(a.dims)
    axis = case.choose(None, *range(-rank, rank))
    inputs = [a] if axis is None else [a, case.i32(axis)]
    axis = rank - 1 if axis is None else axis % rank
    values = [None] * count(a.dims)
    for at in slices(a.dims, axis):
        xs = [a.values[i] - a.zero_point for i in at]
        if type_ in FLOATS:
            norm = max(math.sqrt(math.fsum(x * x for x in xs)), 1e-6)
            ys = [x / norm for x in xs]
        else:
            ys = l2_codes(xs, type_, axis == rank - 1)
        for i, y in zip(at, ys):
            values[i] = y
    quant = {nnt.Q8: (1 / 128, 128), nnt.Q8S: (1 / 128, 0)}.get(type_, (0.0, 0))
    return case.model(name, inputs, [case.output(type_, a.dims, values, *quant)])


@operation('LOCAL_RESPONSE_NORMALIZATION')
def local_response(case, name):
    type_ = case.choose(*FLOATS)
    a = case.tensor(type_, case.shape())
    rank = len(a.dims)
    radius = case.choose(0, 1, 2, 5, 2**31 - 1)
    bias, alpha, beta = (case.real(case.rng.uniform(low, high), type_)
                         for low, high in ((0.5, 3.0), (0.0, 2.0), (0.2, 1.5)))
    axis = case.choose(None, *range(-rank, rank))
    inputs = [a, case.i32(radius), bias, alpha, beta] + ([] if axis is None else [case.i32(axis)])
    values = [None] * count(a.dims)
    for at in slices(a.dims, rank - 1 if axis is None else axis % rank):
        for k, i in enumerate(at):
            near = at[max(0, k - radius):k + radius + 1]
            total = math.fsum(a.values[j]**2 for j in near)
            values[i] = a.values[i] * (bias.values[0] + alpha.values[0] * total)**-beta.values[0]
    return case.model(name, inputs, [case.output(type_, a.dims, values)])


@operation('INSTANCE_NORMALIZATION')
def instance_normalization(case, name):
    type_ = case.choose(*FLOATS)
    dims = case.shape(4, 4, max_count=200)
    a = case.tensor(type_, dims)
    gamma, beta = case.real(case.rng.uniform(-2, 2), type_), case.real(case.rng.uniform(-2, 2), type_)
    epsilon = case.real(case.rng.uniform(0.01, 0.5), type_)
    nchw = case.coin()
    groups = {}
    for i, index in enumerate(indices(dims)):
        groups.setdefault((index[0], index[1 if nchw else 3]), []).append(i)
    values = [None] * count(dims)
    for at in groups.values():
        xs = [a.values[i] for i in at]
        mid = math.fsum(xs) / len(xs)
        variance = math.fsum((x - mid)**2 for x in xs) / len(xs)
        for i, x in zip(at, xs):
            values[i] = (x - mid) * gamma.values[0] / math.sqrt(variance + epsilon.values[0]) + beta.values[0]
    inputs = [a, gamma, beta, epsilon, case.boolean(nchw)]
    return case.model(name, inputs, [case.output(type_, dims, values)])
