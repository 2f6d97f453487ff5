# SPDX-License-Identifier: Apache-2.0
"""Characters to words.

A word is a name, a number or one of the signs below. Notes (// to the end of
the line) vanish. A comment (/* ... */) is a word of its own, because prose is
part of the interface: the parser decides whether it belongs to what follows,
to what stands before it on the line, or to itself.
"""

import re
from dataclasses import dataclass


class HalError(Exception):
    """Something in a .hal file that cannot be accepted."""

    def __init__(self, path, line, sentence):
        super().__init__(f"{path}:{line}: {sentence}")


@dataclass
class Word:
    kind: str  # name, number, sign, comment, end
    text: str
    line: int
    last_line: int = 0  # of a comment
    is_first: bool = False  # nothing but white space before it on its line


WORD = re.compile(r"""
    (?P<space>\s+)
  | (?P<note>//[^\n]*)
  | (?P<comment>/\*.*?\*/)
  | (?P<number>0x[0-9a-fA-F]+|\d+)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*\??)
  | (?P<sign>[{}\[\];=.,])
""", re.VERBOSE | re.DOTALL)


def words(path, text):
    """Every word of the text, and a last one of kind "end"."""
    found = []
    at, line = 0, 1
    while at < len(text):
        match = WORD.match(text, at)
        if not match:
            if text.startswith("/*", at):
                raise HalError(path, line, "a comment that does not end")
            raise HalError(path, line, f"unexpected character {text[at]!r}")
        kind = match.lastgroup
        last_line = line + match[0].count("\n")
        if kind not in ("space", "note"):
            before = text[text.rfind("\n", 0, at) + 1:at]
            found.append(Word(kind, match[0], line, last_line, not before.strip()))
        line = last_line
        at = match.end()
    found.append(Word("end", "the end of the file", line, line, True))
    return found
