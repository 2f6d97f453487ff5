#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes nnhal-services(8) from the pages for administrators.

    scripts/admin.py update    rewrites doc/man/nnhal-services.8
    scripts/admin.py check     whether it is up to date

Of Markdown the pages use headings, paragraphs, lists, tables, links, `literals` and indented blocks.
"""

import re
import sys
from pathlib import Path

from reference import command, mdoc

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "doc/man/nnhal-services.8"
SOURCES = [ROOT / "doc/admin" / name for name in ("services.md", "when.md")]
HEAD = r""".\" SPDX-License-Identifier: Apache-2.0
.\" Written by scripts/admin.py from doc/admin: edit that.
.Dd November 26, 2026
.Dt NNHAL-SERVICES 8
.Os
.Sh NAME
.Nm nnhal-services
.Nd drivers of neural networks for all applications of a machine
"""
TAIL = """.Sh SEE ALSO
.Xr nnhal 1 ,
.Xr nnhal-host 1 ,
.Xr nnhal-devices 5
"""


def plain(text):
    """A text without its links."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))


def set_block(lines):
    return [".Bd -literal -offset indent", *(mdoc.guard(line[4:]) for line in lines), ".Ed"]


def set_table(lines):
    """Each row is an item: its first cell, and the others below it."""
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    yield ".Bl -tag -width Ds"
    for first, *others in rows[2:]:
        yield ".It " + plain(first).replace("`", "")
        for number, (name, cell) in enumerate(zip(rows[0][1:], others)):
            yield from [".Pp"] * (number > 0)
            yield from mdoc.paragraph(f"{name}: {plain(cell)}")
    yield ".El"


def set_piece(piece, is_first):
    lines = piece.splitlines()
    title = re.match(r"#+ (.*)", piece)
    if title:
        return [f".Sh {title[1].upper()}"]
    if lines[0].startswith("|"):
        return list(set_table(lines))
    if lines[0].startswith("    "):
        return set_block(lines)
    return [".Pp"] * (not is_first) + list(mdoc.paragraph(plain(piece)))


def page():
    lines = [HEAD.rstrip()]
    for source in SOURCES:
        text = re.sub(r"^<!--.*?-->\n", "", source.read_text(encoding="ascii"), flags=re.S)
        text = text.replace("# Services\n", "# Description\n")
        for piece in filter(str.strip, text.split("\n\n")):
            lines += set_piece(piece.strip("\n"), lines[-1].startswith(".Sh"))
    return "\n".join(lines) + "\n" + TAIL


sys.exit(command.run(__doc__, lambda: {PAGE: page()}, list))
