#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance vectors, in one way of reaching the CPU driver and one of running it.

    vectors.py --build build --mode MODE --path PATH --variant VARIANT [--isa ISA] [--split N] [FILE...]

Runs nnt over every file of $NNHAL_SHARED/vectors (default: ../shared), or, where there is none, over
the models that tests/oracle makes for nnhal-cts, and passes
if no model fails and the number of models is the files' own. With --path cached most models must have come
from the cache; it and what the driver remembers lie in memory, where there is room.
With --split operations are dealt over N devices that are the CPU driver in part, the second of them
asynchronous; control flow, which none of them takes, is run by the library. Many of the files' models must
then be computed in parts; the models that tests/oracle makes have one operation each.
"""

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
VECTORS = Path(os.environ.get("NNHAL_SHARED", ROOT.parent / "shared")) / "vectors"
sys.path.insert(0, str(ROOT / "tests" / "support"))
import service  # noqa: E402

SKIPPED = 77
SHOWN = 40
FROM_CACHE = 0.99  # of the models that passed, those that must fail among them
MADE_HERE = "conformance.nnt"
IN_PARTS = 0.3  # of the models that passed


def count_models(path):
    with open(path, "rb") as file:
        return struct.unpack_from("<I", file.read(16), 12)[0]


def run(options, files):
    drivers, where = ["cpu"], ["--device", options.device]
    if options.split:
        drivers = [f"partial-{i}" for i in range(int(options.split))]
        where = ["--split", options.split]
        # Here, so that services have it too.
        os.environ.update(NNHAL_DRIVER_PATH=str(Path(options.build).resolve() / "test-drivers"),
                          NN_TEST_PARTIAL=f"*:deal={options.split},not=IF+WHILE;1:async=1")
    with service.way(options.build, options.mode, *drivers) as environment:
        if options.isa:
            environment["NNHAL_CPU_ISA"] = options.isa
        return subprocess.run(
            [Path(options.build) / "nnt", "--mode", options.mode, "--path", options.path,
             "--variant", options.variant, *where, *options.more.split(), *files],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def run_in_memory(options, files):
    """As run(), with temporary files and the driver's folder in memory."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        os.environ.update(TMPDIR=folder, NNHAL_STATE_PATH=folder)
        return run(options, files)


def has_share(lines, what, share):
    """Whether the last line but one tells this of enough of the models that passed."""
    told = re.fullmatch(rf"(\d+) {what}", lines[-2])
    return told and int(told[1]) >= share * int(lines[-1].split()[0])


def find_files(options):
    files = options.files or sorted(VECTORS.glob("*.nnt"))
    if not files:
        print(f"SKIPPED: no {VECTORS}, so the models that tests/oracle makes alone")
    return files or [Path(options.build) / MADE_HERE]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.environ.get("NNHAL_BUILD_ROOT", "build"))
    parser.add_argument("--mode", default="embedded")
    parser.add_argument("--path", default="sync")
    parser.add_argument("--variant", default="plain")
    parser.add_argument("--device", default="nnhal-cpu")
    parser.add_argument("--isa")
    parser.add_argument("--split")
    parser.add_argument("--more", default="", help="further arguments of nnt")
    parser.add_argument("--one-in", type=int, default=1, help="of the files, one in so many")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    files = find_files(options)[::options.one_in]
    done = (run_in_memory if options.path == "cached" else run)(options, files)
    if options.isa and f"NNHAL_CPU_ISA={options.isa}: this CPU does not have it" in done.stderr:
        print(f"this CPU does not have {options.isa}: its kernels were not run on the vectors")
        return SKIPPED
    lines = done.stdout.splitlines()
    failures = [line for line in lines
                if not line.endswith((" skipped", " unsupported", " in parts"))]
    print("\n".join(failures[:SHOWN] + lines[-1:]) + "\n" + done.stderr)
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped(?:, 0 unsupported)?", lines[-1] if lines else "")
    if done.returncode != 0 or not counts:
        return 1
    if options.path == "cached" and not has_share(lines, "came from the cache", FROM_CACHE):
        print("too few models came from the cache")
        return 1
    if options.split:
        print(lines[-2])
    # Models of one operation cannot be in parts.
    if options.split and files[0].name != MADE_HERE and not has_share(lines, "in parts", IN_PARTS):
        print("too few models were computed in parts")
        return 1
    n_models = sum(count_models(path) for path in files)
    if sum(map(int, counts.groups())) == n_models and int(counts[1]) > 0:
        return 0
    print(f"the files hold {n_models} models")
    return 1


if __name__ == "__main__":
    sys.exit(main())
