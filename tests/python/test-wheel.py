#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package as pip installs it: a wheel from the tree, alone in a folder.

Nothing is fetched: Debian's pip, setuptools and wheel build it, or the test is skipped and says so.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["NNHAL_SOURCE_ROOT"])
USE = """
import sys, nnhal
assert nnhal.__file__.startswith(sys.argv[1]), nnhal.__file__
model = nnhal.load(sys.argv[2]).compile("cpu")
x = model.inputs[0].quantize(0.5).repeat(1024).reshape(model.inputs[0].shape)
print(model.run(x)[0].shape)
"""


def python(*arguments, **options):
    return subprocess.run([sys.executable, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, **options)


def main():
    if python("-c", "import setuptools, numpy, pip, wheel").returncode:
        print("SKIPPED: no wheel is made: install python3-numpy, python3-pip, python3-setuptools "
              "and python3-wheel")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "python", f"{folder}/tree")  # setuptools writes into it
        pip = ("-m", "pip", "--disable-pip-version-check", "--no-cache-dir")
        made = python(*pip, "wheel", "--no-index", "--no-deps", "--no-build-isolation",
                      "-w", f"{folder}/wheels", f"{folder}/tree")
        wheels = list(Path(folder, "wheels").glob("nnhal-*-none-any.whl"))
        if len(wheels) != 1:
            print(made.stdout, made.stderr, sep="")
            return 1
        put = python(*pip, "install", "--no-index", "--no-deps", "--target", f"{folder}/site",
                     wheels[0])
        if put.returncode or not Path(folder, "site", "nnhal", "py.typed").exists():
            print(put.stdout, put.stderr, sep="")
            return 1
        used = python("-c", USE, f"{folder}/site", ROOT / "models/glyphs/glyphs-int8.tflite",
                      cwd=folder, env=dict(os.environ, PYTHONPATH=f"{folder}/site"))
        print(used.stdout, used.stderr, sep="")
        return 0 if used.stdout == "(1, 46)\n" else 1


sys.exit(main())
