# SPDX-License-Identifier: Apache-2.0
"""The tables of options (src/tools/options/*.def), whose rows are expressions in Python, too."""

import ast
import re
import sys
from dataclasses import dataclass


@dataclass
class Row:
    """An option, a word of the first argument, or a paragraph, which has no name."""
    sentence: str
    name: str = ""
    letter: str = ""
    argument: str = ""
    choices: tuple = ()
    is_word: bool = False
    is_many: bool = False

    def is_title(self):
        return not self.name and self.sentence.endswith(":")

    def is_option(self):
        return bool(self.name) and not self.is_word

    def names(self):
        return [name for name in (f"-{self.letter}", f"--{self.name}") if len(name) > 1]

    def words(self):
        """The sentence with what may be chosen."""
        if not self.choices:
            return self.sentence
        return f"{self.sentence}: {', '.join(self.choices[:-1])} or {self.choices[-1]}"


@dataclass
class Table:
    program: str
    arguments: str
    summary: str
    rows: list

    def options(self):
        return [row for row in self.rows if row.is_option()]

    def words(self):
        return [row for row in self.rows if row.is_word]

    def names(self):
        return [name for row in self.options() for name in row.names()]


MODE = Row("how drivers are reached", "mode", "m", "MODE", ("auto", "service", "private", "embedded"))
COMMON = {"MODE": MODE, "JSON": Row("print JSON", "json", "j"), "HELP": Row("print this", "help", "h")}


def choices_of(kind):
    is_choice = isinstance(kind, ast.Call) and kind.func.id == "CHOICE"
    return tuple(kind.args[0].value.split("|")) if is_choice else ()


def option(name, letter, argument, kind, _member, sentence):
    text = argument.value if isinstance(argument, ast.Constant) else ""
    return Row(sentence.value, name.value, letter.value or "", text, choices_of(kind),
               is_many=isinstance(kind, ast.Name) and kind.id == "FILES")


MAKERS = {
    "SAYS": lambda text: Row(text.value),
    "GROUP": lambda title: Row(title.value + ":"),
    "WORD": lambda word, sentence: Row(sentence.value, word.value, is_word=True),
    "OPTION": option,
}


def read(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="ascii"), flags=re.S)
    rows = [statement.value for statement in ast.parse(text).body]
    first, last = rows[0], rows[-1]
    if first.func.id != "COMMAND" or last.id != "END":
        sys.exit(f"{path}: it does not begin with COMMAND and end with END")
    program, arguments, _least, _most, summary = (getattr(arg, "value", None) for arg in first.args)
    made = [COMMON[row.id] if isinstance(row, ast.Name) else MAKERS[row.func.id](*row.args)
            for row in rows[1:-1]]
    return Table(program, arguments, summary, made)


def read_all(folder):
    return [read(path) for path in sorted(folder.glob("*.def"))]
