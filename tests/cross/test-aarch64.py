#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the tree for 64-bit ARM and runs its unit tests in qemu-user.

The libraries are Debian's, in build-sysroot-aarch64, and the build is in build-aarch64; both stay
for the next time. Exit status 77 (skipped) without compiler and emulator. The last line is
"N passed, N failed, N skipped".
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build-aarch64"
SYSROOT = ROOT / "build-sysroot-aarch64"
PROGRAMS = ["aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++", "qemu-aarch64"]

SLOW = "10"  # times as long as a machine of its own

# What qemu-user does not do, so that a test says nothing about the machine.
LACKING = {
    "ring": "MADV_DONTFORK is ignored",
    "packet": "descriptors that do not fit into the caller's buffer stay open",
    "conn": "PR_SET_CHILD_SUBREAPER is unknown",
    "child": "PR_SET_CHILD_SUBREAPER is unknown, programs of the machine cannot be started",
    "program": "PR_SET_CHILD_SUBREAPER is unknown, programs of the machine cannot be started",
    "supervisor": "PR_SET_CHILD_SUBREAPER is unknown, the emulator writes to standard error",
    "weights": "memory of the process holds translated code",
}


def prepare():
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        print(f"{', '.join(missing)} missing: scripts/install-deps.sh cross installs them")
        sys.exit(77)
    subprocess.run([ROOT / "tests/cross/make-sysroot.sh", "arm64", SYSROOT], check=True)
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", BUILD, "--cross-file", SYSROOT / "place.ini",
                        "--cross-file", ROOT / "tests/cross/aarch64.ini"],
                       cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "--quiet"], check=True)


def chosen_tests():
    """Names of the unit tests that are programs, and which of them say nothing here."""
    tests = json.loads((BUILD / "meson-info/intro-tests.json").read_text())
    names = [t["name"] for t in tests
             if any(s.split(":")[-1] == "unit" for s in t["suite"])
             and not any(s.split(":")[-1] == "slow" for s in t["suite"])
             and "python" not in Path(t["cmd"][0]).name]
    return [n for n in names if n not in LACKING], [n for n in names if n in LACKING]


def main():
    prepare()
    names, lacking = chosen_tests()
    env = dict(os.environ, CK_TIMEOUT_MULTIPLIER=SLOW)
    done = subprocess.run(["meson", "test", "-C", BUILD, "--no-rebuild", "--quiet", "-t", SLOW,
                           "--num-processes", "1",
                           "--print-errorlogs", *names], env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    results = [json.loads(line)["result"]
               for line in (BUILD / "meson-logs/testlog.json").read_text().splitlines()]
    n_passed = results.count("OK")
    if done.returncode:
        print(done.stdout[-20000:])
    for name in lacking:
        print(f"SKIPPED {name}: {LACKING[name]}")
    print(f"{n_passed} passed, {len(names) - n_passed} failed, {len(lacking)} skipped")
    return 0 if n_passed == len(names) and names else 1


sys.exit(main())
