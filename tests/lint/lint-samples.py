#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every block of C in doc/driver/*.md compiles alone, with what is installed and no warning."""

import re
import subprocess
import tempfile
from pathlib import Path

import tree

BLOCK = re.compile(r"^```c\n(.*?)^```$", re.M | re.S)
COMPILE = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-c"]


def lint():
    for path in tree.files(".md"):
        text = tree.read(path)
        for block in BLOCK.finditer(text) if path.startswith("doc/driver/") else ():
            line = text.count("\n", 0, block.start()) + 1
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "sample.c"
                source.write_text(block[1])
                done = subprocess.run([*COMPILE, f"-I{tree.ROOT}/include", source, "-o",
                                       Path(folder) / "sample.o"], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True)
            if done.returncode:
                yield path, line, done.stderr.strip()


tree.run(lint)
