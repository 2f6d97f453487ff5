#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program of each guide in doc/app compiles without a warning and prints what the guide says.

A page has one block of C, a whole program, and behind the line "It prints" what it prints on
drivers in its own process.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["NNHAL_SOURCE_ROOT"])
BUILD = Path(os.environ["NNHAL_BUILD_ROOT"])
PROGRAM = re.compile(r"^```c\n(.*?)^```$", re.M | re.S)
PRINTS = re.compile(r"^It prints[^\n]*:\n\n```\n(.*?)^```$", re.M | re.S)
COMPILE = ["cc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", "-xc", "-", "-o"]
PAGES = sorted(path.stem for path in (ROOT / "doc/app").glob("*.md") if PROGRAM.search(path.read_text()))
LINK = [f"-L{BUILD}", "-lneuralnetworks", f"-Wl,-rpath,{BUILD}"]


def judge(page, folder):
    """What is wrong with a guide, or None."""
    text = (ROOT / "doc/app" / f"{page}.md").read_text()
    programs, printed = PROGRAM.findall(text), PRINTS.findall(text)
    if len(programs) != 1 or len(printed) != 1:
        return f"{page}: {len(programs)} programs, {len(printed)} times what one prints"
    program = Path(folder) / page
    done = subprocess.run([*COMPILE, program, *LINK], input=programs[0], capture_output=True, text=True)
    if done.returncode:
        return f"{page}: {done.stderr}"
    environment = dict(os.environ, NNHAL_MODE="embedded", NNHAL_DRIVER_PATH=str(BUILD / "nnhal-drivers"))
    done = subprocess.run([program], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    if done.returncode or done.stderr or done.stdout != printed[0]:
        return f"{page}: exit status {done.returncode}, printed {done.stdout!r} {done.stderr!r}"
    return None


def main():
    with tempfile.TemporaryDirectory() as folder:
        complaints = [complaint for page in PAGES if (complaint := judge(page, folder))]
    print("\n".join(complaints) or f"{len(PAGES)} guides")
    return 1 if complaints else 0


sys.exit(main())
