# SPDX-License-Identifier: Apache-2.0
"""Small changes of C source, each of which a test ought to notice, for run-mutants.py.

Changes lie in function bodies alone, outside of comments, strings, assertions and what is logged.
A change is a place in a file's text and what stands there instead; the text is never parsed further
than that, so a change may not compile.
"""

import bisect
import re
from dataclasses import dataclass

HIDDEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
                    r"""|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*""", re.S | re.M)
BODY = re.compile(r"^\{\n.*?^\}", re.S | re.M)
SILENT = re.compile(r"\b(?:assert|_Static_assert|nn_log\w*|nn_error_\w+)\s*\(")
RELATION = re.compile(r"(?<= )(?:<=|>=|==|!=|<|>)(?= )")
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SUM = re.compile(r"(?<= )[+-](?= )")
JOINT = re.compile(r"(?<= )(?:&&|\|\|)(?= |\n)")
NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-fA-F]+|\d+)(?=[uUlL]*(?![\w.]))")
CONDITION = re.compile(r"\b(?:if|while) (?=\()")
STATEMENT = re.compile(r"^[ ]+(?!return\b|break\b|goto\b|continue\b|case\b|default\b)"
                       r"(?:\w[\w.>*\[\]-]*(?:\([^;{}]*\)| (?:[-+|&]?=) [^;{}]*)|\w[\w.>-]*(?:\+\+|--));$",
                       re.M)
KINDS = ("relation", "off by one", "joint", "constant", "condition", "statement")


@dataclass(frozen=True)
class Mutation:
    file: str
    kind: str
    line: int
    start: int
    end: int
    text: str  # in place of what lies there

    def apply(self, source):
        return source[:self.start] + self.text + source[self.end:]


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def closing(text, start):
    """Where the parenthesis that opens at start closes."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text) - 1


def seen(source):
    """What may be changed, with spaces in place of all else."""
    text = HIDDEN.sub(blank, source)
    while found := SILENT.search(text):
        end = closing(text, found.end() - 1) + 1
        text = text[:found.start()] + blank([text[found.start():end]]) + text[end:]
    return text


def value_of(number):
    is_octal = len(number) > 1 and number.isdigit() and number[0] == "0"
    return int(number, 8 if is_octal else 0)


def changes_of(text, start, end):
    """(kind, place, its end, what stands there instead), between two places."""
    for found in RELATION.finditer(text, start, end):
        yield "relation", found.start(), found.end(), RELATIONS[found[0]]
    for found in SUM.finditer(text, start, end):
        yield "off by one", found.start(), found.end(), {"+": "-", "-": "+"}[found[0]]
    for found in JOINT.finditer(text, start, end):
        yield "joint", found.start(), found.end(), {"&&": "||", "||": "&&"}[found[0]]
    for found in NUMBER.finditer(text, start, end):
        yield "constant", found.start(), found.end(), str(value_of(found[0]) + 1)
    for found in CONDITION.finditer(text, start, end):
        last = closing(text, found.end())
        yield "condition", found.end(), last + 1, f"(!{text[found.end():last + 1]})"
    for found in STATEMENT.finditer(text, start, end):
        first = found.start() + len(found[0]) - len(found[0].lstrip())
        yield "statement", first, found.end(), ";"


def find(file, source):
    """All mutations of a file, in the order of their places."""
    text = seen(source)
    lines = [found.start() for found in re.finditer(r"\n", source)]
    found = []
    for body in BODY.finditer(text):
        for kind, start, end, instead in changes_of(text, body.start(), body.end()):
            line = bisect.bisect_left(lines, start) + 1
            found.append(Mutation(file, kind, line, start, end, instead))
    return sorted(found, key=lambda m: (m.start, m.end, m.kind))


def choose(mutations, random):
    """All of them in an order drawn by random, the kinds in turn: the first n are a fair sample."""
    lanes = {kind: [m for m in mutations if m.kind == kind] for kind in KINDS}
    for lane in lanes.values():
        random.shuffle(lane)
    order = []
    while any(lanes.values()):
        order += [lane.pop() for lane in lanes.values() if lane]
    return order
