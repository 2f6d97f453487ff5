#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether built programs and libraries are hardened, by what readelf tells of them.

    tests/e2e/hardened.py FILE...             what every build has
    tests/e2e/hardened.py --package FILE...   and what a distribution's flags add

Every build: functions are bound at the start and what was bound is read-only (BIND_NOW, RELRO), the
stack is not executable, no code is changed when it is loaded, programs are loaded anywhere (PIE), and
libraries that programs are linked with have a soname. A package: checked functions of the C library
(FORTIFY) and guarded stacks somewhere in each file that could have them, shadow stacks and landing
pads on x86-64 (CET), and no RUNPATH.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

# Of Android, which has no versions of it; modules that are loaded by their path.
WITHOUT_VERSION = re.compile(r"libneuralnetworks\.so|libnnhal-delegate\.so|libnnhal-driver-.*\.so")
LANDING_PAD = "f3 0f 1e fa"
MANY = 10
# What gcc replaces by __NAME_chk where it knows the size of the destination.
FORTIFIED = {"memcpy", "memset", "snprintf", "vsnprintf", "fprintf", "printf", "read", "strcpy"}


class Elf:
    def __init__(self, path):
        self.path = Path(path)
        self.header = self.readelf("-hW")
        self.segments = self.readelf("-lW")
        self.dynamic = self.readelf("-dW")
        self.notes = self.readelf("-nW")
        self.imports = set(re.findall(r" UND (\w+)", self.readelf("--dyn-syms", "-W")))

    def readelf(self, *options):
        done = subprocess.run(["readelf", *options, self.path], check=True, capture_output=True,
                              text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
        return done.stdout

    def flag(self, name):
        return re.search(rf"\((?:FLAGS|FLAGS_1)\).*\b{name}\b", self.dynamic) is not None

    def entry(self, tag):
        found = re.search(rf"\({tag}\)[^[]*\[(.*)\]", self.dynamic)
        return found and found[1]

    def is_program(self):
        return "INTERP" in self.segments

    def is_x86_64(self):
        return "X86-64" in self.header


def always(elf):
    """What every build has."""
    if "GNU_RELRO" not in elf.segments:
        yield "what was bound stays writable (no RELRO)"
    if not elf.flag("BIND_NOW") and not elf.flag("NOW"):
        yield "functions are bound when they are called first (no BIND_NOW)"
    stack = re.search(r"GNU_STACK.*", elf.segments)
    if not stack or "E" in stack[0].split()[-2]:
        yield "the stack is executable"
    if "(TEXTREL)" in elf.dynamic or elf.flag("TEXTREL"):
        yield "code is changed when it is loaded (TEXTREL)"
    if elf.is_program():
        if not elf.flag("PIE"):
            yield "the program is loaded at a fixed address (no PIE)"
    elif not WITHOUT_VERSION.fullmatch(elf.path.name):
        soname = elf.entry("SONAME")
        if not soname or not re.fullmatch(r"lib[\w-]+\.so\.\d+", soname):
            yield f"the soname {soname} has no version"


def has_pads(elf):
    """Whether functions that may be called by a pointer begin with a landing pad; the C library's own
    start files bring a few."""
    text = subprocess.run(["objdump", "-d", "--no-addresses", elf.path], check=True,
                          capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}).stdout
    return text.count(LANDING_PAD) > MANY


def packaged(elf):
    """What a distribution's flags add."""
    for tag in ("RUNPATH", "RPATH"):
        if elf.entry(tag):
            yield f"it looks for libraries in {elf.entry(tag)}"
    checked = {name for name in elf.imports if re.fullmatch(r"__\w+_chk", name)}
    if elf.imports & FORTIFIED and not checked:
        yield "no function of the C library is checked (FORTIFY)"
    if checked and "__stack_chk_fail" not in elf.imports:
        yield "no stack is guarded"
    if elf.is_x86_64():
        if "SHSTK" not in elf.notes:
            yield "it is not marked for shadow stacks (CET)"
        if not has_pads(elf):
            yield "its functions have no landing pads (CET)"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    n_complaints = 0
    for path in arguments.files:
        elf = Elf(path)
        for complaint in (*always(elf), *(packaged(elf) if arguments.package else ())):
            print(f"{path}: {complaint}")
            n_complaints += 1
    print(f"{len(arguments.files)} files, {n_complaints} complaints")
    sys.exit(1 if n_complaints else 0)


main()
