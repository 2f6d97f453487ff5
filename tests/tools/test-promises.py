#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run beside the peers says of its promises: which fell, by name and by the code it ends with."""

import os
import sys
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "bench" / "peers"))
from promises import BUSY, CODES, Promises, groups_of  # noqa: E402

ROWS = [("one", "uint8", 2.0, 10.0), ("two", "int8", 0.5, 1.0), ("tiny", "float", 0.001, 0.001)]


def kept():
    """All promises, all kept."""
    promises = Promises()
    promises.add_ratios(ROWS, 1)
    promises.add_gain("one", 10, 5)
    promises.add_contention("one", 1, BUSY)
    promises.add_first("tiny", 0.9, 0.05, 0.1)
    promises.add_compile("one", 1.5, 4, 0.5, 10)
    promises.add_delegate("one", 1, 1.03, 0)
    return promises


def check(condition, text):
    if not condition:
        sys.exit(text)


def check_fallen(name, add):
    promises = kept()
    add(promises)
    check(promises.code() == CODES[name], f"{name}: the code is {promises.code()}")
    check(len(promises.fallen(name)) == 1, f"{name}: {promises.fallen(name)}")
    line = next(line for line in promises.lines() if line.startswith(f"| {name} |"))
    check("slow" in line, f"the table does not name the case: {line}")


def main():
    check(kept().code() == 0, f"what is kept has the code {kept().code()}")
    check(groups_of(ROWS)["uint8, over 1 ms"] == [0.2], groups_of(ROWS))
    check(len(groups_of(ROWS)["all above 0.02 ms"]) == 2, groups_of(ROWS))
    check_fallen("models", lambda p: p.add("models", "slow", 1.04, 1.03))
    check_fallen("threads", lambda p: p.add_gain("slow", 10, 6))
    check_fallen("contention", lambda p: p.add_contention("slow", 1, 2.3))
    check_fallen("first", lambda p: p.add_first("slow", 1.1, 0.05, 3))
    check_fallen("compile", lambda p: p.add_compile("slow", 2.5, None, 0.1, 10))
    check_fallen("compile", lambda p: p.add_compile("slow", 1.1, 2, 10, 10))
    check_fallen("delegate", lambda p: p.add_delegate("slow", 1, 1.2, 0.1))
    unmeasured = Promises()
    unmeasured.add_contention("none", None, 5)
    unmeasured.add_first("none", 2, 3, None)
    check(unmeasured.code() == 0, "what was not measured fell")
    both = kept()
    both.add_gain("slow", 10, 6)
    both.add("classes", "slow class", 2, 1)
    check(both.code() == CODES["classes"], "the first promise gives the code")


if __name__ == "__main__":
    main()
