#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance vectors, in one way of reaching the CPU driver and one of running it.

    vectors.py --build build --mode MODE --path PATH --variant VARIANT [--isa ISA] [FILE...]

Runs nnt over every file of $NNHAL_SHARED/vectors (default: ../shared) and passes
if no model fails and the number of models is the files' own. Without vectors
the test is skipped, and says so.
"""

import argparse
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
VECTORS = Path(os.environ.get("NNHAL_SHARED", ROOT.parent / "shared")) / "vectors"
sys.path.insert(0, str(ROOT / "tests" / "support"))
import service  # noqa: E402

SKIPPED = 77
SHOWN = 40


def count_models(path):
    with open(path, "rb") as file:
        return struct.unpack_from("<I", file.read(16), 12)[0]


def run(options, files):
    environment = dict(os.environ)
    with service.way(options.build, options.mode, "cpu") as environment:
        if options.isa:
            environment["NNHAL_CPU_ISA"] = options.isa
        return subprocess.run(
            [Path(options.build) / "nnt", "--mode", options.mode, "--path", options.path,
             "--variant", options.variant, "--device", options.device, *files],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.environ.get("NNHAL_BUILD_ROOT", "build"))
    parser.add_argument("--mode", default="embedded")
    parser.add_argument("--path", default="sync")
    parser.add_argument("--variant", default="plain")
    parser.add_argument("--device", default="nnhal-cpu")
    parser.add_argument("--isa")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    files = options.files or sorted(VECTORS.glob("*.nnt"))
    if not files:
        print(f"no {VECTORS}: no vectors were run (set NNHAL_SHARED)")
        return SKIPPED
    done = run(options, files)
    lines = done.stdout.splitlines()
    failures = [line for line in lines if not line.endswith(" skipped")]
    print("\n".join(failures[:SHOWN] + lines[-1:]) + "\n" + done.stderr)
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", lines[-1] if lines else "")
    if done.returncode != 0 or not counts:
        return 1
    n_models = sum(count_models(path) for path in files)
    if sum(map(int, counts.groups())) == n_models and int(counts[1]) > 0:
        return 0
    print(f"the files hold {n_models} models")
    return 1


if __name__ == "__main__":
    sys.exit(main())
