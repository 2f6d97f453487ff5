#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""System calls of a steady burst, both sides, counted by strace.

    steady.py PROGRAM

PROGRAM computes as often as it is told; the driver is in a child of it, so that
strace -f sees both. What 10,000 computations more cost is the difference of two
counts: less than 0.01 calls each. Without strace the test is skipped, and says so.
"""

import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
FEW, MORE = 1000, 10000
MOST = 0.01


def count(program, n):
    """How many system calls the program and its children made; None: strace cannot trace."""
    environment = dict(os.environ, NNHAL_BURST_SPIN_US="1000000")
    with tempfile.NamedTemporaryFile("r") as summary:
        done = subprocess.run(["strace", "-f", "-c", "-o", summary.name, program, str(n)],
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=200)
        lines = summary.read().splitlines()
    if done.returncode:
        print(done.stderr)
        return None if "ptrace" in done.stderr else sys.exit(1)
    total = [line.split() for line in lines if line.endswith("total")]
    return int(total[-1][3])


def main():
    if not shutil.which("strace"):
        print("no strace: system calls were not counted (apt-get install strace)")
        return SKIPPED
    counts = [count(sys.argv[1], n) for n in (FEW, FEW + MORE)]
    if None in counts:
        print("strace may not trace here: system calls were not counted")
        return SKIPPED
    each = (counts[1] - counts[0]) / MORE
    print(f"{counts[0]} and {counts[1]} system calls: {each:.4f} for each computation")
    return 0 if each < MOST else 1


if __name__ == "__main__":
    sys.exit(main())
