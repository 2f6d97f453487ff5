#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of operations from src/model/ops.def and the prose in doc/operations.

    scripts/operations.py update    rewrites doc/operations.md and doc/man/nnhal-operations.7
    scripts/operations.py check     whether both are up to date, and prose and table say the same
    scripts/operations.py forms     prints every combination of types that the reference allows, for
                                    tests/model/reference-forms.c: CODE LEVEL INPUTS : OUTPUTS
"""

import sys

from reference import command, formats, page, prose, table

DOCUMENTS = {
    table.ROOT / "doc/operations.md": formats.markdown,
    table.ROOT / "doc/man/nnhal-operations.7": formats.manual,
}


class Reference:
    def __init__(self):
        self.types = table.read_types()
        self.operations = table.read_operations(self.types)
        self.texts = prose.read_texts()
        self.chapters, self.common = prose.read_introduction()

    def faults(self):
        return list(prose.judge_all(self.operations, self.texts, self.common, self.types))

    def documents(self):
        pages = [page.describe(operation, self.texts[operation.name], self.common, prose.PARTS)
                 for operation in self.operations]
        return {path: make(self.chapters, pages) for path, make in DOCUMENTS.items()}


def with_tails(row, combination):
    """A combination with each number of tails that its signature allows."""
    inputs, outputs, level = combination
    for n_in in range(max(slot.tail for slot in row.inputs) + 1):
        for n_out in range(max(slot.tail for slot in row.outputs) + 1):
            taken = [[(kind, slot.level) for kind, slot in zip(kinds, slots) if slot.tail <= n]
                     for kinds, slots, n in ((inputs, row.inputs, n_in), (outputs, row.outputs, n_out))]
            yield taken[0], taken[1], max([level] + [floor for side in taken for _, floor in side])


def print_forms(reference):
    codes, levels = {**reference.types.codes, "any": "*"}, reference.types.levels
    for operation in reference.operations:
        for row in operation.accepted:
            for combination in row.combinations:
                for inputs, outputs, level in with_tails(row, combination):
                    level = max([level] + [levels.get(kind, 0) for kind, _ in inputs + outputs])
                    sides = [" ".join(str(codes[kind]) for kind, _ in side)
                             for side in (inputs, outputs)]
                    print(operation.code, level, " : ".join(sides))


reference = Reference()
if sys.argv[1:] == ["forms"]:
    print_forms(reference)
    sys.exit(0)
sys.exit(command.run(__doc__, reference.documents, reference.faults))
