#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C file is as clang-format 14 leaves it."""

import shutil
import subprocess
import sys

import tree

if not shutil.which("clang-format"):
    print("clang-format is not installed: the form of the code was not checked")
    sys.exit(77)


def lint():
    paths = tree.files(".c", ".h", ".cc")
    for start in range(0, len(paths), 50):
        done = subprocess.run(["clang-format", "--dry-run", *paths[start:start + 50]],
                              cwd=tree.ROOT, capture_output=True, text=True)
        seen = set()
        for line in done.stderr.splitlines():
            parts = line.split(":")
            if "clang-formatted" in line and parts[0] not in seen:
                seen.add(parts[0])
                yield parts[0], parts[1], "not formatted: clang-format -i " + parts[0]


tree.run(lint)
