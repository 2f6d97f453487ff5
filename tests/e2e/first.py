#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program of the README: built in the tree and against an installed one, run in three ways.

    first.py --program build/examples/first --mode MODE
    first.py --installed

The first form runs the program that the build made. The second installs the
build into a folder, compiles examples/first.c with pkg-config's flags against
it, runs that in all three ways on the installed drivers, and uninstalls. The README's text
of the program is held to the file.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["NNHAL_SOURCE_ROOT"])
BUILD = Path(os.environ["NNHAL_BUILD_ROOT"])
sys.path.insert(0, str(ROOT / "tests" / "support"))
import service  # noqa: E402

CMAKE = """cmake_minimum_required(VERSION 3.10)
project(first C CXX)
find_package(nnhal 0.1 REQUIRED)
add_executable(first-c {0})
configure_file({0} ${{CMAKE_CURRENT_BINARY_DIR}}/first.cc COPYONLY)
add_executable(first-c++ ${{CMAKE_CURRENT_BINARY_DIR}}/first.cc)
foreach(program first-c first-c++)
  target_link_libraries(${{program}} nnhal::neuralnetworks)
endforeach()
"""
SAYS = re.compile(r"z = 2 0 0 8, by nnhal-\w+ \((\w+), pid (\d+)\)\n")


def run(program, mode, environment):
    """The complaint about one run, or None."""
    process = subprocess.Popen([program], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate(timeout=120)
    found = SAYS.fullmatch(out)
    if process.returncode or not found or err:
        return f"{mode}: exit status {process.returncode}, printed {out!r} {err!r}"
    if found[1] != mode:
        return f"{mode}: ran {found[1]}"
    if (mode == "embedded") != (int(found[2]) == process.pid):
        return f"{mode}: the driver ran in process {found[2]}, the program in {process.pid}"
    return None


def readme():
    """The complaint if the README shows another program."""
    program = (ROOT / "examples" / "first.c").read_text().split("\n", 2)[2]
    if f"```c\n{program}```" not in (ROOT / "README.md").read_text():
        return "README.md shows another program than examples/first.c"
    return None


def by_pkg_config(folder):
    """Yields programs that were compiled with the flags of pkg-config."""
    pc = next(Path(folder).rglob("neuralnetworks.pc"))
    environment = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent), PKG_CONFIG_SYSROOT_DIR=folder)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "neuralnetworks"], check=True,
                           capture_output=True, text=True, env=environment).stdout.split()
    for language, compiler in (("c", "cc"), ("c++", "c++")):
        program = Path(folder) / f"first-{language}"
        subprocess.run([compiler, "-x", language, ROOT / "examples" / "first.c", "-x", "none", "-o", program,
                        *flags], check=True)
        yield program


def by_cmake(folder):
    """Yields programs that CMake made; without CMake none, and a line says so."""
    if not shutil.which("cmake"):
        print("SKIPPED find_package(nnhal): cmake is not installed")
        return
    source, build = Path(folder) / "cmake", Path(folder) / "cmake" / "build"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(CMAKE.format(ROOT / "examples" / "first.c"))
    where = next(Path(folder).rglob("nnhalConfig.cmake")).parent
    for command in (["cmake", "-S", source, "-B", build, f"-Dnnhal_DIR={where}"],
                    ["cmake", "--build", build]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    yield from (build / "first-c", build / "first-c++")


def installed(folder):
    """Installs, compiles, runs and uninstalls; yields complaints."""
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder],
                   check=True, stdout=subprocess.DEVNULL)
    files = [path for path in Path(folder).rglob("*") if not path.is_dir() or path.is_symlink()]
    programs = [*by_pkg_config(folder), *by_cmake(folder)]
    library = next(Path(folder).rglob("libneuralnetworks.so"))
    os.environ["LD_LIBRARY_PATH"] = str(library.parent)
    os.environ["NNHAL_HOST"] = str(next(Path(folder).rglob("libexec/nnhal-host")))
    os.environ["NNHAL_DRIVER_PATH"] = str(
        next(Path(folder).rglob("libnnhal-driver-cpu.so")).parent)
    for mode in ("embedded", "private", "service"):
        with service.way(Path(os.environ["NNHAL_HOST"]).parent, mode, "cpu") as environment:
            for program in programs:
                yield run(program, mode, environment)
    subprocess.run(["ninja", "-C", BUILD, "uninstall"], check=True, stdout=subprocess.DEVNULL)
    left = [str(path) for path in files if os.path.lexists(path)]
    yield f"not uninstalled: {left}" if left or not files else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program")
    parser.add_argument("--mode")
    parser.add_argument("--installed", action="store_true")
    options = parser.parse_args()
    if options.installed:
        with tempfile.TemporaryDirectory() as folder:
            complaints = [readme(), *installed(folder)]
    else:
        with service.way(BUILD, options.mode, "cpu") as environment:
            complaints = [run(options.program, options.mode, environment)]
    complaints = [c for c in complaints if c]
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
