# SPDX-License-Identifier: Apache-2.0
"""What the reference says of an operation, from table and prose, before it is set in a format.

Types that differ from form to form have letters: T is the first operand's, and operands that
always have its type are T as well; U is the next one, and so on.
"""

from dataclasses import dataclass


@dataclass
class Operand:
    number: str
    name: str
    kind: str  # a type, or a letter
    shape: str
    words: str


@dataclass
class Side:
    title: str
    operands: list


@dataclass
class Page:
    name: str
    code: int
    level: int
    summary: str
    sides: list
    letters: list  # "T", "U"
    kinds: list  # rows: a tuple of types for the letters, level
    parts: list  # (title, text)


# -- letters ------------------------------------------------------------------------


def assignments(operation, text):
    """Every combination of the table as {name of operand: type}, with its level."""
    found = []
    for row in operation.accepted:
        sides = [next(form.names for form in side if len(form.names) == len(slots))
                 for side, slots in ((text.inputs, row.inputs), (text.outputs, row.outputs))]
        for inputs, outputs, level in row.combinations:
            found.append(({**dict(zip(sides[0], inputs)), **dict(zip(sides[1], outputs))}, level))
    return found


def agree(a, b, found):
    """Whether b has a's type wherever it is an operand."""
    return all(kinds[b] == kinds.get(a) for kinds, _ in found if b in kinds)


def lettered(found):
    """{name: letter or type}, and the operands that the letters are named after."""
    names, leaders, marks = [], [], {}
    for kinds, _ in found:
        names += [name for name in kinds if name not in names]
    for name in names:
        if len({kinds[name] for kinds, _ in found if name in kinds}) == 1:
            marks[name] = next(kinds[name] for kinds, _ in found if name in kinds)
            continue
        leader = next((i for i, other in enumerate(leaders) if agree(other, name, found)), None)
        if leader is None:
            leaders.append(name)
            leader = len(leaders) - 1
        marks[name] = "TUVW"[leader]
    return marks, leaders


def rows_of_kinds(found, leaders):
    """Distinct types of the letters with their levels; of the last letter several in one row."""
    rows = []
    for kinds, level in found:
        row = tuple(kinds[leader] for leader in leaders)
        if (row, level) not in rows:
            rows.append((row, level))
    merged = {}
    for row, level in rows:
        last = merged.setdefault((row[:-1], level), [])
        last += [row[-1]] if row and row[-1] not in last else []
    return [(head + (", ".join(last),), level) for (head, level), last in merged.items()]


# -- operands -----------------------------------------------------------------------


def rank_of(operation, slot, is_first):
    """The rank that the table allows, in words."""
    low, high = operation.rank if is_first and operation.rank != (0, 0) else (1, 0)
    if slot.rank_rule.startswith("="):
        low = high = int(slot.rank_rule[1])
    elif slot.rank_rule:
        high = min(high or 16, int(slot.rank_rule[1]))
    if low == high:
        return f"rank {low}"
    return f"rank {low} to {high}" if high else f"rank {low} or more" if low > 1 else "any rank"


def shape_of(operation, slot, entry, is_first, kind):
    if slot.is_scalar:
        return "a model" if kind == "MODEL" else "scalar"
    if kind == "any":
        return "any"
    if not entry.shape:
        return rank_of(operation, slot, is_first)
    return f"[{entry.shape}]" if " " not in entry.shape else entry.shape


def addition(operation, slot, kind):
    """What the table says of an operand that may be missing."""
    if slot.may_omit and slot.tail:
        return f"May be left out (level {slot.level} with it) or omitted."
    if slot.may_omit:
        return "May be omitted."
    if not slot.tail:
        return ""
    default = {"BOOL": "false", "INT32": str(operation.default)}.get(kind)
    known = f", default {default}" if default else ""
    return f"May be left out{known}; level {slot.level} with it."


def number_words(slots, i):
    """The number of an operand; behind one that may be repeated it depends on n."""
    repeated = next((k for k, slot in enumerate(slots) if slot.or_more), len(slots))
    if i < repeated:
        return str(i)
    first = f"n+{i - 1}" if i > 1 else "n" if i else "n-1"
    return f"{i} to {first}" if i == repeated else first


def side(operation, title, slots, form, entries, marks, is_input):
    operands = []
    for i, (slot, name) in enumerate(zip(slots, form.names)):
        entry, kind = entries[name], marks[name]
        words = entry.words[0].upper() + entry.words[1:]
        more = addition(operation, slot, kind) if is_input else \
            f"Level {slot.level} with it." if slot.tail else ""
        words = " ".join(piece for piece in (words.rstrip(".") + ".", more) if piece)
        shape = shape_of(operation, slot, entry, is_input and i == 0, kind)
        operands.append(Operand(number_words(slots, i), name.rstrip("."), kind, shape, words))
    return Side(title, operands)


def counts_of(slots):
    """How many operands a form may have: its tails are there or not."""
    more = " or more" if any(slot.or_more for slot in slots) else ""
    found = [sum(1 for slot in slots if slot.tail < tail)
             for tail in range(1, 1 + max(slot.tail for slot in slots))] + [len(slots)]
    if more:
        return f"{found[0]}{more}"
    return " or ".join(filter(None, [", ".join(map(str, found[:-1])), str(found[-1])]))


def sides_of(operation, text, common, marks):
    found = []
    for what, forms, is_input in (("inputs", text.inputs, True), ("outputs", text.outputs, False)):
        of_table = {len(getattr(row, what)): getattr(row, what) for row in operation.accepted}
        for form in forms:
            slots = of_table[len(form.names)]
            words = f" with {form.words}" if form.words else ""
            n = counts_of(slots)
            title = f"{n} {what if n != '1' else what[:-1]}{words}"
            found.append(side(operation, title, slots, form, {**common, **text.entries}, marks,
                              is_input))
    return found


# -- the rest -----------------------------------------------------------------------

TOLERATED = ("A fully quantized form, which TensorFlow Lite makes, is accepted in a model; no "
             "device supports it, so that clients compute it themselves.")


def parts_of(operation, text):
    parts = dict(text.parts)
    if not operation.takes_empty:
        parts["Zero-sized"] = "Refused."
    if len(operation.accepted) < len(operation.rows):
        parts["Note"] = " ".join(filter(None, [parts.get("Note"), TOLERATED]))
    return parts


def describe(operation, text, common, order):
    found = assignments(operation, text)
    marks, leaders = lettered(found)
    parts = parts_of(operation, text)
    return Page(operation.name, operation.code, operation.level, text.summary,
                sides_of(operation, text, common, marks), list("TUVW"[:len(leaders)]),
                rows_of_kinds(found, leaders) if leaders else [],
                [(title, parts[title]) for title in order if title in parts])
