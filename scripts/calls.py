#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages (3) of the library's calls from the comments of its headers.

    scripts/calls.py update    rewrites the pages in doc/man
    scripts/calls.py check     whether they are up to date, and every function has a page

A group is what stands in a header below a line `-- title --`; it has a page. A comment says what
the declarations behind it do: `name() - text`, then `Returns: outcomes`.
"""

import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from reference import command, mdoc

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
MAN = ROOT / "doc/man"
CALLS, TYPES, EXT = "android/NeuralNetworks.h", "android/NeuralNetworksTypes.h", "nnhal/ext.h"
BUFFER = "android/hardware_buffer.h"

# Page, header, groups of the header ("": before the first line of a group), what it is about.
PAGES = [
    ("ANeuralNetworksDevice", CALLS, ["devices"], "devices of the Neural Networks API"),
    ("ANeuralNetworksMemory", CALLS, ["memory", "memory descriptors"], "memories that are not copied"),
    ("ANeuralNetworksModel", CALLS, ["models"], "models while they are built"),
    ("ANeuralNetworksCompilation", CALLS, ["compilations"], "models that a device has prepared"),
    ("ANeuralNetworksExecution", CALLS, ["executions"], "computations, and bursts of them"),
    ("ANeuralNetworksEvent", CALLS, ["events"], "ends of computations, and fences"),
    ("AHardwareBuffer", BUFFER, [""], "pictures and bytes that devices share"),
    ("nnhal-ext", EXT, ["", "hardware buffers"], "extensions of the Neural Networks API"),
]
OVERVIEW = "ANeuralNetworks"


@dataclass
class Chunk:
    """A comment and what is declared behind it."""

    text: str
    code: str

    @property
    def functions(self):
        """(result, name, arguments) of each function that is declared."""
        found = re.findall(r"^([\w ]+?[ *]+)(\w+)\(([^{}]*?)\);", self.code, re.M | re.S)
        return [(result.strip(), name, [" ".join(argument.split()) for argument in arguments.split(",")])
                for result, name, arguments in found if not result.startswith("typedef")]


    @property
    def kind(self):
        """The type that is declared: "struct nnhal_where"."""
        return re.search(r"(?:enum|struct) \w+", self.code)[0]


@dataclass
class Group:
    title: str
    essay: str = ""
    chunks: list = field(default_factory=list)


def words_of(comment):
    lines = [re.sub(r"^ \*( |$)", "", line) for line in comment.strip().splitlines()]
    return "\n".join(line.rstrip() for line in lines).strip()


def read_header(name):
    """(essay, groups) of a header."""
    text = (INCLUDE / name).read_text(encoding="ascii")
    pieces = re.split(r"^/\*(.*?)\*/", text, flags=re.M | re.S)[1:]
    groups, essay = [Group("")], ""
    for comment, code in zip(pieces[::2], pieces[1::2]):
        code = re.sub(r"^(#.*|extern \"C\" \{|\})$\n?", "", code, flags=re.M).strip()
        title = re.match(r" -- (.*?) -+\s*(.*)", comment, re.S)
        if title:
            groups.append(Group(title[1], words_of(title[2].lstrip("* \n"))))
        elif words_of(comment).startswith(Path(name).name):
            essay = words_of(comment)
        elif "SPDX" not in comment:
            groups[-1].chunks.append(Chunk(words_of(comment), code))
    return essay, groups


def paragraphs(text):
    """Paragraphs of a comment; outcomes are one of their own."""
    for block in text.replace("Returns:", "\n\nReturns:").split("\n\n"):
        if block.strip():
            yield " ".join(block.split())


def set_paragraphs(blocks):
    for number, block in enumerate(blocks):
        yield from [".Pp"] * (number > 0)
        yield from mdoc.paragraph(block)


def set_code(code):
    return [".Bd -literal -offset indent", *map(mdoc.guard, code.splitlines()), ".Ed"]


def set_chunk(chunk):
    names = [name for _, name, _ in chunk.functions]
    text = re.sub(r"^\S+\(\)(?:,\s+\S+\(\))*\s+-\s+", "", chunk.text) if names else chunk.text
    text = text[0].upper() + text[1:]
    if names:
        yield ".It Xo"
        yield from (f".Fn {name}" + (" ," if name != names[-1] else "") for name in names)
        yield ".Xc"
        yield from set_paragraphs(paragraphs(text))
    else:
        yield f".It Vt {chunk.kind}"
        yield from set_paragraphs(paragraphs(text))
        yield from set_code(chunk.code)


def set_synopsis(header, groups):
    yield ".Sh SYNOPSIS"
    yield f".In {header}"
    for group in groups:
        for chunk in group.chunks:
            for result, name, arguments in chunk.functions:
                listed = " ".join(f'"{argument}"' for argument in arguments)
                yield f".Ft {result}"
                yield f".Fn {name} {listed}"


def set_head(page, names, about):
    yield '.\\" SPDX-License-Identifier: Apache-2.0'
    yield '.\\" Written by scripts/calls.py from the headers: edit these.'
    yield from (".Dd November 26, 2026", f".Dt {page.upper()} 3", ".Os", ".Sh NAME")
    yield from (f".Nm {name} ," for name in names[:-1])
    yield f".Nm {names[-1]}"
    yield f".Nd {about}"


def see_also(page):
    others = [OVERVIEW] + [name for name, *_ in PAGES]
    others = [f".Xr {name} 3 ," for name in sorted(others) if name != page]
    return [".Sh SEE ALSO", *others, ".Xr nnhal-operations 7"]


def set_page(page, header, titles, about):
    groups = [group for group in read_header(header)[1] if group.title in titles]
    names = [name for group in groups for chunk in group.chunks for _, name, _ in chunk.functions]
    lines = [*set_head(page, names, about), *set_synopsis(header, groups), ".Sh DESCRIPTION"]
    for group in groups:
        lines += set_paragraphs(paragraphs(group.essay))
        lines.append(".Bl -tag -width Ds")
        for chunk in group.chunks:
            lines += set_chunk(chunk)
        lines.append(".El")
    return "\n".join(lines + see_also(page)) + "\n"


def set_overview():
    """The essay of the header, and the codes that its functions return."""
    about, essay = read_header(CALLS)[0].split(" - ", 1)[1].split("\n", 1)
    codes = next(chunk for chunk in read_header(TYPES)[1][0].chunks if "ResultCode" in chunk.code)
    lines = [*set_head(OVERVIEW, [OVERVIEW], about), ".Sh SYNOPSIS",
             f".In {CALLS}", ".Sh DESCRIPTION"]
    for number, block in enumerate(essay.strip("\n").split("\n\n")):
        if block.startswith("    "):
            lines += set_code(textwrap.dedent(block))
        else:
            lines += [".Pp"] * (number > 0) + list(mdoc.paragraph(" ".join(block.split())))
    lines += [".Sh RETURN VALUES", *mdoc.paragraph(codes.text), *set_code(codes.code)]
    return "\n".join(lines + see_also(OVERVIEW)) + "\n"


def documents():
    pages = {MAN / f"{page}.3": set_page(page, *rest) for page, *rest in PAGES}
    return {MAN / f"{OVERVIEW}.3": set_overview(), **pages}


def strangers():
    """Functions of the headers that no page has."""
    for header in (CALLS, EXT):
        titles = [title for _, name, listed, _ in PAGES if name == header for title in listed]
        for group in read_header(header)[1]:
            if group.title not in titles and any(chunk.functions for chunk in group.chunks):
                yield f"{header}: the group '{group.title}' has no page in scripts/calls.py"


sys.exit(command.run(__doc__, documents, strangers))
