#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a model with spin: its claims hold, and fail where a part of the code is spoilt.

    run-models.py flag|recovery

A model stands for functions of the source, which it names. SPOILT says which part is left out or
done in another order; each of these forms must fail, or the claim says nothing.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77
# (claim, environment, whether it must hold)
RUNS = {
    "flag": [("flows", {"SCENE": "0", "SPOILT": "0"}, True)] +
            [("flows", {"SCENE": "0", "SPOILT": str(n)}, False) for n in (1, 2, 3)] +
            [("ends", {"SCENE": "1", "SPOILT": "0"}, True)] +
            [("ends", {"SCENE": "1", "SPOILT": str(n)}, False) for n in (4, 5, 6, 7)],
    "recovery": [(claim, {"SPOILT": "0"}, True) for claim in ("calls_end", "heals", "forgives")] +
                [(claim, {"SPOILT": str(n)}, False)
                 for n, claim in ((1, "heals"), (2, "forgives"), (3, "heals"), (4, "heals"),
                                  (5, "calls_end"))],
}


def build(name, folder):
    """spin writes the checker, in C."""
    subprocess.run(["spin", "-a", str(HERE / f"{name}.pml")], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cc", "-O2", "-w", "-DNFAIR=3", "-DMEMLIM=2048", "-o", "pan", "pan.c"],
                   cwd=folder, check=True)


def errors_of(folder, claim, environment):
    """How many errors the checker found. It must have seen every state: a search that was cut
    finds none, too."""
    done = subprocess.run(["./pan", "-a", "-f", "-m400000", "-N", claim], cwd=folder, text=True,
                          capture_output=True, env={**os.environ, **environment}, check=False)
    found = re.search(r"errors: (\d+)", done.stdout)
    if not found or "Search not completed" in done.stdout and int(found[1]) == 0 or \
            "max search depth too small" in done.stdout:
        sys.exit(f"{claim}: the search was cut\n{done.stdout}{done.stderr}")
    return int(found[1])


def main():
    name = sys.argv[1]
    if not shutil.which("spin"):
        print("spin is missing: install Debian's package spin")
        return SKIPPED
    n_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        build(name, folder)
        for claim, environment, must_hold in RUNS[name]:
            holds = errors_of(folder, claim, environment) == 0
            verdict = "as it must" if holds == must_hold else "WRONG"
            print(f"{name}: {claim} {'holds' if holds else 'fails'} with {environment}: {verdict}")
            n_wrong += holds != must_hold
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
