#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what documents and shells know of command lines, from src/tools/options/*.def.

    scripts/options.py update               rewrites NAME, SYNOPSIS and OPTIONS of the manual pages (1)
    scripts/options.py check                whether both are up to date, and examples name options that exist
    scripts/options.py SHELL PROGRAM FILE   writes the completion of a program for bash, zsh or fish
"""

import re
import sys
from pathlib import Path

from reference import command, completion, mdoc, usage

ROOT = Path(__file__).resolve().parent.parent
NAME = re.compile(r"(?<=\n\.Nd )[^\n]*\n")
SYNOPSIS = re.compile(r"(?<=\.Sh SYNOPSIS\n).*?(?=\.Sh )", re.S)
OPTIONS = re.compile(r"(?<=\.Sh OPTIONS\n).*?(?=\.Sh )", re.S)
EXAMPLE = re.compile(r"(?:^ {4}|`)(?:\w+=\S+ )*(?:\S*/)?"
                     r"(nnhal(?: (?:bench|cache|devices|explain|info|run|serve))?|nnt|nnhal-cts|nnhal-host)(?= )([^`|&;#]+)")
OPTION = re.compile(r"(?<= )--?[a-z][a-z-]*")


def page_of(table):
    return ROOT / "doc/man" / (table.program.replace(" ", "-") + ".1")


def synopsis(table):
    yield f".Nm {table.program}"
    yield from mdoc.arguments(table.arguments)


def item(row):
    if row.is_word:
        return f".It Cm {row.name}"
    argument = f" Ar {row.argument}" if row.argument else ""
    letter = f"Fl {row.letter} , " if row.letter else ""
    return f".It {letter}Fl -{row.name}{argument}"


def options(table):
    is_open = False
    for row in table.rows:
        if row.name and not is_open:
            yield ".Bl -tag -width Ds"
        elif not row.name and is_open:
            yield ".El"
        is_open = bool(row.name)
        if row.name:
            yield item(row)
            yield from mdoc.paragraph(row.words())
        elif row.is_title():
            yield f".Ss {row.sentence.rstrip(':')}"
    if is_open:
        yield ".El"


def rewritten(table):
    path = page_of(table)
    text = path.read_text(encoding="utf-8")
    for place, lines in ((NAME, [table.summary]), (SYNOPSIS, synopsis(table)), (OPTIONS, options(table))):
        made = "".join(line + "\n" for line in lines)
        text, n = place.subn(lambda _, made=made: made, text, count=1)
        if n == 0:
            sys.exit(f"{path}: it has no section for what is written there")
    return text


def strangers(tables):
    """Options in the documents' examples that no table has."""
    known = {table.program: {*table.names(), "--version"} for table in tables}
    known["nnhal"] = {"--help", "--version"}  # and no more, without a command
    documents = [ROOT / "README.md", *(ROOT / "doc").rglob("*.md")]
    for path in sorted(documents):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for program, behind in EXAMPLE.findall(line):
                for name in OPTION.findall(behind):
                    if name not in known[program]:
                        yield f"{path.relative_to(ROOT)}:{number}: {program} has no {name}"


def main():
    tables = usage.read_all(ROOT / "src/tools/options")
    if len(sys.argv) == 4:
        text = completion.write(sys.argv[1], sys.argv[2], tables)
        Path(sys.argv[3]).write_text(text, encoding="utf-8")
        return 0
    return command.run(__doc__, lambda: {page_of(table): rewritten(table) for table in tables},
                       lambda: strangers(tables))


if __name__ == "__main__":
    sys.exit(main())
