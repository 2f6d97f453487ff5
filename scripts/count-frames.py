#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the frames from an entry point of the API to a kernel, in embedded mode, with gdb.

    scripts/count-frames.py                      the cases below
    scripts/count-frames.py --build OTHER/build  the same of another build, old or new
    scripts/count-frames.py --case alone --most 18         fails where there are more frames
    scripts/count-frames.py --kernel NAME -- COMMAND...    another kernel in another program

alone   a FULLY_CONNECTED of floats by itself, from the vectors
head    the MUL of examples/first, which begins a fused chain
link    the ADD of examples/first, which runs in that chain

Both ends are counted, and inlined functions, which gdb shows as frames. The build
needs debugging information (buildtype debugoptimized, the default). Only plain C
kernels are allowed (NNHAL_CPU_ISA=c). Without gdb the exit status is 77: skipped.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VECTORS = Path(os.environ.get("NNHAL_SHARED", ROOT.parent / "shared")) / "vectors"
ENTRY = "ANeuralNetworksExecution_compute"
FRAME = re.compile(r"^#(\d+)\s+(?:0x[0-9a-f]+ in )?(\S+) \(", re.M)
PLACE = re.compile(r" at (?:\.\./)*(\S+:\d+)$")
SKIPPED = 77
LIMIT_S = 120


def cases(build):
    """name -> (kernel, command) of the cases that can run here."""
    first = [str(build / "examples/first")]
    vector = VECTORS / "fully_connected.nnt"
    alone = [str(build / "nnt"), "--device", "nnhal-cpu", str(vector)]
    return {**({"alone": ("nn_fully_connected_f32__c", alone)} if vector.is_file() else {}),
            "head": ("mul_row_f32__c", first), "link": ("add_row_f32__c", first)}


def environment(build):
    return {**os.environ, "NNHAL_MODE": "embedded", "NNHAL_CPU_ISA": "c", "NNHAL_CPU_THREADS": "1",
            "LD_LIBRARY_PATH": str(build), "DEBUGINFOD_URLS": ""}


def run_gdb(build, kernel, command):
    """What gdb says: the kernel counts only once the entry point was reached, not in tuning."""
    steps = ["set pagination off", "set width 0", "set breakpoint pending on",
             "set print frame-arguments none", f"break {ENTRY}", "run",
             "delete", f"break {kernel}", "continue", "bt"]
    arguments = [argument for step in steps for argument in ("-ex", step)]
    done = subprocess.run(["gdb", "-nx", "-q", "-batch", *arguments, "--args", *command],
                          env=environment(build), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT_S)
    return done.stdout + done.stderr


def frames(text):
    """(name, place) from the kernel to the entry point; none if the kernel was not reached."""
    found = []
    for line in text.splitlines():
        frame = FRAME.match(line)
        if frame:
            at = PLACE.search(line)
            found.append((frame[2], at[1] if at else "without debugging information"))
            if frame[2] == ENTRY:
                return found
    return []


def count(build, name, kernel, command):
    """Prints the frames of one case; how many they are."""
    if not Path(command[0]).is_file():
        sys.exit(f"{command[0]}: no such program; make build first")
    text = run_gdb(build, kernel, command)
    found = frames(text)
    if not found:
        sys.exit(f"{text[-2000:]}\n{kernel} was not reached from {ENTRY}")
    for number, (function, place) in enumerate(reversed(found), 1):
        print(f"{number:3} {function:40} {place}")
    print(f"{name}: {len(found)} frames from {ENTRY} to {kernel}, both counted\n")
    return len(found)


def parse():
    parser = argparse.ArgumentParser(description="Counts frames from the API to a kernel.")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="a build folder")
    parser.add_argument("--case", choices=("alone", "head", "link"), help="this case only")
    parser.add_argument("--kernel", help="where to stop; needs a command")
    parser.add_argument("--most", type=int, help="fail if there are more frames")
    parser.add_argument("command", nargs="*", help="behind --; needs a kernel")
    options = parser.parse_args()
    if bool(options.kernel) != bool(options.command):
        parser.error("--kernel and a command go together")
    options.build = options.build.resolve()
    return options


def main():
    options = parse()
    if not shutil.which("gdb"):
        print("SKIPPED: gdb is not installed (apt-get install gdb): frames were not counted")
        sys.exit(SKIPPED)
    chosen = cases(options.build)
    if options.kernel:
        chosen = {"given": (options.kernel, options.command)}
    elif options.case and options.case not in chosen:
        print(f"SKIPPED: {VECTORS} has no add.nnt: frames were not counted")
        sys.exit(SKIPPED)
    elif options.case:
        chosen = {options.case: chosen[options.case]}
    most = max(count(options.build, name, *case) for name, case in chosen.items())
    sys.exit(1 if options.most is not None and most > options.most else 0)


if __name__ == "__main__":
    main()
