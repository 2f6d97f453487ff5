# SPDX-License-Identifier: Apache-2.0
"""One random case: chooses types, shapes and values, and builds the model.

An operation's generator takes a Case, asks it for operands, computes the
expected result from their values, and ends with case.model(...). Random
choices come from case.rng only, so a seed is a model.
"""

import math
import random

import nnt
from num import RANGE, f16, f32

FLOATS = (nnt.F32, nnt.F16)
QUANTS = (nnt.Q8, nnt.Q8S)
GENERATORS = {}


def operation(*names):
    """Registers a generator for operations; it is called with (case, name)."""
    def add(function):
        for name in names:
            GENERATORS[name] = function
        return function
    return add


def types_of(name, types):
    """The types of an operation's data; one of nnhal.tflite that has NNAPI's name has 16 bits."""
    return (nnt.Q16Y,) if name.startswith('TFLITE_') else types


def ranks_of(name):
    """The ranks of NNAPI's operation, and those that nnhal.tflite's of the same name adds."""
    return (5, 6) if name.startswith('TFLITE_') else (1, 4)


class Tensor:
    """An operand and its elements as stored: codes, floats, integers."""

    def __init__(self, index, type_, dims, values, scale=0.0, zero_point=0, channel_scales=()):
        self.index, self.type, self.dims, self.values = index, type_, list(dims), values
        self.scale, self.zero_point, self.channel_scales = scale, zero_point, channel_scales

    def real(self):
        """The elements' real values, as the reference dequantizes: exact float32."""
        if self.type in QUANTS + (nnt.Q8Y, nnt.Q16A, nnt.Q16Y):
            return [f32((q - self.zero_point) * self.scale) for q in self.values]
        return list(self.values)


def count(dims):
    return math.prod(dims)


def indices(dims):
    """Every index of a shape, in row-major order."""
    index = [0] * len(dims)
    for _ in range(count(dims)):
        yield tuple(index)
        for d in reversed(range(len(dims))):
            index[d] += 1
            if index[d] < dims[d]:
                break
            index[d] = 0


def offset(dims, index):
    """Where an element lies."""
    at = 0
    for d, i in zip(dims, index):
        at = at * d + i
    return at


def broadcast_dims(a, b):
    rank = max(len(a), len(b))
    a, b = [1] * (rank - len(a)) + list(a), [1] * (rank - len(b)) + list(b)
    return [y if x == 1 else x for x, y in zip(a, b)]


def broadcast_offset(dims, index):
    """Where the element for an index of the broadcast shape lies in a tensor of dims."""
    index = index[len(index) - len(dims):]
    return offset(dims, [0 if d == 1 else i for d, i in zip(dims, index)])


def slices(dims, axis):
    """The element offsets of every 1-D slice along an axis."""
    rest = list(dims)
    rest[axis] = 1
    for index in indices(rest):
        yield [offset(dims, index[:axis] + (k,) + index[axis + 1:]) for k in range(dims[axis])]


def to_nchw(dims, values):
    """An NHWC tensor's dims and elements laid out as NCHW."""
    n, h, w, c = dims
    out = [values[((b * h + y) * w + x) * c + k]
           for b in range(n) for k in range(c) for y in range(h) for x in range(w)]
    return [n, c, h, w], out


class Case:
    def __init__(self, name, seed):
        self.rng = random.Random(seed)
        self.name = name
        self.built = nnt.Model(seed, primary=nnt.CODES[name])
        self.n_inputs = 0

    # choices

    def choose(self, *options):
        return self.rng.choice(options)

    def coin(self, chance=0.5):
        return self.rng.random() < chance

    def between(self, low, high):
        return self.rng.randint(low, high)

    def shape(self, min_rank=1, max_rank=4, max_count=600, max_dim=9):
        """Dimensions, more often small ones than large; every rank equally often."""
        dims = []
        for _ in range(self.between(min_rank, max_rank)):
            room = max(1, min(max_dim, max_count // max(1, count(dims))))
            dims.append(self.between(1, room))
        self.rng.shuffle(dims)
        return dims

    def broadcast_pair(self, max_rank=4, min_rank=1):
        """Two shapes that broadcast to a common one."""
        out = self.shape(min_rank, max_rank)
        a, b = list(out), list(out)
        for d in range(len(out)):
            if self.coin(0.25 if min_rank == 1 else 0.5):
                self.choose(a, b)[d] = 1
        short = self.choose(a, b)
        if self.coin(0.3):
            del short[:self.between(0, len(short) - 1)]
        return a, b

    def scale(self, low=0.004, high=0.1):
        return f32(math.exp(self.rng.uniform(math.log(low), math.log(high))))

    def zero_point(self, type_):
        low, high = RANGE[type_]
        return self.choose(low, high, self.between(low, high), self.between(low, high))

    def values(self, type_, n, low=-2.0, high=2.0):
        """Elements: reals in [low, high], all codes, or integers in the range."""
        rng = self.rng
        if type_ in (nnt.F32, nnt.FLOAT32):
            return [f32(rng.uniform(low, high)) for _ in range(n)]
        if type_ in (nnt.F16, nnt.FLOAT16):
            return [f16(rng.uniform(low, high)) for _ in range(n)]
        if type_ in QUANTS:
            lo, hi = RANGE[type_]
            return [rng.choice((lo, hi)) if rng.random() < 0.05 else rng.randint(lo, hi) for _ in range(n)]
        if type_ == nnt.QPC:
            return [rng.randint(-127, 127) for _ in range(n)]
        if type_ == nnt.Q8Y:
            return [rng.randint(-128, 127) for _ in range(n)]
        if type_ == nnt.Q16A:
            return [rng.randint(0, 65535) for _ in range(n)]
        if type_ == nnt.Q16Y:
            return [rng.randint(-32768, 32767) for _ in range(n)]
        if type_ == nnt.B8:
            return [rng.randint(0, 1) for _ in range(n)]
        return [rng.randint(math.ceil(low), math.floor(high)) for _ in range(n)]

    # operands

    def _lifetime(self, constant):
        if constant is None:
            constant = self.n_inputs > 0 and self.coin(0.6)
        if not constant:
            self.n_inputs += 1
            return nnt.INPUT
        return self.choose(nnt.CONST_COPY, nnt.CONST_MEMORY)

    def tensor(self, type_, dims, values=None, scale=None, zero_point=None, constant=None,
               low=-2.0, high=2.0):
        """An input of the operation: a model input or a constant. The first is never constant.
        A scale given for a float type is ignored, so that one call serves all types."""
        if values is None:
            values = self.values(type_, count(dims), low, high)
        if type_ in QUANTS:
            scale = self.scale() if scale is None else scale
            zero_point = self.zero_point(type_) if zero_point is None else zero_point
        elif type_ in (nnt.Q16Y, nnt.Q8Y):
            scale = self.scale() if scale is None else scale
        if type_ in FLOATS or scale is None:
            scale = 0.0
        zero_point = zero_point or 0
        index = self.built.operand(nnt.Operand(type_, self._lifetime(constant), dims, scale, zero_point,
                                               nnt.pack(type_, values)))
        return Tensor(index, type_, dims, values, scale, zero_point)

    def per_channel(self, dims, channel_dim, low=0.004, high=0.1):
        """A constant or input of type TENSOR_QUANT8_SYMM_PER_CHANNEL."""
        scales = [self.scale(low, high) for _ in range(dims[channel_dim])]
        values = self.values(nnt.QPC, count(dims))
        index = self.built.operand(nnt.Operand(nnt.QPC, self._lifetime(None), dims, 0.0, 0,
                                               nnt.pack(nnt.QPC, values), channel_dim=channel_dim,
                                               channel_scales=scales))
        return Tensor(index, nnt.QPC, dims, values, 0.0, 0, scales)

    def scalar(self, type_, value):
        """A scalar, nearly always constant."""
        lifetime = nnt.CONST_COPY
        if self.n_inputs and self.coin(0.05):
            self.n_inputs += 1
            lifetime = nnt.INPUT
        value = f16(value) if type_ == nnt.FLOAT16 else f32(value) if type_ == nnt.FLOAT32 else value
        index = self.built.operand(nnt.Operand(type_, lifetime, (), data=nnt.pack(type_, [value])))
        return Tensor(index, type_, (), [value])

    def i32(self, value):
        return self.scalar(nnt.INT32, value)

    def boolean(self, value):
        return self.scalar(nnt.BOOL, bool(value))

    def real(self, value, like):
        """A float scalar: FLOAT16 beside TENSOR_FLOAT16, else FLOAT32."""
        return self.scalar(nnt.FLOAT16 if like == nnt.F16 else nnt.FLOAT32, value)

    def omitted(self, type_, dims=()):
        """An operand without a value."""
        scale = 1.0 if type_ in QUANTS else 0.0
        return Tensor(self.built.operand(nnt.Operand(type_, nnt.NO_VALUE, dims, scale)), type_, dims, [])

    def output(self, type_, dims, values, scale=0.0, zero_point=0, compared=True):
        """An output of the operation with its expected elements (float16 is rounded here)."""
        flags = nnt.EXPECTED if compared else nnt.IGNORED
        index = self.built.operand(nnt.Operand(type_, nnt.OUTPUT, dims, scale, zero_point,
                                               nnt.pack(type_, values), flags))
        return Tensor(index, type_, dims, values, scale, zero_point)

    def model(self, name, inputs, outputs, quant_tolerance=0):
        """The finished model: one operation."""
        self.built.operation(name, [t.index for t in inputs], [t.index for t in outputs])
        self.built.quant_tolerance = quant_tolerance
        return self.built
