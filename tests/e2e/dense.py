#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The driver of doc/driver/one-operation.md (examples/dense.c) keeps to the interface.

    dense.py [DRIVER.so]

The oracle's models of its operation go through nnhal-cts, as the page says: some are computed, none fails. Of a model with other
operations it computes its part.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["NNHAL_SOURCE_ROOT"])
BUILD = Path(os.environ["NNHAL_BUILD_ROOT"])


sys.path.insert(0, str(ROOT / "tests" / "oracle"))
import nnt  # noqa: E402


def run(*command, **environment):
    done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=600, check=False, env=dict(os.environ, **environment))
    if done.returncode:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def two_layers(path):
    """ADD, then FULLY_CONNECTED twice, large enough to pay: the driver takes one, as it prepares models of one operation."""
    model, n = nnt.Model("two_layers"), 256

    def tensor(lifetime, dims, values=(), flags=0):
        return model.operand(nnt.Operand(nnt.F32, lifetime, dims, data=nnt.pack(nnt.F32, values), flags=flags))

    x = tensor(nnt.INPUT, [1, n], range(n))
    none = model.operand(nnt.Operand(nnt.INT32, nnt.CONST_COPY, data=nnt.pack(nnt.INT32, [0])))
    weights = tensor(nnt.CONST_COPY, [n, n], [float(i % (n + 1) == 0) for i in range(n * n)])
    bias = tensor(nnt.CONST_COPY, [n], [1] * n)
    sums, hidden = tensor(nnt.INTERNAL, [1, n]), tensor(nnt.INTERNAL, [1, n])
    y = tensor(nnt.OUTPUT, [1, n], [2 * i + 2 for i in range(n)], nnt.EXPECTED)
    model.operation("ADD", [x, x, none], [sums])
    model.operation("FULLY_CONNECTED", [sums, weights, bias, none], [hidden])
    model.operation("FULLY_CONNECTED", [hidden, weights, bias, none], [y])
    nnt.write(path, [model])


def computes_its_part(folder):
    vectors = Path(folder) / "two-layers.nnt"
    two_layers(vectors)
    said = run(BUILD / "nnt", vectors, NNHAL_SOCKET_PATH="", NNHAL_DRIVER_PATH=str(Path(sys.argv[1]).resolve().parent),
               NNHAL_TRACE="plan")
    print(said)
    if "1 passed, 0 failed" not in said or not re.search(r" part 1 .* nnhal-dense  operation 1 ", said):
        sys.exit("nnhal-dense computes no part of a model with other operations")


def main():
    if len(sys.argv) < 2:
        print("SKIPPED: examples/dense.c was not built: install libopenblas-dev")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "dense.nnt"
        run(sys.executable, ROOT / "tests" / "oracle" / "prop.py", "--nnt", BUILD / "nnt", "--op", "FULLY_CONNECTED",
            "--count", 100, "--seed", 5, "--keep", vectors, "--", "--device", "nnapi-reference")
        computes_its_part(folder)
        said = run(BUILD / "nnhal-cts", "--driver", sys.argv[1], "--vectors", vectors)
    print(said)
    passed = {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+) passed, 0 failed", said, re.M)}
    for section in "table", "operations", "paths", "reuse":
        if not passed.get(section):
            sys.exit(f"{section}: nothing passed")


if __name__ == "__main__":
    main()
