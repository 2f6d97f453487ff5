# SPDX-License-Identifier: Apache-2.0
"""The reference set as doc/operations.md and as nnhal-operations(7)."""

import re
import textwrap

from reference import mdoc

GENERATED = "Written by scripts/operations.py from src/model/ops.def and doc/operations: edit these."


# -- Markdown -----------------------------------------------------------------------


def escaped(text):
    return text.replace("|", "\\|").replace("*", "\\*")


def filled(text):
    return textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False)


def markdown_side(side):
    yield f"**{side.title}**\n"
    yield "| # | name | type | shape | |\n|---|---|---|---|---|"
    for operand in side.operands:
        yield (f"| {operand.number} | `{operand.name}` | {escaped(operand.kind)} | {escaped(operand.shape)} "
               f"| {escaped(operand.words)} |")
    yield ""


def markdown_kinds(page):
    yield "| " + " | ".join(page.letters) + " | level |"
    yield "|---" * (len(page.letters) + 1) + "|"
    for kinds, level in page.kinds:
        yield f"| {' | '.join(map(escaped, kinds))} | {level} |"
    yield ""


def markdown_part(title, text):
    if title == "Formula":
        return f"**Formula**\n\n```\n{text.strip()}\n```\n"
    return filled(f"**{title}**: {escaped(text)}") + "\n"


def markdown_page(page):
    yield f"## {page.name}\n"
    yield filled(f"{escaped(page.summary)} Code {page.code}, since level {page.level}.") + "\n"
    for side in page.sides:
        yield from markdown_side(side)
    if page.kinds:
        yield from markdown_kinds(page)
    for title, text in page.parts:
        yield markdown_part(title, text)


def anchor(title):
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def markdown(chapters, pages):
    lines = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", f"<!-- {GENERATED} -->",
             "# Operations\n"]
    for title, paragraphs in chapters:
        lines.append(f"## {title}\n")
        lines += [filled(escaped(paragraph)) + "\n" for paragraph in paragraphs]
    lines.append("## All operations\n")
    links = [f"[{page.name}](#{anchor(page.name)})" for page in sorted(pages, key=lambda p: p.name)]
    lines.append(filled(", ".join(links)) + "\n")
    for page in pages:
        lines += markdown_page(page)
    return "\n".join(lines).rstrip() + "\n"


# -- the manual page ----------------------------------------------------------------

HEAD = r""".\" SPDX-License-Identifier: Apache-2.0
.\" {generated}
.Dd November 26, 2026
.Dt NNHAL-OPERATIONS 7
.Os
.Sh NAME
.Nm nnhal-operations
.Nd the operations of the Neural Networks API
.Sh DESCRIPTION
.In android/NeuralNetworks.h
names 106 operations,
.Dv ANEURALNETWORKS_ADD
and so on.
This page says what inputs and outputs each has, in their order, and what it computes.
"""
TAIL = """.Sh SEE ALSO
.Xr nnhal 1 ,
.Xr ANeuralNetworks 3
"""


def manual_side(side):
    yield f".Pp\n.Em {side.title}"
    yield ".Bl -tag -width Ds -compact"
    for operand in side.operands:
        yield f".It {operand.number} Va {operand.name} No {operand.kind} , {operand.shape}"
        yield from mdoc.paragraph(operand.words)
    yield ".El"


def manual_kinds(page):
    yield ".Pp"
    yield "Types, each with the level that it needs:"
    yield ".Bl -item -compact"
    for kinds, level in page.kinds:
        yield ".It"
        yield mdoc.guard("; ".join(f"{letter} {kind}" for letter, kind in zip(page.letters, kinds)) +
                    f": level {level}")
    yield ".El"


def manual_part(title, text):
    if title == "Formula":
        return [".Bd -literal -offset indent", *map(mdoc.guard, text.strip().splitlines()), ".Ed"]
    return [".Pp", *mdoc.paragraph(f"{title}: {text}")]


def manual_page(page):
    yield f".Ss {page.name}"
    yield from mdoc.paragraph(f"{page.summary} Code {page.code}, since level {page.level}.")
    for side in page.sides:
        yield from manual_side(side)
    if page.kinds:
        yield from manual_kinds(page)
    for title, text in page.parts:
        yield from manual_part(title, text)


def manual(chapters, pages):
    lines = [HEAD.format(generated=GENERATED).rstrip()]
    for title, paragraphs in chapters:
        lines.append(f".Ss {title}")
        for number, paragraph in enumerate(paragraphs):
            lines += [".Pp"] * (number > 0)
            lines += mdoc.paragraph(paragraph)
    lines.append(".Sh OPERATIONS")
    for page in pages:
        lines += manual_page(page)
    return "\n".join(lines) + "\n" + TAIL
