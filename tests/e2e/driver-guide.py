#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of doc/driver/testing.md run as they stand there, on the sample driver.

Less is computed: two models of each operation, and ADD, which the sample has, for CONV_2D.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["NNHAL_SOURCE_ROOT"])
BUILD = Path(os.environ["NNHAL_BUILD_ROOT"])
COMMANDS = re.compile(r"(?:^    .*\n)+", re.M)
NNT_COUNTS = re.compile(r"^\d+ passed, ", re.M)  # nnhal-cts has more before them
CHANGES = [("/path/to/mine/libnnhal-driver-mine.so$", "nnhal-drivers/libnnhal-driver-sample.so --section reuse"),
           ("/path/to/mine/libnnhal-driver-mine.so", "nnhal-drivers/libnnhal-driver-sample.so"),
           ("nnhal-mine", "nnhal-sample"), ("CONV_2D_1_41", "ADD_1_1"), ("CONV_2D", "ADD"),
           (r"--count \d+", "--count 2"),
           ("LD_PRELOAD=\\S+\\(.*?\\)", "")]


def script():
    text = "".join(COMMANDS.findall((ROOT / "doc/driver/testing.md").read_text()))
    for pattern, replacement in CHANGES:
        text = re.sub(pattern, replacement, text, flags=re.M)
    return "set -e\n" + text


def build_folder(folder):
    """A folder with what the commands name, so that what they write stays out of the build."""
    build = Path(folder) / "build"
    build.mkdir()
    for name in ("nnt", "nnhal", "nnhal-cts", "nnhal-drivers"):
        (build / name).symlink_to(BUILD / name)
    (Path(folder) / "tests").symlink_to(ROOT / "tests")
    return build


def main():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["sh", "-c", script()], cwd=build_folder(folder), stdin=subprocess.DEVNULL,
                              env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"), capture_output=True,
                              text=True, timeout=280)
    n_runs = len(NNT_COUNTS.findall(done.stdout))
    print(done.stdout, done.stderr)
    return 1 if done.returncode or n_runs < 15 else 0


sys.exit(main())
