# SPDX-License-Identifier: Apache-2.0
"""The table of operations as the reference needs it: forms, types and levels.

What validation accepts stands in src/model: ops.def has the signatures, signature.c the
characters, types.c the types with their levels, op-*.c the ranks and whether zero-sized inputs
are taken, defaults.c what stands for an argument that is left out. All of it is read from there.
A test (tests/model/reference-forms.c) holds what is read here to the validation itself.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "src/model"
TOLERATED = "NN_SIGNATURE_TOLERATED"


@dataclass
class Slot:
    """One operand of a signature."""

    character: str
    may_omit: bool = False
    or_more: bool = False
    rank_rule: str = ""  # "<4", "=4"
    tail: int = 0  # which tail it belongs to, from 1
    level: int = 0  # of its tail

    @property
    def is_scalar(self):
        return self.character.islower()


@dataclass
class Row:
    """A signature: its operands, and every combination of types with its level."""

    inputs: list
    outputs: list
    combinations: list  # (types of inputs, types of outputs, level)
    is_tolerated: bool


@dataclass
class Operation:
    name: str
    code: int
    level: int
    family: str
    rows: list
    rank: tuple = (0, 0)  # of input 0; (0, 0): any
    takes_empty: bool = True
    default: int = 0  # of INT32 arguments that may be left out

    @property
    def accepted(self):
        return [row for row in self.rows if not row.is_tolerated]


@dataclass
class Types:
    names: dict = field(default_factory=dict)  # character: name
    levels: dict = field(default_factory=dict)  # name: level
    quantized: set = field(default_factory=set)
    codes: dict = field(default_factory=dict)  # name: code


def source(name):
    return (MODEL / name).read_text(encoding="ascii")


def public(name):
    """A type's name in NeuralNetworks.h, without its prefix."""
    return "MODEL" if name == "SUBGRAPH" else name


def codes(enum):
    text = (ROOT / "include/android/NeuralNetworksTypes.h").read_text(encoding="ascii")
    body = re.search(r"typedef enum \{([^}]*)\} " + enum + ";", text)[1]
    return {name: int(code) for name, code in re.findall(r"ANEURALNETWORKS_(\w+) = (\d+)", body)}


def read_types():
    types = Types(codes=codes("OperandCode"))
    for character, name in re.findall(r"\{'(\w)', NNHAL_(\w+)\}", source("signature.c")):
        types.names[character] = public(name)
    for name, level, flags in re.findall(r'\{"(\w+)", \d+, (\d), ([^,]+),', source("types.c")):
        types.levels[public(name)] = int(level)
        if "QUANTIZED" in flags or name.endswith("PER_CHANNEL"):
            types.quantized.add(public(name))
    return types


ITEM = re.compile(r"\)*(?P<tail>\((?P<level>\d))?(?P<character>[A-Za-z*])(?P<omit>\?)?"
                  r"(?P<rule>[<=]\d)?(?P<more>\+)?(?P<repeat>\d+)?\)*")


def slots(pattern):
    """The operands of one side of a pattern; ops.h describes the language."""
    found, tail, level, position = [], 0, 0, 0
    while position < len(pattern):
        item = ITEM.match(pattern, position)
        if not item:
            raise ValueError(f"a pattern that this script cannot read: {pattern}")
        position = item.end()
        if item["tail"]:
            tail, level = tail + 1, int(item["level"])
        found += [Slot(item["character"], bool(item["omit"]), bool(item["more"]),
                       item["rule"] or "", tail, level if tail else 0)
                  for _ in range(int(item["repeat"] or 1))]
    return found


def pairs(text):
    return [(text[i], int(text[i + 1])) for i in range(0, len(text), 2)]


def combine(inputs, outputs, firsts, seconds, floor, types):
    """Every combination of types that T and U allow, with the level it needs without tails."""

    def name(slot, t, u):
        if slot.character == "T":
            return types.names[t]
        if slot.character == "U":
            return types.names[u]
        if slot.character == "t":
            return "FLOAT16" if t == "H" else "FLOAT32"
        return "any" if slot.character == "*" else types.names[slot.character]

    found = []
    for t, t_level in firsts or [("", 0)]:
        for u, u_level in seconds or [("", 0)]:
            sides = [[name(slot, t, u) for slot in side] for side in (inputs, outputs)]
            base = [kind for side, kinds in zip((inputs, outputs), sides)
                    for slot, kind in zip(side, kinds) if not slot.tail]
            level = max([floor, t_level, u_level] + [types.levels.get(kind, 0) for kind in base])
            found.append((tuple(sides[0]), tuple(sides[1]), level))
    return found


SIGNATURE = re.compile(r'\{"([^"]+)"((?:, "[^"]*")*)(?:, (\w+))?\}')


def read_row(match, level, types):
    inputs, outputs = (slots(side) for side in match[1].split(":"))
    firsts, seconds = ([pairs(text) for text in re.findall(r'"([^"]*)"', match[2])] + [[], []])[:2]
    return Row(inputs, outputs, combine(inputs, outputs, firsts, seconds, level, types),
               match[3] == TOLERATED)


def read_defaults():
    """What INT32 arguments are that are left out, by operation."""
    found, names = {}, []
    for name, value in re.findall(r"case NNHAL_OP_(\w+):|\*ret = (-?\d+);", source("defaults.c")):
        if name:
            names.append(name)
        else:
            found.update(dict.fromkeys(names, int(value)))
            names = []
    return found


def read_rules():
    """What is refused before shapes are inferred, by operation: rank of input 0, empty inputs."""
    found = {}
    for path in sorted(MODEL.glob("op-*.c")):
        for name, rules in re.findall(r"\{NNHAL_OP_(\w+),\s*\w+,\s*\w+,\s*([^}]*)\}",
                                      path.read_text(encoding="ascii")):
            rank = re.search(r"NN_INFER_RANK\((\w+), (\w+)\)", rules)
            bounds = tuple(0 if n == "NNHAL_MAX_RANK" else int(n) for n in rank.groups()) \
                if rank else (0, 0)
            found[name] = (bounds, "NN_INFER_NOT_EMPTY" not in rules)
    return found


def read_operations(types):
    text = re.sub(r"/\*.*?\*/", "", source("ops.def"), flags=re.S)
    of_name, rules, defaults = codes("OperationCode"), read_rules(), read_defaults()
    found = []
    for match in re.finditer(r"NN_OP\((\w+), (\d), (\w+),?((?:\s*\{[^}]*\},?)+)\)", text):
        name, level = match[1], int(match[2])
        rows = [read_row(row, level, types) for row in SIGNATURE.finditer(match[4])]
        rank, takes_empty = rules[name]
        found.append(Operation(name, of_name[name], level, match[3], rows, rank, takes_empty,
                               defaults.get(name, 0)))
    if len(found) != len(of_name):
        raise ValueError(f"{len(found)} operations in ops.def, {len(of_name)} in the header")
    return found
