#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the tests, in every configuration that a change must pass.

    scripts/run-tests.py [--long] [CONFIGURATION...]

Configurations: normal (gcc, every test), asan (AddressSanitizer and
UndefinedBehaviorSanitizer, every test but the lints), tsan (ThreadSanitizer,
the tests of the suite "threads"), clang (builds with clang, runs nothing) and,
with --long or by its name, clang-asan (builds what is installed with clang and
sanitizers, runs nothing). tsan builds what its tests need.
How far it is, is told all the time. What failed is named again at the end; the last line is "N passed, N failed, N skipped".

A test that passes and prints "SKIPPED: why" has left something out: it is told, too.

A test that fails beside others is run once more, alone. If it passes then it is
printed as UNSTABLE; it has failed all the same, since a test that needs a second
try hides defects and has to be mended.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SETUP = {
    "normal": ["build", ["-Dwerror=true"]],
    # Warnings are held in normal and clang; instrumented code brings gcc to guesses of its own.
    "asan": ["build-asan", ["-Db_sanitize=address,undefined", "-Db_lundef=false",
                            "-Doptimization=1", "-Dwerror=false"]],
    "tsan": ["build-tsan", ["-Db_sanitize=thread", "-Db_lundef=false", "-Doptimization=1",
                            "-Dwerror=false"]],
    "clang": ["build-clang", ["-Dwerror=true"]],
    "clang-asan": ["build-clang-asan", ["-Db_sanitize=address,undefined", "-Dtests=false"]],
}

TEST_ARGUMENTS = {
    "normal": [],
    "asan": ["--no-suite", "lint", "--no-suite", "models"],
    "tsan": ["--suite", "threads"],
    "clang": None,
    "clang-asan": None,
}

ENVIRONMENT = {
    "asan": {
        "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:"
                        "abort_on_error=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    },
    "tsan": {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"},
    "clang": {"CC": "clang", "CXX": "clang++"},
    "clang-asan": {"CC": "clang", "CXX": "clang++"},
}


LONG = ["clang-asan"]  # of --long alone

TOLD_EVERY_S = 30


def environment(name):
    env = dict(os.environ)
    env.update(ENVIRONMENT.get(name, {}))
    for variable in list(env):
        if variable.startswith("NNHAL_") and variable != "NNHAL_SHARED":
            del env[variable]
    env.setdefault("NNHAL_SHARED", str(ROOT.parent / "shared"))
    return env


def introspect(folder, what, env):
    return json.loads(subprocess.run(["meson", "introspect", folder, what], cwd=ROOT, env=env,
                                     check=True, stdout=subprocess.PIPE, text=True).stdout)


def targets_of(folder, suite, env):
    """What the tests of a suite depend on."""
    needed = set()
    for one in introspect(folder, "--tests", env):
        if suite in (name.split(":")[-1] for name in one["suite"]):
            needed.update(one["depends"])
    return [os.path.relpath(file, ROOT / folder) for one in introspect(folder, "--targets", env)
            if one["id"] in needed for file in one["filename"]]


def build(name, arguments, env):
    """Everything, or what the tests of one suite need: others may install or measure what there is."""
    folder, options = SETUP[name]
    if not (ROOT / folder / "build.ninja").exists():
        subprocess.run(["meson", "setup", folder, *options], cwd=ROOT, env=env, check=True,
                       stdout=subprocess.DEVNULL)
    else:
        # Not "configure", after which ninja prints all that meson looks for.
        subprocess.run(["meson", "setup", "--reconfigure", folder, "-Dtests=true", *options],
                       cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    quiet = [] if sys.stdout.isatty() else ["--quiet"]  # on a terminal ninja has one line of progress
    targets = []
    if arguments and arguments[0] == "--suite":
        targets = targets_of(folder, arguments[1], env)
    done = subprocess.run(["ninja", "-C", folder, *quiet, *targets], cwd=ROOT, env=env)
    return done.returncode == 0


class Progress:
    """Tells how far the tests of a configuration are: on a terminal in one line, else now and then."""

    def __init__(self, name):
        self.name = name
        self.is_terminal = sys.stdout.isatty()
        self.began = self.told = time.monotonic()

    def take(self, line):
        """line: what meson prints of one test that ended."""
        ended = re.match(r"\s*(\d+)/(\d+) (?:\S+:)?(.*?)\s+[A-Z]{2,}\b", line)
        if not ended:
            return
        number, total, test_name = ended.groups()
        if self.is_terminal:
            print(f"\r\033[K[{number}/{total}] {test_name}", end="", flush=True)
        elif time.monotonic() - self.told >= TOLD_EVERY_S:
            self.told = time.monotonic()
            print(f"== {self.name}: {number} of {total} tests after {self.told - self.began:.0f} s",
                  flush=True)

    def end(self):
        if self.is_terminal:
            print("\r\033[K", end="", flush=True)


def results(folder):
    """Reads meson's log: {name: "OK" | "SKIP" | "FAIL" | ...}, {name: text}."""
    states, texts = {}, {}
    log = ROOT / folder / "meson-logs" / "testlog.json"
    for line in log.read_text(errors="replace").splitlines():
        entry = json.loads(line)
        states[entry["name"]] = entry["result"]
        texts[entry["name"]] = (entry.get("stdout") or "") + (entry.get("stderr") or "")
    return states, texts


def run_alone(folder, names, env):
    """Runs the named tests again, one after the other, and names those that pass alone."""
    for name in names:
        test = name.split(" / ")[-1]
        done = subprocess.run(["meson", "test", "-C", folder, "--no-rebuild", "--quiet",
                               "--num-processes", "1", "--logbase", "again", test],
                              cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            print(f"UNSTABLE {name}: failed beside others, passed alone", flush=True)


def test(name, arguments, env):
    folder = SETUP[name][0]
    log = ROOT / folder / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    printed, progress = [], Progress(name)
    with subprocess.Popen(["meson", "test", "-C", folder, "--no-rebuild", *arguments],
                          cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as running:
        for line in running.stdout:
            printed.append(line)
            progress.take(line)
    progress.end()
    if not log.exists():
        print("".join(printed))
        return {"passed": 0, "failed": 1, "skipped": 0}, [f"{name}: no test"]
    states, texts = results(folder)
    bad = [n for n, s in states.items() if s not in ("OK", "SKIP", "EXPECTEDFAIL")]
    for one in bad:
        print(f"---- {name}: {one}: {states[one]}\n{texts[one][-6000:]}", flush=True)
    for one in (n for n, s in states.items() if s == "SKIP"):
        reason = (texts[one].strip().splitlines() or ["no reason given"])[-1]
        print(f"SKIPPED {name}: {one}: {reason}", flush=True)
    for one in (n for n, s in states.items() if s == "OK"):
        for reason in sorted(set(re.findall(r"^SKIPPED.*", texts[one], re.MULTILINE))):
            print(f"IN PART {name}: {one}: {reason}", flush=True)
    run_alone(folder, bad, env)
    return {"passed": sum(s in ("OK", "EXPECTEDFAIL") for s in states.values()),
            "failed": len(bad),
            "skipped": sum(s == "SKIP" for s in states.values())}, [f"{name}: {one}" for one in bad]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--long", action="store_true", help="also the suite slow, with big counts")
    parser.add_argument("configuration", nargs="*", choices=[*SETUP, []])
    options = parser.parse_args()
    total = {"passed": 0, "failed": 0, "skipped": 0}
    bad = []
    for name in options.configuration or [n for n in SETUP if options.long or n not in LONG]:
        began = time.monotonic()
        env = environment(name)
        print(f"== {name}: building", flush=True)
        arguments = TEST_ARGUMENTS[name]
        if not build(name, arguments, env):
            print(f"== {name}: does not build")
            bad.append(f"{name}: does not build")
            total["failed"] += 1
            continue
        counts = {"passed": 0, "failed": 0, "skipped": 0}
        if arguments is not None:
            counts, names = test(name, arguments + ([] if options.long else ["--no-suite", "slow"]),
                                 env)
            bad += names
        for key, n in counts.items():
            total[key] += n
        print(f"== {name}: {counts['passed']} passed, {counts['failed']} failed, "
              f"{counts['skipped']} skipped in {time.monotonic() - began:.0f} s", flush=True)
    for one in bad:
        print(f"FAILED {one}")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
