# SPDX-License-Identifier: Apache-2.0
"""Operations that move elements: each says from where an output's element comes."""

import nnt
from case import FLOATS, QUANTS, count, indices, offset, operation, ranks_of, types_of
from num import RANGE, clamp, f32, round_away

MOVED = FLOATS + QUANTS
MOVED_TOO = MOVED + (nnt.I32,)


def source(case, types, dims):
    return case.tensor(case.choose(*types), dims, low=-100, high=100)


def of_any_rank(case, name):
    """A tensor that NNAPI's operation takes; for nnhal.tflite's what that does not: by rank or type."""
    if not name.startswith('TFLITE_'):
        return source(case, MOVED_TOO if name == 'RESHAPE' else MOVED, case.shape())
    types = MOVED_TOO + (nnt.Q16Y, nnt.B8, nnt.I64)
    return source(case, types, case.shape(*case.choose((1, 4), ranks_of(name))))


def moved(case, a, dims, where, margin=0):
    """An output like a, whose elements come from where(index); None is the margin."""
    values = []
    for index in indices(dims):
        origin = where(index)
        values.append(margin if origin is None else a.values[offset(a.dims, origin)])
    return case.output(a.type, dims, values, a.scale, a.zero_point)


def ints(case, values):
    return case.tensor(nnt.I32, [len(values)], list(values))


def pairs(case, values):
    """A [n, 2] tensor of n pairs."""
    return case.tensor(nnt.I32, [len(values), 2], [x for pair in values for x in pair])


def layout(case, with_flag=False):
    """Whether an image is NCHW, and the operand that says so, if any."""
    nchw = case.coin()
    return nchw, [case.boolean(nchw)] if nchw or with_flag or case.coin() else []


def swap(index, nchw):
    """An index of an image from one order, n h w c, to the tensor's."""
    n, h, w, c = index
    return (n, c, h, w) if nchw else (n, h, w, c)


def unswap(index, nchw):
    if not nchw:
        return index
    n, c, h, w = index
    return n, h, w, c


@operation('RESHAPE', 'TFLITE_RESHAPE')
def reshape(case, name):
    a = of_any_rank(case, name)
    rest, shape = count(a.dims), []
    while rest > 1 and len(shape) < (4 if name == 'RESHAPE' else 5):
        part = case.choose(*[d for d in range(1, rest + 1) if rest % d == 0])
        shape.append(part)
        rest //= part
    shape.append(rest)
    case.rng.shuffle(shape)
    asked = list(shape)
    if case.coin():
        asked[case.between(0, len(asked) - 1)] = -1
    out = case.output(a.type, shape, a.values, a.scale, a.zero_point)
    return case.model(name, [a, ints(case, asked)], [out])


@operation('SQUEEZE')
def squeeze(case, name):
    dims = [case.choose(1, case.between(1, 6)) for _ in range(case.between(1, 4))]
    a = source(case, MOVED, dims)
    ones = [d for d, n in enumerate(dims) if n == 1]
    if ones and case.coin(0.7):
        gone = case.rng.sample(ones, case.between(1, len(ones)))
        axes = ints(case, [case.choose(d, d - len(dims)) for d in gone])
    else:
        gone, axes = ones, case.omitted(nnt.I32, [0])
    out_dims = [n for d, n in enumerate(dims) if d not in gone] or [1]
    out = case.output(a.type, out_dims, a.values, a.scale, a.zero_point)
    return case.model(name, [a, axes], [out])


@operation('EXPAND_DIMS')
def expand_dims(case, name):
    a = source(case, MOVED_TOO, case.shape(1, 5))
    axis = case.between(-len(a.dims) - 1, len(a.dims))
    dims = list(a.dims)
    dims.insert(axis if axis >= 0 else axis + len(dims) + 1, 1)
    out = case.output(a.type, dims, a.values, a.scale, a.zero_point)
    return case.model(name, [a, case.i32(axis)], [out])


@operation('TRANSPOSE', 'TFLITE_TRANSPOSE')
def transpose(case, name):
    a = of_any_rank(case, name)
    rank = len(a.dims)
    perm = list(range(rank))
    case.rng.shuffle(perm)
    operand = ints(case, perm)
    if name == 'TRANSPOSE' and case.coin(0.15):
        perm = perm[::-1] if perm == sorted(perm) else list(range(rank))[::-1]
        operand = case.omitted(nnt.I32, [0])
    dims = [a.dims[p] for p in perm]
    out = moved(case, a, dims, lambda i: [i[perm.index(d)] for d in range(rank)])
    return case.model(name, [a, operand], [out])


@operation('SLICE')
def slice_(case, name):
    a = source(case, MOVED_TOO, case.shape(1, 5))
    begins = [case.between(0, n - 1) for n in a.dims]
    sizes = [case.between(1, n - b) for n, b in zip(a.dims, begins)]
    asked = [-1 if b + s == n and case.coin() else s for n, b, s in zip(a.dims, begins, sizes)]
    out = moved(case, a, sizes, lambda i: [k + b for k, b in zip(i, begins)])
    return case.model(name, [a, ints(case, begins), ints(case, asked)], [out])


@operation('STRIDED_SLICE', 'TFLITE_STRIDED_SLICE')
def strided_slice(case, name):
    a = source(case, types_of(name, MOVED), case.shape())
    begins, ends, strides, masks, ranges = [], [], [], [0, 0, 0], []
    for d, n in enumerate(a.dims):
        stride = case.choose(-3, -2, -1, 1, 1, 2, 3)
        first, last = case.between(0, n - 1), case.between(0, n - 1)
        if (first > last) != (stride < 0):
            first, last = last, first
        if case.coin(0.2):
            last, stride = first, abs(stride)
            masks[2] |= 1 << d
        after = last + (1 if stride > 0 else -1)
        taken = list(range(first, after, stride))
        begins.append(case.choose(first, first - n))
        ends.append(-n - 1 if after < 0 else after if after >= n else case.choose(after, after - n))
        if not masks[2] >> d & 1 and case.coin(0.2):
            masks[0] |= 1 << d
            taken = list(range(0 if stride > 0 else n - 1, after, stride))
        elif not masks[2] >> d & 1 and case.coin(0.2):
            masks[1] |= 1 << d
            taken = list(range(first, n if stride > 0 else -1, stride))
        strides.append(stride)
        ranges.append(taken)
    kept = [d for d in range(len(a.dims)) if not masks[2] >> d & 1]
    dims = [len(ranges[d]) for d in kept] or [1]

    def where(index):
        origin = [r[0] for r in ranges]
        for d, i in zip(kept, index):
            origin[d] = ranges[d][i]
        return origin
    inputs = [a, ints(case, begins), ints(case, ends), ints(case, strides)]
    return case.model(name, inputs + [case.i32(m) for m in masks], [moved(case, a, dims, where)])


@operation('SPLIT', 'TFLITE_SPLIT')
def split(case, name):
    dims = case.shape(1, 5)
    axis, parts = case.between(0, len(dims) - 1), case.between(1, 4)
    dims[axis] = parts * case.between(1, 3)
    a = source(case, types_of(name, MOVED_TOO), dims)
    part_dims = list(dims)
    part_dims[axis] //= parts

    def part(k):
        return moved(case, a, part_dims,
                     lambda i: [v + k * part_dims[axis] if d == axis else v for d, v in enumerate(i)])
    inputs = [a, case.i32(case.choose(axis, axis - len(dims))), case.i32(parts)]
    return case.model(name, inputs, [part(k) for k in range(parts)])


def other_codes(a, scale, zero_point):
    """The codes of a tensor in another quantization, by single precision."""
    if a.type not in QUANTS or (a.scale, a.zero_point) == (scale, zero_point):
        return a.values
    shift = -RANGE[a.type][0]
    factor = f32(a.scale * f32(1.0 / scale))
    bias = f32(-(a.zero_point + shift) * factor)
    codes = [round_away(f32(f32((q + shift) * factor) + bias)) + zero_point + shift for q in a.values]
    return [clamp(c, 0, 255) - shift for c in codes]


@operation('CONCATENATION', 'TFLITE_CONCATENATION')
def concatenation(case, name):
    type_, dims = case.choose(*types_of(name, MOVED)), case.shape()
    axis, parts = case.between(0, len(dims) - 1), []
    scale = 0.0 if type_ in FLOATS else case.scale()
    zero_point = case.zero_point(type_) if type_ in QUANTS else 0
    for _ in range(case.between(1, 5)):
        part_dims = list(dims)
        part_dims[axis] = case.between(1, 4)
        same = case.coin()
        parts.append(case.tensor(type_, part_dims, scale=scale if same else None,
                                 zero_point=zero_point if same else None))
    whole = list(dims)
    whole[axis] = sum(p.dims[axis] for p in parts)
    values = [None] * count(whole)
    begin = 0
    for part in parts:
        for index, value in zip(indices(part.dims), other_codes(part, scale, zero_point)):
            at = [i + begin if d == axis else i for d, i in enumerate(index)]
            values[offset(whole, at)] = value
        begin += part.dims[axis]
    out = case.output(type_, whole, values, scale, zero_point)
    return case.model(name, parts + [case.i32(axis)], [out])


@operation('PACK')
def pack(case, name):
    type_, dims = case.choose(*MOVED_TOO), case.shape(1, 4, max_count=100)
    axis_value = case.between(0, len(dims))
    scale, zero_point = (case.scale(), case.zero_point(type_)) if type_ in QUANTS else (0.0, 0)
    parts = [case.tensor(type_, dims, scale=scale, zero_point=zero_point)
             for _ in range(case.between(1, 4))]
    whole = list(dims)
    whole.insert(axis_value, len(parts))
    values = []
    for index in indices(whole):
        rest = list(index)
        part = parts[rest.pop(axis_value)]
        values.append(part.values[offset(dims, rest)])
    out = case.output(type_, whole, values, scale, zero_point)
    return case.model(name, [case.i32(axis_value)] + parts, [out])


@operation('TILE')
def tile(case, name):
    a = source(case, MOVED_TOO, case.shape(1, 4, max_count=60))
    multiples = [case.between(1, 3) for _ in a.dims]
    dims = [n * m for n, m in zip(a.dims, multiples)]
    out = moved(case, a, dims, lambda i: [k % n for k, n in zip(i, a.dims)])
    return case.model(name, [a, ints(case, multiples)], [out])


@operation('REVERSE')
def reverse(case, name):
    a = source(case, MOVED_TOO, case.shape(1, 6))
    axis = case.between(0, len(a.dims) - 1)
    out = moved(case, a, a.dims,
                lambda i: [a.dims[d] - 1 - k if d == axis else k for d, k in enumerate(i)])
    return case.model(name, [a, ints(case, [axis])], [out])


@operation('CHANNEL_SHUFFLE')
def channel_shuffle(case, name):
    dims = case.shape()
    axis, groups = case.between(0, len(dims) - 1), case.between(1, 4)
    size = case.between(1, 4)
    dims[axis] = groups * size
    a = source(case, MOVED, dims)
    out = moved(case, a, dims, lambda i: [k % groups * size + k // groups if d == axis else k
                                          for d, k in enumerate(i)])
    inputs = [a, case.i32(groups), case.i32(case.choose(axis, axis - len(dims)))]
    return case.model(name, inputs, [out])


@operation('PAD', 'PAD_V2', 'TFLITE_PAD')
def pad(case, name):
    a = source(case, types_of(name, MOVED), case.shape(max_count=100))
    margins = [(case.between(0, 3), case.between(0, 2)) for _ in a.dims]
    dims = [b + n + e for n, (b, e) in zip(a.dims, margins)]
    inputs = [a, pairs(case, margins)]
    margin = a.zero_point
    if name == 'PAD_V2' and a.type in QUANTS:
        margin = case.between(*RANGE[a.type])
        inputs.append(case.i32(margin))
    elif name == 'PAD_V2':
        inputs.append(case.real(case.rng.uniform(-3, 3), a.type))
        margin = inputs[-1].values[0]

    def where(index):
        origin = [i - b for i, (b, _) in zip(index, margins)]
        return origin if all(0 <= i < n for i, n in zip(origin, a.dims)) else None
    return case.model(name, inputs, [moved(case, a, dims, where, margin)])


@operation('MIRROR_PAD')
def mirror_pad(case, name):
    a = source(case, MOVED_TOO, case.shape(1, 5, max_count=60))
    mode = case.between(0, 1)  # 0 leaves the edge out of the reflection
    most = [n - 1 + mode for n in a.dims]
    margins = [(case.between(0, min(m, 3)), case.between(0, min(m, 3))) for m in most]
    dims = [b + n + e for n, (b, e) in zip(a.dims, margins)]

    def one(i, n):
        if i < 0:
            return -i - mode
        return 2 * n - 2 + mode - i if i >= n else i
    out = moved(case, a, dims,
                lambda index: [one(i - b, n) for i, n, (b, _) in zip(index, a.dims, margins)])
    return case.model(name, [a, pairs(case, margins), case.i32(mode)], [out])


@operation('DEPTH_TO_SPACE')
def depth_to_space(case, name):
    block = case.between(1, 3)
    n, h, w, c = (case.between(1, 3) for _ in range(4))
    nchw, flag = layout(case)
    a = source(case, MOVED, swap((n, h, w, c * block * block), nchw))

    def where(index):
        n, y, x, k = unswap(index, nchw)
        return swap((n, y // block, x // block, (y % block * block + x % block) * c + k), nchw)
    out = moved(case, a, swap((n, h * block, w * block, c), nchw), where)
    return case.model(name, [a, case.i32(block)] + flag, [out])


@operation('SPACE_TO_DEPTH')
def space_to_depth(case, name):
    block = case.between(1, 3)
    n, h, w, c = (case.between(1, 3) for _ in range(4))
    nchw, flag = layout(case)
    a = source(case, MOVED, swap((n, h * block, w * block, c), nchw))

    def where(index):
        n, y, x, k = unswap(index, nchw)
        i, j = divmod(k // c, block)
        return swap((n, y * block + i, x * block + j, k % c), nchw)
    out = moved(case, a, swap((n, h, w, c * block * block), nchw), where)
    return case.model(name, [a, case.i32(block)] + flag, [out])


@operation('BATCH_TO_SPACE_ND')
def batch_to_space(case, name):
    bh, bw, n, h, w, c = (case.between(1, 3) for _ in range(6))
    nchw, flag = layout(case)
    a = source(case, MOVED, swap((n * bh * bw, h, w, c), nchw))

    def where(index):
        b, y, x, k = unswap(index, nchw)
        return swap(((y % bh * bw + x % bw) * n + b, y // bh, x // bw, k), nchw)
    out = moved(case, a, swap((n, h * bh, w * bw, c), nchw), where)
    return case.model(name, [a, ints(case, [bh, bw])] + flag, [out])


@operation('SPACE_TO_BATCH_ND')
def space_to_batch(case, name):
    bh, bw, n, h, w, c = (case.between(1, 3) for _ in range(6))
    nchw, flag = layout(case)
    top, left = case.between(0, h * bh - 1), case.between(0, w * bw - 1)
    bottom, right = case.between(0, h * bh - 1 - top), case.between(0, w * bw - 1 - left)
    height, width = h * bh - top - bottom, w * bw - left - right
    a = source(case, MOVED, swap((n, height, width, c), nchw))

    def where(index):
        b, y, x, k = unswap(index, nchw)
        i, j = divmod(b // n, bw)
        y, x = y * bh + i - top, x * bw + j - left
        inside = 0 <= y < height and 0 <= x < width
        return swap((b % n, y, x, k), nchw) if inside else None
    out = moved(case, a, swap((n * bh * bw, h, w, c), nchw), where, a.zero_point)
    inputs = [a, ints(case, [bh, bw]), pairs(case, [(top, bottom), (left, right)])]
    return case.model(name, inputs + flag, [out])


@operation('FILL')
def fill(case, name):
    dims = case.shape(1, 5)
    scalar = case.choose(nnt.FLOAT32, nnt.FLOAT16, nnt.INT32)
    type_ = {nnt.FLOAT32: nnt.F32, nnt.FLOAT16: nnt.F16, nnt.INT32: nnt.I32}[scalar]
    shape = case.tensor(nnt.I32, [len(dims)], dims, constant=False)
    value = case.scalar(scalar, case.between(-100, 100))
    return case.model(name, [shape, value], [case.output(type_, dims, value.values * count(dims))])


@operation('RANK')
def rank(case, name):
    a = case.tensor(case.choose(*(MOVED_TOO + (nnt.B8,))), case.shape(1, 6))
    out = case.output(nnt.INT32, (), [len(a.dims)])
    model = case.model(name, [a], [out])
    model.flags |= nnt.NO_DYNAMIC_OUTPUT
    return model
