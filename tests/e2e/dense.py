#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The driver of doc/driver/one-operation.md (examples/dense.c) keeps to the interface.

    dense.py DRIVER.so

The oracle's models of its operation go through nnhal-cts, as the page says: some are computed, none fails.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["NNHAL_SOURCE_ROOT"])
BUILD = Path(os.environ["NNHAL_BUILD_ROOT"])


def run(*command):
    done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=600, check=False)
    if done.returncode:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "dense.nnt"
        run(sys.executable, ROOT / "tests" / "oracle" / "prop.py", "--nnt", BUILD / "nnt", "--op", "FULLY_CONNECTED",
            "--count", 100, "--seed", 5, "--keep", vectors, "--", "--device", "nnapi-reference")
        said = run(BUILD / "nnhal-cts", "--driver", sys.argv[1], "--vectors", vectors)
    print(said)
    passed = {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+) passed, 0 failed", said, re.M)}
    for section in "table", "operations", "paths", "reuse":
        if not passed.get(section):
            sys.exit(f"{section}: nothing passed")


if __name__ == "__main__":
    main()
