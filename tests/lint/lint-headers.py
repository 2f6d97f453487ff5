#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone, from C and from C++; internal ones from C."""

import os
import platform
import re
import subprocess
import tempfile

import tree

BUILD = os.environ.get("NNHAL_BUILD_ROOT", str(tree.ROOT / "build"))
# Headers of kernels that are written with vectors need an instruction set, of the compiler alone.
WIDE_FLAGS = ["-mfma", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl",
              "-DNN_VARIANT_AVX512"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]


def compile_alone(names, language, standard, extra):
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names):
            source = f"{folder}/{number}.{language}"
            with open(source, "w", encoding="ascii") as file:
                file.write(f'#include {name}\n#include {name}\nextern int nn_used;\nint nn_used;\n')
            compiler = "g++" if language == "cc" else "gcc"
            done = subprocess.run([compiler, f"-std={standard}", "-fsyntax-only", *WARNINGS, *extra,
                                   source], capture_output=True, text=True)
            if done.returncode:
                yield name, done.stderr.strip().splitlines()[0]


def lint():
    public = [p for p in tree.files(".h") if p.startswith("include/")]
    include = ["-I", str(tree.ROOT / "include"), "-I", f"{BUILD}/include"]
    names = [f"<{p.removeprefix('include/')}>" for p in public]
    for language, standard in (("c", "c99"), ("c", "gnu17"), ("cc", "c++11"), ("cc", "c++17")):
        for name, error in compile_alone(names, language, standard, include):
            yield name, 1, f"{standard}: {error}"
    internal = [f'"{p.removeprefix("src/")}"' for p in tree.files(".h")
                if p.startswith("src/") and not p.startswith(("src/tools/", "src/tflite/"))]
    more = [*include, "-I", str(tree.ROOT / "src"), "-I", f"{BUILD}/src", "-D_GNU_SOURCE"]
    wide = [name for name in internal if re.search(r"(-simd|/requantize|/vector-i32)\.h", name)]
    for name, error in compile_alone(sorted(set(internal) - set(wide)), "c", "gnu17", more):
        yield name, 1, error
    if platform.machine() == "x86_64":
        for name, error in compile_alone(wide, "c", "gnu17", [*more, *WIDE_FLAGS]):
            yield name, 1, error


tree.run(lint)
