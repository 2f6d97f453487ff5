#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts which branches of src/{ipc,shm,hal,cache,service} the tests take.

    scripts/run-coverage.py [--keep] [--only-report]

Builds build-coverage, runs what a change must pass and every failure loop there (--keep: beside what
earlier runs have counted; --only-report: runs nothing), and counts with gcovr. Not counted: generated
code, assertions, and what UNREACHABLE lists, each line with the reason: "FILE | LINE | REASON", where
LINE is the text of a line, or * for the whole file. Each such entry has to meet branches that were not
taken, so that none outlives its reason.

Prints a table of the files; build-coverage/missing.txt has each line with a branch that no test took. The
last line is "N of N branches: N %"; exit status 1 below 90 %.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-coverage"
UNREACHABLE = ROOT / "scripts/coverage-unreachable.txt"
MISSING = BUILD / "missing.txt"
FOLDERS = "src/(ipc|shm|hal|cache|service)/"
ENOUGH = 90  # percent

# Instrumented programs are slower; conformance, lints and models tell nothing of these folders.
TESTS = ["--no-suite", "slow", "--no-suite", "lint", "--no-suite", "models", "--no-suite", "conf",
         "--timeout-multiplier", "4"]
LOOPS = ["failure-all", "--timeout-multiplier", "4"]


def run_tests(keeps):
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", BUILD, "-Dtests=true", "-Dcoverage=true"], cwd=ROOT,
                       check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "--quiet"], check=True)
    if not keeps:
        for counts in BUILD.rglob("*.gcda"):
            counts.unlink()
    env = {"NNHAL_SHARED": str(ROOT.parent / "shared"), **os.environ}
    for arguments in (TESTS, LOOPS):
        done = subprocess.run(["meson", "test", "-C", BUILD, "--no-rebuild", "--quiet", *arguments],
                              env=env, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            print("some tests fail where branches are counted: see above; their branches count")


def count():
    """{file: {line: (branches, of them taken)}}"""
    done = subprocess.run(["gcovr", "--root", ROOT, "--object-directory", BUILD, "--filter",
                           f"{ROOT}/{FOLDERS}", "--exclude-branches-by-pattern", r".*\bassert\(.*",
                           "--json", "-", BUILD], cwd=ROOT, check=True, capture_output=True)
    found = {}
    for file in json.loads(done.stdout)["files"]:
        lines = found.setdefault(file["file"], {})
        for line in file["lines"]:
            taken = [branch["count"] > 0 for branch in line["branches"]]
            if taken:
                lines[line["line_number"]] = (len(taken), sum(taken))
    return found


def read_unreachable():
    entries = []
    for text in UNREACHABLE.read_text(encoding="utf-8").splitlines():
        parts = [part.strip() for part in text.split(" | ")]
        if text.startswith("#") or not text:
            continue
        if len(parts) != 3 or not all(parts):
            sys.exit(f"{UNREACHABLE.name}: no entry: {text}")
        entries.append(parts)
    return entries


def leave_out(found, entries):
    """Takes what is listed out of what was found. Returns: how many branches; entries that met none."""
    n_left_out, idle = 0, []
    for file, wanted, reason in entries:
        source = (ROOT / file).read_text(encoding="utf-8").splitlines()
        met = [line for line, (n, taken) in found.get(file, {}).items()
               if taken < n and wanted in ("*", source[line - 1].strip())]
        for line in met:
            n, taken = found[file].pop(line)
            n_left_out += n - taken
            if taken:
                found[file][line] = (taken, taken)
        if not met:
            idle.append(f"{file} | {wanted} | {reason}")
    return n_left_out, idle


def report(found, n_left_out):
    n_all = n_taken_all = 0
    with open(MISSING, "w", encoding="utf-8") as missing:
        for file, lines in sorted(found.items()):
            source = (ROOT / file).read_text(encoding="utf-8").splitlines()
            n, n_taken = (sum(counts[i] for counts in lines.values()) for i in (0, 1))
            if n:
                print(f"{file:36} {n_taken:5} of {n:5} {100 * n_taken / n:6.1f} %")
            n_all, n_taken_all = n_all + n, n_taken_all + n_taken
            for line, (n, n_taken) in sorted(lines.items()):
                if n_taken < n:
                    missing.write(f"{file}:{line}: {n_taken} of {n} | {source[line - 1].strip()}\n")
    percent = 100 * n_taken_all / max(n_all, 1)
    print(f"{n_left_out} branches are left out, for the reasons in {UNREACHABLE.name}")
    print(f"{n_taken_all} of {n_all} branches: {percent:.1f} %")
    return percent >= ENOUGH


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--keep", action="store_true", help="beside what earlier runs have counted")
    parser.add_argument("--only-report", action="store_true", help="runs no test")
    options = parser.parse_args()
    if not options.only_report:
        run_tests(options.keep)
    found = count()
    n_left_out, idle = leave_out(found, read_unreachable())
    for entry in idle:
        print(f"meets no branch that was not taken: {entry}")
    is_enough = report(found, n_left_out)
    return 0 if is_enough and not idle else 1


if __name__ == "__main__":
    sys.exit(main())
