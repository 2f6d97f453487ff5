# SPDX-License-Identifier: Apache-2.0
"""IF and WHILE: branches and loops that are models of their own."""

import nnt
from case import operation
from num import f32, wrap32

ARITHMETIC = {'ADD': lambda a, b: a + b, 'SUB': lambda a, b: a - b, 'MUL': lambda a, b: a * b}


class Part:
    """A referenced model under construction; its inputs and outputs have no data."""

    def __init__(self):
        self.built = nnt.Model('')

    def value(self, type_, dims, lifetime=nnt.INTERNAL):
        return self.built.operand(nnt.Operand(type_, lifetime, dims))

    def constant(self, type_, dims, values):
        return self.built.operand(nnt.Operand(type_, nnt.CONST_COPY, dims,
                                              data=nnt.pack(type_, values)))

    def binary(self, name, a, b, out):
        """An elementwise operation without activation."""
        none = self.constant(nnt.INT32, (), [0])
        self.built.operation(name, [a, b, none], [out])


def branch(type_, dims, name):
    part = Part()
    a, b = (part.value(type_, dims, nnt.INPUT) for _ in range(2))
    part.binary(name, a, b, part.value(type_, dims, nnt.OUTPUT))
    return part.built


@operation('IF')
def if_(case, name):
    type_, dims = case.choose(nnt.F32, nnt.I32), case.shape(1, 4)
    low, high = (-9, 9) if type_ == nnt.I32 else (-2.0, 2.0)
    names = [case.choose(*ARITHMETIC) for _ in range(2)]
    condition = case.between(0, 1)
    chosen = ARITHMETIC[names[0] if condition else names[1]]
    given = case.tensor(nnt.B8, [1], [condition], constant=False)
    parts = [case.built.refer(branch(type_, dims, n)) for n in names]
    a, b = (case.tensor(type_, dims, constant=False, low=low, high=high) for _ in range(2))
    values = [chosen(x, y) for x, y in zip(a.values, b.values)]
    if type_ == nnt.F32:
        values = [f32(v) for v in values]
    out = case.output(type_, dims, values)
    case.built.operation(name, [given.index, *parts, a.index, b.index], [out.index])
    return case.built


def counting(dims, n_rounds):
    """While i < n_rounds: goes on with i + 1 and v + i."""
    condition, body = Part(), Part()
    i = condition.value(nnt.I32, [1], nnt.INPUT)
    condition.value(nnt.I32, dims, nnt.INPUT)
    condition.built.operation('LESS', [i, condition.constant(nnt.I32, [1], [n_rounds])],
                              [condition.value(nnt.B8, [1], nnt.OUTPUT)])
    i, v = body.value(nnt.I32, [1], nnt.INPUT), body.value(nnt.I32, dims, nnt.INPUT)
    one = body.constant(nnt.I32, [1], [1])
    body.binary('ADD', i, one, body.value(nnt.I32, [1], nnt.OUTPUT))
    body.binary('ADD', v, i, body.value(nnt.I32, dims, nnt.OUTPUT))
    return condition.built, body.built


@operation('WHILE')
def while_(case, name):
    dims, n_rounds, first = case.shape(1, 4), case.between(0, 9), case.between(-3, 3)
    parts = [case.built.refer(m) for m in counting(dims, n_rounds)]
    i = case.tensor(nnt.I32, [1], [first], constant=False)
    v = case.tensor(nnt.I32, dims, constant=False, low=-2**31, high=2**31 - 1)
    last = max(first, n_rounds)
    added = sum(range(first, last))
    outputs = [case.output(nnt.I32, [1], [last]),
               case.output(nnt.I32, dims, [wrap32(x + added) for x in v.values])]
    case.built.operation(name, [*parts, i.index, v.index], [o.index for o in outputs])
    return case.built
