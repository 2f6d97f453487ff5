# SPDX-License-Identifier: Apache-2.0
"""Resized images: where each output row and column comes from, axis by axis."""

import math

from case import FLOATS, QUANTS, operation, to_nchw
from num import RANGE, clamp, f32, round_away


class Axis:
    """One axis of a resize: its sizes, and how positions are taken."""

    def __init__(self, size, out, align, half):
        self.size, self.out, self.align, self.half = size, out, align, half
        if align and out > 1:
            self.scale = f32((size - 1) / (out - 1))
        else:
            self.scale = f32(size / out)

    def bilinear(self, i):
        """(low, high, fraction) as the reference finds them in single precision."""
        at = f32(i * self.scale)
        if self.half:
            at = f32(f32((i + 0.5) * self.scale) - 0.5)
        low = max(math.floor(at), 0)
        return low, min(math.ceil(at), self.size - 1), f32(at - low)

    def nearest(self, i):
        at = f32((i + 0.5 if self.half else i) * self.scale)
        return clamp(round_away(at) if self.align else math.floor(at), 0, self.size - 1)


def blend(type_, corners, y, x):
    """Four corners (y0 x0, y1 x0, y0 x1, y1 x1) by their fractions."""
    fy, fx = y[2], x[2]
    gy, gx = f32(1 - fy), f32(1 - fx)
    factors = ((gy, gx), (fy, gx), (gy, fx), (fy, fx))
    if type_ in QUANTS:
        lowest = RANGE[type_][0]
        total = 0.0
        for c, (a, b) in zip(corners, factors):
            total = f32(total + f32(f32((c - lowest) * a) * b))
        return math.floor(f32(total + 0.5)) + lowest
    return math.fsum(c * a * b for c, (a, b) in zip(corners, factors))


def new_sizes(case, type_, sizes):
    """Random sizes for (height, width), and the operands that ask for them."""
    if case.coin():
        out = [case.between(1, 7) for _ in sizes]
        return out, [case.i32(out[1]), case.i32(out[0])]
    factors = [case.real(case.rng.uniform(1.0 / n + 0.05, 3.0), type_) for n in sizes]
    return [math.floor(f32(n * f.values[0])) for n, f in zip(sizes, factors)], factors[::-1]


@operation('RESIZE_BILINEAR', 'RESIZE_NEAREST_NEIGHBOR')
def resize(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    nchw = case.coin()
    n, h, w, c = (case.between(1, top) for top in (2, 6, 6, 3))
    dims, values = [n, h, w, c], case.values(type_, n * h * w * c)
    a = case.tensor(type_, *(to_nchw(dims, values) if nchw else (dims, values)))
    (oh, ow), sizes = new_sizes(case, type_, (h, w))
    flags = case.choose((), (False,), (True,), (False, False), (True, False), (False, True))
    align, half = (tuple(flags) + (False, False))[:2]
    rows, columns = Axis(h, oh, align, half), Axis(w, ow, align, half)

    def pixel(b, y, x, k):
        return values[((b * h + y) * w + x) * c + k]

    def value(b, i, j, k):
        if name == 'RESIZE_NEAREST_NEIGHBOR':
            return pixel(b, rows.nearest(i), columns.nearest(j), k)
        y, x = rows.bilinear(i), columns.bilinear(j)
        corners = [pixel(b, p, q, k) for q in x[:2] for p in y[:2]]
        return blend(type_, corners, y, x)
    out_dims = [n, oh, ow, c]
    out_values = [value(b, i, j, k) for b in range(n) for i in range(oh) for j in range(ow) for k in range(c)]
    if nchw:
        out_dims, out_values = to_nchw(out_dims, out_values)
    inputs = [a] + sizes + [case.boolean(nchw)] + [case.boolean(f) for f in flags]
    return case.model(name, inputs, [case.output(type_, out_dims, out_values, a.scale, a.zero_point)])
