#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages are well formed and installed."""

import shutil
import subprocess
import sys

import tree

if not shutil.which("mandoc"):
    print("mandoc is not installed: the manual pages were not checked")
    sys.exit(77)


def lint():
    pages = [p for p in tree.files(".1", ".3", ".5", ".7", ".8") if p.startswith("doc/man/")]
    installed = tree.read("doc/meson.build")
    for page in pages:
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", page], cwd=tree.ROOT,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            yield page, 1, done.stdout.strip()
        if page.removeprefix("doc/") not in installed:
            yield page, 1, "doc/meson.build does not install it"


tree.run(lint)
