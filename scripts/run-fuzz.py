#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches the fuzz targets for inputs that break them.

    scripts/run-fuzz.py [--seconds N] [--jobs N] [TARGET...]

Builds build-fuzz with clang, AddressSanitizer, UndefinedBehaviorSanitizer and
libFuzzer, and runs each target (all, if none is named) for N seconds (60),
from the corpus and the generated seeds. What it finds goes to
fuzz-out/TARGET/: an input that crashes is to be mended and added to
fuzz/corpus/TARGET, where every test run replays it. The last line is
"N targets, N with findings"; exit status 1 if there were any.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-fuzz"
OUT = ROOT / "fuzz-out"
SETUP = ["-Dfuzz=true", "-Dtests=false", "-Db_sanitize=address,undefined", "-Db_lundef=false",
         "-Dc_args=-fsanitize=fuzzer-no-link", "-Doptimization=1"]
SEEDS = {
    "hal-decode": [BUILD / "hal/hal-seeds"],
    "host-stream": [ROOT / "tests/hal/streams"],
    "model-run": [BUILD / "fuzz/model-run-seeds"],
    "plan-load": [BUILD / "fuzz/plan-load-seeds"],
    "tflite-run": [ROOT / "fuzz/corpus/tflite"],
}
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


def targets():
    text = (ROOT / "fuzz/meson.build").read_text(encoding="utf-8")
    table = re.search(r"fuzz_targets = \{(.*?)\n\}", text, re.DOTALL)[1]
    return re.findall(r"'([\w-]+)':", table)


def build(names):
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", BUILD, *SETUP], cwd=ROOT, check=True,
                       env=dict(os.environ, CC="clang", CXX="clang++"))
    subprocess.run(["ninja", "-C", BUILD, "--quiet", *(f"fuzz/fuzz-{n}" for n in names),
                    "hal/hal-seeds.list", "fuzz/plan-seeds.list", "fuzz/model-run-seeds.list"], cwd=ROOT, check=True)


def folders(name):
    """Where the inputs of a target come from, its own finds first."""
    found = OUT / name / "corpus"
    found.mkdir(parents=True, exist_ok=True)
    kept = [ROOT / "fuzz/corpus" / name]
    kept += SEEDS.get(name, [])
    return [found, *(k for k in kept if k.is_dir())]


def search(name, seconds):
    """Whether the target stood for so long; its log is in OUT."""
    log = OUT / name / "log"
    places = folders(name)
    command = [BUILD / f"fuzz/fuzz-{name}", f"-max_total_time={seconds}", "-timeout=10",
               "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1",
               f"-artifact_prefix={OUT / name}/", *places]
    with open(log, "w", encoding="utf-8") as file:
        done = subprocess.run(command, stdout=file, stderr=file,
                              env=dict(os.environ, **ENVIRONMENT), check=False)
    text = log.read_text(encoding="utf-8", errors="replace")
    runs = re.search(r"number_of_executed_units: (\d+)", text)
    print(f"{name}: {runs[1] if runs else 'no'} inputs in {seconds} s, "
          f"{'nothing found' if done.returncode == 0 else f'FINDING, see {log}'}", flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("target", nargs="*")
    options = parser.parse_args()
    unknown = set(options.target) - set(targets())
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    names = options.target or targets()
    build(names)
    with ThreadPoolExecutor(options.jobs) as pool:
        passed = list(pool.map(lambda name: search(name, options.seconds), names))
    print(f"{len(passed)} targets, {passed.count(False)} with findings")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
