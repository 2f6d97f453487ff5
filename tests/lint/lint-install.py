#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doc/admin/install.md names each library that a build needs, none that no build asks for, and each program in libexec/."""

import re

import tree

PAGE = "doc/admin/install.md"
DEPENDENCY = re.compile(r"dependency\('([\w.-]+)'(?![^)]*required: (?:false|get_option\('tests'\)))")
ROW = re.compile(r"^\| ((?:`[\w.-]+`(?:, )?)+) \|", re.M)
LIBEXEC = re.compile(r"get_option\('libexecdir'\) / '([\w-]+)'")
OWN = {"threads", "dl"}  # of the C library


def lint():
    wanted = {}
    for path in tree.files("meson.build"):
        if path.startswith(("src/", "hal/", "include/")) or path == "meson.build":
            wanted.update((name, path) for name in DEPENDENCY.findall(tree.read(path)))
    text = tree.read(PAGE)
    table = text[text.index("| library |"):]
    named = set(re.findall(r"`([\w.-]+)`", " ".join(ROW.findall(table[:table.index("\n\n")]))))
    for name in sorted(wanted.keys() - OWN - named):
        yield PAGE, 1, f"{name}, which {wanted[name]} asks for, is not in the table of libraries"
    for name in sorted(named - wanted.keys()):
        yield PAGE, 1, f"{name} is in the table of libraries, and no build asks for it"
    for name in sorted(named):
        if f"'pkgconfig({name})'" not in text:
            yield PAGE, 1, f"{name} is missing in the line for Fedora and openSUSE"
    rows = [line for line in text.splitlines() if line.endswith("| `libexec/` |")]
    for path in tree.files("meson.build"):
        for name in LIBEXEC.findall(tree.read(path)):
            if not any(f"`{name}`" in row for row in rows):
                yield PAGE, 1, f"{name}, for which {path} says libexec/, is not in the row of that folder"


tree.run(lint)
