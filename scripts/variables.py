#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what documents say of environment variables from src/base/variables.def.

    scripts/variables.py update     rewrites the table of README.md and the list of doc/man/nnhal-variables.5
    scripts/variables.py check      whether both are up to date, and every name in src/ has a row
"""

import re
import sys
from pathlib import Path

from reference import command, mdoc

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src/base/variables.def"
ROW = re.compile(r'^NN_VARIABLE\((\w+), "(\w+)", (NULL|"\w+"), "(.*?)", "(.*?)",\n\s+"(.*?)"\)$', re.M)
NAME = re.compile(r'"(NNHAL_[A-Z0-9_]+)"')


def rows():
    text = TABLE.read_text(encoding="ascii")
    found = [dict(zip(("id", "name", "old", "values", "standard", "meaning"), row))
             for row in ROW.findall(text)]
    if len(found) != len(re.findall(r"^NN_VARIABLE\(", text, re.M)):
        sys.exit(f"{TABLE}: a row that this script cannot read")
    return found


def readme():
    lines = ["| variable | values | if not set | meaning |", "|---|---|---|---|"]
    for row in rows():
        lines.append(f"| `{row['name']}` | {row['values']} | {row['standard']} | {row['meaning']} |")
    return "\n".join(lines) + "\n"


def manual():
    lines = []
    for row in rows():
        lines += [f".It Ev {row['name']}", *mdoc.lines_of(row["meaning"]), "Values:",
                  *mdoc.lines_of(row["values"] + ";"), "if not set:", *mdoc.lines_of(row["standard"] + ".")]
    return "\n".join(lines) + "\n"


DOCUMENTS = {
    ROOT / "README.md": (readme, r"\| variable \|.*?\n(?=\n)"),
    ROOT / "doc/man/nnhal-variables.5": (manual, r"\.It Ev NNHAL_MODE\n.*?(?=\.El\n)"),
}


def rewritten(path):
    make, place = DOCUMENTS[path]
    text = path.read_text(encoding="utf-8")
    found = re.search(place, text, re.S)
    if not found:
        sys.exit(f"{path}: the place for environment variables is not there")
    return text[:found.start()] + make() + text[found.end():]


def strangers():
    """Names of variables in the sources that have no row."""
    known = {row["name"] for row in rows()} | {row["old"].strip('"') for row in rows()}
    for path in sorted((ROOT / "src").rglob("*.c")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for name in NAME.findall(line):
                if name not in known:
                    yield f"{path.relative_to(ROOT)}:{number}: {name} has no row in {TABLE.name}"


sys.exit(command.run(__doc__, lambda: {path: rewritten(path) for path in DOCUMENTS}, strangers))
