#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the shapes that doc/operations.md states are those of the oracle's models.

    documented.py [--count N]    N random models of each operation

A name in a shape is one number in all operands of an operation; a scalar's name is its value.
Before that the test proves that it can fail: it exchanges two dimensions of a shape.
"""

import argparse
import copy
import re
import struct
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'scripts'))
import nnt  # noqa: E402
import prop  # noqa: E402
from reference import prose  # noqa: E402

IMAGES = ('input', 'output', 'scores', 'deltas', 'heatmaps')  # what nchw reorders
WORD = re.compile(r'[A-Za-z]\w*')
# Said in words beside the shape: with CIFG scratch is smaller, merged outputs hold both directions.
IN_WORDS = {'LSTM': ['scratch'], 'BIDIRECTIONAL_SEQUENCE_LSTM': ['fw_output', 'bw_output'],
            'BIDIRECTIONAL_SEQUENCE_RNN': ['fw_output', 'bw_output'], 'LSH_PROJECTION': ['output'],
            'BATCH_MATMUL': ['y', 'output']}


def named_operands(model, text):
    """(name, operand) of the operation's inputs and outputs, in the form that has as many."""
    _, *sides = next(o for o in model.operations if o[0] == nnt.CODES[text.name])
    inputs, outputs = ([model.operands[i] for i in side] for side in sides)
    named = list(zip(input_form(text.inputs, inputs).names, inputs))
    is_merged = any(name == 'merge_outputs' and value_of(operand) for name, operand in named)
    form = next((form for form in text.outputs if is_merged == ('bw_output' not in form.names)),
                text.outputs[0])
    return named + list(zip(form.names, outputs))


def input_form(forms, operands):
    """The form that has its layout where this operation has a boolean."""
    longer = [form for form in forms if len(form.names) >= len(operands)] or forms
    return next((form for form in longer
                 if all((operand.type == nnt.BOOL) == (name == 'nchw')
                        for name, operand in zip(form.names, operands))), longer[0])


def value_of(operand):
    """The value of a scalar, None if it is not in the model."""
    if operand.type not in nnt.SCALARS or not operand.data:
        return None
    return struct.unpack('<' + nnt.ELEMENT[operand.type], operand.data)[0]


class Names:
    """What the names of dimensions stand for in one model."""

    def __init__(self, operands):
        self.values = {name: value for name, operand in operands
                       if isinstance(value := value_of(operand), (int, bool))}
        self.values.setdefault('rank', len(operands[0][1].dims))
        given = {name for name, _ in operands}
        self.reads_aux = 'aux_input' in given and not any('aux_w' in name for name in given)

    def is_true(self, name):
        return bool(self.values.get(name))

    def agrees(self, expression, dim):
        """Whether a dimension is what the shape says; an unknown name alone becomes known."""
        words = WORD.findall(expression)
        if expression in words and expression not in self.values:
            self.values[expression] = dim
        if any(word not in self.values for word in words):
            return True
        return eval(expression.replace('^', '**').replace('/', '//'), {}, self.values) == dim


def parts_of(shape, name, names, rank):
    """The expressions of a shape in the order of this model, None if it says nothing."""
    parts = re.sub(r'\b([UO])\b', r'bw_\1' if name.startswith('bw_') else r'\1', shape).split(',')
    if ' ' in shape or not shape:
        return None
    if name.startswith('bw_') and names.reads_aux:
        parts = ['A' if part == 'I' else part for part in parts]
    if len(parts) == 4 and name in IMAGES and names.is_true('nchw'):
        parts = [parts[0], parts[3], parts[1], parts[2]]
    if parts[:2] == ['B', 'T'] and names.is_true('time_major'):
        parts[:2] = ['T', 'B']
    if '...' in parts:
        at = parts.index('...')
        parts[at:at + 1] = ['_'] * (rank - len(parts) + 1)
    return parts


def disagreements(model, text):
    operands = [(name, o) for name, o in named_operands(model, text) if o.lifetime != nnt.NO_VALUE]
    names, dims = Names(operands), {name: operand.dims for name, operand in operands}
    for name, operand in operands:
        entry = text.entries.get(name)
        if not entry or name in IN_WORDS.get(text.name, []) or operand.type in nnt.SCALARS:
            continue
        if entry.shape.startswith('as ') and dims.get(entry.shape[3:], operand.dims) != operand.dims:
            yield f'{model.name}: {name} is {operand.dims}, {entry.shape[3:]} {dims[entry.shape[3:]]}'
        parts = parts_of(entry.shape, name, names, len(operand.dims))
        if parts is None:
            continue
        if len(parts) != len(operand.dims) or not all(
                part == '_' or names.agrees(part, dim) for part, dim in zip(parts, operand.dims)):
            yield f'{model.name}: {name} is {operand.dims}, [{entry.shape}] with {names.values}'


def judge(text, count):
    for number in range(count):
        yield from disagreements(prop.make(text.name, 1, number), text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--count', type=int, default=8)
    options = parser.parse_args()
    texts = [text for text in prose.read_texts().values() if text.family != 'control_flow']
    spoilt = copy.deepcopy(next(text for text in texts if text.name == 'CONV_2D'))
    spoilt.entries['filter'].shape = 'Co,Fh,Ci,Fw'
    if not list(judge(spoilt, 8)):
        sys.exit('a spoilt shape passes')
    found = [sentence for text in texts for sentence in judge(text, options.count)]
    print('\n'.join(found) or f'{len(texts)} operations')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
