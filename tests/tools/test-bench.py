#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What make bench says of tables that keep, break, or could not judge their promises."""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT", Path(__file__).resolve().parents[2]))
spec = importlib.util.spec_from_file_location("run_bench", ROOT / "scripts" / "run-bench.py")
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)


def check(condition, text):
    if not condition:
        sys.exit(text)


def main():
    for code, verdict in {0: True, 1: False, bench.NOT_MEASURED: None}.items():
        got = bench.run_program([sys.executable, "-c", f"raise SystemExit({code})"])
        check(got is verdict, f"a program that ends with {code}: {got}")
    check(bench.conclude({"a": True, "b": True}) == 0, "all are kept")
    check(bench.conclude({"a": True, "b": None}) == 2, "one was not measured")
    check(bench.conclude({"a": False, "b": None}) == 1, "one fell")
    trust = [Path(os.environ["NNHAL_BUILD_ROOT"]) / "bench" / "trust"]
    if os.geteuid() == 0:
        trust = ["setpriv", "--reuid", "65534", "--clear-groups", *trust]
    check(bench.run_program(trust) is None, "two users without root")


main()
