#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every text file holds to: a license line, no open ends, clean lines."""

import re

import tree

CODE = (".c", ".h", ".cc", ".py", ".hal", ".sh")
OPEN_ENDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
CONFLICT = re.compile(r"^(<{7}|>{7}|={7})( |$)")


def lint():
    for path in tree.files(*CODE, ".md", ".build", ".txt", ".1", ".3", ".5", ".7", ".8"):
        lines = tree.read(path).splitlines()
        if path.endswith(CODE) and not any("SPDX-License-Identifier: Apache-2.0" in line
                                           for line in lines[:3]) \
                and not path.endswith("__init__.py"):
            yield path, 1, "no SPDX-License-Identifier in its first lines"
        for number, line in enumerate(lines, 1):
            if line != line.rstrip() and not path.endswith(".md"):
                yield path, number, "white space at the end of the line"
            if "\t" in line and path.endswith((".c", ".h", ".cc", ".py", ".build")):
                yield path, number, "a tab"
            if OPEN_ENDS.search(line) and path.endswith(CODE):
                yield path, number, "an open end"
            if CONFLICT.match(line) and not path.endswith((".md", ".txt")):
                yield path, number, "a conflict marker"


tree.run(lint)
