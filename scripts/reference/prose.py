# SPDX-License-Identifier: Apache-2.0
"""The prose of the reference, and whether it says what the table says.

doc/operations/FAMILY.txt has the operations of src/model/op-FAMILY.c. An operation is written so:

    # PAD
    What it does, in a sentence or two.

    inputs: input, paddings              in order; `inputs WORDS:` for each form, where there are several
    outputs: output
    - input the tensor                   a name, the shape in brackets unless the table tells it, words
    - paddings [rank,2] how many...      lines go on where the next one is indented
    Formula:                             Formula is kept as it is, other parts are filled
        output[i] = ...
    Quantization: ...

`w_{i,f}` stands for two names with one description, `input...` for one or more. What
introduction.txt describes need not be described again.
"""

import re
from dataclasses import dataclass, field

from reference.table import ROOT

FOLDER = ROOT / "doc/operations"
PARTS = ["Formula", "Quantization", "Levels", "Zero-sized", "Refused", "Note", "TensorFlow Lite"]
NEEDED = ["Formula", "TensorFlow Lite"]


@dataclass
class Entry:
    shape: str
    words: str


@dataclass
class Form:
    words: str  # "explicit padding", empty if there is one form only
    names: list


@dataclass
class Text:
    """What is written of one operation."""

    name: str
    family: str
    summary: str = ""
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    entries: dict = field(default_factory=dict)
    parts: dict = field(default_factory=dict)


def expand(name):
    """w_{i,f} -> w_i, w_f."""
    braces = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
    if not braces:
        return [name]
    return [braces[1] + middle + braces[3] for middle in braces[2].split(",")]


def names_of(text):
    found = re.findall(r"[^\s,{]*(?:\{[^}]*\}[^\s,]*)?", text)
    return [name for piece in found if piece for name in expand(piece)]


BEGINS = re.compile(r"- |(inputs|outputs)( [a-z ]+)?:|(" + "|".join(PARTS) + "):")


def paragraphs(lines):
    """Joins lines that go on: those that are indented, and text behind text."""
    found = [""]
    for line in lines:
        if not line.strip():
            found.append("")
        elif line.startswith("    ") and found[-1].startswith("Formula:"):
            found[-1] += "\n" + line[4:]
        elif BEGINS.match(line) or not found[-1]:
            found.append(line.strip())
        else:
            found[-1] += " " + line.strip()
    return [piece for piece in found if piece]


ENTRY = re.compile(r"- ([^\s\[]+)(?: \[([^\]]*)\])? (.*)")


def read_entry(piece, entries):
    match = ENTRY.fullmatch(piece)
    if not match:
        raise ValueError(f"no description of an operand: {piece}")
    for name in expand(match[1]):
        entries[name] = Entry(match[2] or "", match[3])


def read_piece(piece, text):
    form = re.fullmatch(r"(inputs|outputs)(?: ([^:]*))?: (.*)", piece)
    part = re.match(r"(" + "|".join(PARTS) + r"):\s*", piece)
    if form:
        getattr(text, form[1]).append(Form(form[2] or "", names_of(form[3])))
    elif piece.startswith("- "):
        read_entry(piece, text.entries)
    elif part:
        words = piece[part.end():]
        text.parts[part[1]] = words if part[1] == "Formula" else words[0].upper() + words[1:]
    elif text.parts or text.entries or text.summary:
        raise ValueError(f"{text.name}: a line that belongs to nothing: {piece}")
    else:
        text.summary = piece


def read_texts():
    """All operations' texts, by name."""
    found = {}
    for path in sorted(FOLDER.glob("*.txt")):
        if path.stem == "introduction":
            continue
        for block in re.split(r"^# ", path.read_text(encoding="ascii"), flags=re.M)[1:]:
            lines = block.splitlines()
            if lines[0] in found:
                raise ValueError(f"{path}: {lines[0]} is described twice")
            text = found[lines[0]] = Text(lines[0], path.stem)
            for piece in paragraphs(lines[1:]):
                read_piece(piece, text)
    return found


def read_introduction():
    """(chapters, entries): titles with paragraphs, and descriptions that serve all operations."""
    chapters, entries = [], {}
    text = (FOLDER / "introduction.txt").read_text(encoding="ascii")
    for block in re.split(r"^# ", text, flags=re.M)[1:]:
        title, *lines = block.splitlines()
        pieces = paragraphs(lines)
        for piece in pieces:
            if piece.startswith("- "):
                read_entry(piece, entries)
        chapters.append((title, [piece for piece in pieces if not piece.startswith("- ")]))
    return chapters, entries


# -- against the table --------------------------------------------------------------


def judge_names(form, slots, text, common):
    """Whether the names of one side of a form are those of the table's operands."""
    where = f"{text.name}, {form.words or 'operands'}"
    if len(form.names) != len(slots):
        yield f"{where}: {len(form.names)} names for the {len(slots)} operands of the table"
        return
    if len(set(form.names)) != len(form.names):
        yield f"{where}: a name stands twice"
    for name, slot in zip(form.names, slots):
        if name.endswith("...") != slot.or_more:
            yield f"{where}: {name}: only one that may be repeated ends with dots"
        entry = text.entries.get(name) or common.get(name)
        if not entry:
            yield f"{where}: {name} is not described"
        elif slot.is_scalar and entry.shape:
            yield f"{where}: {name} is a scalar and has no shape"


def dimensions_in(shape):
    """How many dimensions a shape names, None if it does not say."""
    return None if "..." in shape or " " in shape or not shape else shape.count(",") + 1


def judge_ranks(operation, text):
    """Whether the shape of input 0 has a rank that the table takes."""
    low, high = operation.rank
    for form in text.inputs:
        entry = text.entries.get(form.names[0])
        n = dimensions_in(entry.shape) if entry else None
        if n and low and not low <= n <= (high or n):
            yield f"{text.name}: {form.names[0]} has rank {low} to {high}, not [{entry.shape}]"


def judge_forms(operation, text, common):
    """Each form of the table is written once, and no other."""
    rows = operation.accepted
    for side in ("inputs", "outputs"):
        written = getattr(text, side)
        of_table = {len(getattr(row, side)): getattr(row, side) for row in rows}
        if sorted(len(form.names) for form in written) != sorted(of_table):
            yield (f"{text.name}: {side} with {sorted(len(form.names) for form in written)} names, "
                   f"the table has {sorted(of_table)}")
            continue
        for form in written:
            yield from judge_names(form, of_table[len(form.names)], text, common)


def judge(operation, text, common, types):
    """Yields what is wrong with an operation's text."""
    if text.family != operation.family:
        yield f"{text.name} belongs to {operation.family}.txt"
    used = {name for form in text.inputs + text.outputs for name in form.names}
    for name in sorted(set(text.entries) - used):
        yield f"{text.name}: {name} is described and is no operand"
    for part in NEEDED:
        if part not in text.parts:
            yield f"{text.name}: nothing is said under {part}"
    kinds = {kind for row in operation.accepted for combination in row.combinations
             for side in combination[:2] for kind in side}
    if kinds & types.quantized and "Quantization" not in text.parts:
        yield f"{text.name}: it has quantized types, and nothing is said under Quantization"
    if operation.takes_empty != ("Zero-sized" in text.parts):
        yield f"{text.name}: Zero-sized is written where the table does not refuse it, and only there"
    if not text.summary:
        yield f"{text.name}: it does not say what it does"
    yield from judge_forms(operation, text, common)
    yield from judge_ranks(operation, text)


def judge_all(operations, texts, common, types):
    known = {operation.name for operation in operations}
    for name in sorted(set(texts) - known):
        yield f"{name}: the table has no such operation"
    for operation in operations:
        if operation.name in texts:
            yield from judge(operation, texts[operation.name], common, types)
        else:
            yield f"{operation.name}: nothing is written of it in doc/operations"
