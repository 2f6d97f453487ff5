# SPDX-License-Identifier: Apache-2.0
"""Looking up, choosing and hashing."""

import struct

import nnt
from case import FLOATS, QUANTS, count, indices, offset, operation
from num import RANGE, requant

ALL = FLOATS + QUANTS + (nnt.I32,)


@operation('GATHER')
def gather(case, name):
    a = case.tensor(case.choose(*ALL), case.shape(1, 4, max_count=100))
    axis = case.between(0, len(a.dims) - 1)
    shape = case.shape(1, 3, max_count=20, max_dim=4)
    picked = case.tensor(nnt.I32, shape, [case.between(0, a.dims[axis] - 1) for _ in range(count(shape))])
    dims = a.dims[:axis] + shape + a.dims[axis + 1:]
    values = []
    for index in indices(dims):
        inner = picked.values[offset(shape, index[axis:axis + len(shape)])]
        values.append(a.values[offset(a.dims, index[:axis] + (inner,) + index[axis + len(shape):])])
    axis_operand = case.i32(case.choose(axis, axis - len(a.dims)))
    return case.model(name, [a, axis_operand, picked],
                      [case.output(a.type, dims, values, a.scale, a.zero_point)])


def rows(table, picked):
    """Rows of a tensor, one after the other."""
    size = count(table.dims[1:])
    return [v for p in picked for v in table.values[p * size:(p + 1) * size]]


@operation('EMBEDDING_LOOKUP')
def embedding_lookup(case, name):
    n = case.between(1, 6)
    dims = case.shape(2, 4, max_count=100)
    lookups = case.tensor(nnt.I32, [n], [case.between(0, dims[0] - 1) for _ in range(n)])
    table = case.tensor(case.choose(*ALL), dims)
    out = case.output(table.type, [n] + dims[1:], rows(table, lookups.values), table.scale, table.zero_point)
    return case.model(name, [lookups, table], [out])


@operation('HASHTABLE_LOOKUP')
def hashtable_lookup(case, name):
    dims = case.shape(2, 4, max_count=100)
    keys = sorted(case.rng.sample(range(-40, 40), dims[0]))
    keys = [case.choose(-2**31, keys[0])] + keys[1:]
    n = case.between(1, 8)
    lookups = case.tensor(nnt.I32, [n], [case.choose(*keys, 2**31 - 1, 41) for _ in range(n)])
    key_operand = case.tensor(nnt.I32, [dims[0]], keys)
    table = case.tensor(case.choose(nnt.F32, nnt.I32, nnt.Q8), dims)
    size, values, hits = count(dims[1:]), [], []
    for key in lookups.values:
        hits.append(int(key in keys))
        values += rows(table, [keys.index(key)]) if key in keys else [0] * size
    out = case.output(table.type, [n] + dims[1:], values, table.scale, table.zero_point)
    return case.model(name, [lookups, key_operand, table],
                      [out, case.output(nnt.Q8, [n], hits, 1.0, 0)])


@operation('SELECT')
def select(case, name):
    dims = case.shape(1, 5)
    type_ = case.choose(*ALL)
    condition = case.tensor(nnt.B8, dims)
    a, b = case.tensor(type_, dims), case.tensor(type_, dims)
    scale, zero_point = (case.scale(), case.zero_point(type_)) if type_ in QUANTS else (0.0, 0)

    def value(tensor, q):
        if type_ not in QUANTS:
            return q
        return requant(q, tensor.scale, tensor.zero_point, scale, zero_point, *RANGE[type_])
    values = [value(a, x) if c else value(b, y)
              for c, x, y in zip(condition.values, a.values, b.values)]
    return case.model(name, [condition, a, b], [case.output(type_, dims, values, scale, zero_point)])


@operation('TOPK_V2')
def topk(case, name):
    dims = case.shape(1, 4, max_dim=20)
    type_ = case.choose(*ALL)
    few = case.values(type_, 6, -9, 9)  # ties: the larger index first
    values = [case.choose(*few) for _ in range(count(dims))] if case.coin() else None
    a = case.tensor(type_, dims, values)
    k, n = case.between(1, dims[-1]), dims[-1]
    best, places = [], []
    for row in range(0, len(a.values), n):
        order = sorted(((v, i) for i, v in enumerate(a.values[row:row + n])), reverse=True)[:k]
        best += [v for v, _ in order]
        places += [i for _, i in order]
    out_dims = dims[:-1] + [k]
    return case.model(name, [a, case.i32(k)], [case.output(type_, out_dims, best, a.scale, a.zero_point),
                                               case.output(nnt.I32, out_dims, places)])


# FarmHash's Fingerprint64, for keys of at most 32 bytes.

M64 = 2**64 - 1
K0, K1, K2 = 0xc3a5c85c97cb3127, 0xb492b66fbe98f273, 0x9ae16a3b2f90404f


def word(data, at, size=8):
    return int.from_bytes(data[at:at + size], 'little')


def turn(x, n):
    x &= M64
    return (x >> n | x << 64 - n) & M64


def shift_mix(x):
    return x ^ x >> 47


def mix(u, v, factor):
    a = shift_mix((u ^ v) * factor & M64)
    b = shift_mix((v ^ a) * factor & M64)
    return b * factor & M64


def fingerprint(data):
    n = len(data)
    factor = (K2 + 2 * n) & M64
    if n > 16:
        a, b = word(data, 0) * K1 & M64, word(data, 8)
        c, d = word(data, n - 8) * factor & M64, word(data, n - 16) * K2 & M64
        return mix((turn(a + b, 43) + turn(c, 30) + d) & M64, (a + turn(b + K2, 18) + c) & M64, factor)
    if n >= 8:
        a, b = (word(data, 0) + K2) & M64, word(data, n - 8)
        return mix((turn(b, 37) * factor + a) & M64, (turn(a, 25) + b) * factor & M64, factor)
    if n >= 4:
        return mix(n + (word(data, 0, 4) << 3), word(data, n - 4, 4), factor)
    y, z = data[0] + (data[n >> 1] << 8), n + (data[n - 1] << 2)
    return shift_mix((y * K2 ^ z * K0) & M64) * K2 & M64


@operation('LSH_PROJECTION')
def lsh_projection(case, name):
    type_ = case.choose(*FLOATS)
    hashes, bits = case.between(1, 4), case.between(1, 8)
    hash_ = case.tensor(type_, [hashes, bits])
    dims = [case.between(1, 4), case.between(1, 3)]
    data = case.tensor(case.choose(nnt.F32, nnt.I32, nnt.Q8, nnt.F16), dims)
    kind = case.between(1, 3)
    weight = case.tensor(type_, dims[:1]) if kind == 2 else case.omitted(type_, [0])
    items = [nnt.pack(data.type, data.values[i:i + dims[1]]) for i in range(0, count(dims), dims[1])]

    def bit(seed):
        prints = (fingerprint(struct.pack('<f', seed) + item) for item in items)
        signed = [p - 2**64 if p >= 2**63 else p for p in prints]
        score = 0.0
        for i, p in enumerate(signed):
            score += float(p) * weight.values[i] if kind == 2 else float(p)
        return int(score > 0)
    found = [bit(seed) for seed in hash_.values]
    if kind == 2:
        values = found
    else:
        values = [sum(b << bits - 1 - j for j, b in enumerate(found[i * bits:(i + 1) * bits]))
                  + (i << bits if kind == 3 else 0) for i in range(hashes)]
    return case.model(name, [hash_, data, weight, case.i32(kind)],
                      [case.output(nnt.I32, [len(values)], values)])


@operation('RANDOM_MULTINOMIAL')
def random_multinomial(case, name):
    """One class has all the probability, so the samples are known."""
    type_ = case.choose(*FLOATS)
    batches, classes, samples = (case.between(1, 4) for _ in range(3))
    wanted = [case.between(0, classes - 1) for _ in range(batches)]
    values = [60.0 if c == w else -60.0 for w in wanted for c in range(classes)]
    logits = case.tensor(type_, [batches, classes], values)
    seeds = case.tensor(nnt.I32, [2], [case.between(-2**31, 2**31 - 1), case.between(-2**31, 2**31 - 1)])
    out = case.output(nnt.I32, [batches, samples], [w for w in wanted for _ in range(samples)])
    return case.model(name, [logits, case.i32(samples), seeds], [out])
