#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs into a folder, builds the sample driver's installed source against that
with its own Makefile, and runs the sample's tests with what came of it. The null driver's Makefile has
nnhal-cts check what it builds.

    driver-out-of-tree.py MESON TEST-PROGRAM
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ["NNHAL_BUILD_ROOT"])


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout}")
    return done.stdout


def only(paths):
    paths = list(paths)
    if len(paths) != 1:
        sys.exit(f"expected one of it: {paths}")
    return paths[0]


def main(meson, program):
    with tempfile.TemporaryDirectory() as folder:
        installed, copy, empty = (Path(folder) / name for name in ("installed", "copy", "empty"))
        run(meson, "install", "-C", BUILD, "--no-rebuild", "--destdir", installed)
        for name in ("sample", "null"):
            if list(installed.rglob(f"libnnhal-driver-{name}.*so")):
                sys.exit(f"the {name} driver is installed as a device")
        shutil.copytree(only(installed.rglob("examples/sample-driver")), copy)
        shutil.copytree(only(installed.rglob("examples/null-driver")), empty)
        env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(installed), NAME="mine",
                   PKG_CONFIG_PATH=str(only(installed.rglob("nnhal-driver.pc")).parent))
        for variable in ("CC", "CFLAGS", "LDFLAGS", "MAKEFLAGS", "DESTDIR"):
            env.pop(variable, None)
        run("make", "-C", copy, env=env)
        driver = copy / "libnnhal-driver-mine.so"
        exported = [line.split()[-1] for line in
                    run("nm", "-D", "--defined-only", driver).splitlines()]
        if exported != ["nnhal_driver_main"]:
            sys.exit(f"the driver exports {exported}")
        run("make", "-C", copy, "install", f"DESTDIR={folder}/there", "DRIVERS=/lib/nnhal/drivers",
            env=env)
        there = only((Path(folder) / "there").rglob("*.so"))
        run("make", "-C", empty, "check", f"CTS={BUILD}/nnhal-cts", env=env)
        print(run(program, env=dict(os.environ, NNHAL_TEST_SAMPLE=str(there))))


main(*sys.argv[1:])
