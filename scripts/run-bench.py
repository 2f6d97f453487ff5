#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures models and round trips: what `make bench` prints.

    scripts/run-bench.py [--build BUILD] [--rounds N] [--runs N] [--only TABLE] [MODEL.tflite...]

Models are those of models/ and, where it is there, $NNHAL_SHARED/models. Each
runs with one and with two threads, embedded; the rounds over all models are
interleaved and the medians of the rounds' medians are printed, because machines
are shared and noisy. Then what it takes to compile each model and to take it
from a cache in a new process, beside reading the same bytes and checking them
with SHA-256: from the cache it takes at most twice as long as that plus 1 ms,
and at most 0.2 ms longer than compiling, or the program ends with 1. Then the round trip of a
one-element ADD on the sample driver in every way, beside a raw ping-pong of
the same run, and through bursts; a way that costs more of the ping-pong than
SPECIFICATION.md promises is marked SLOW. Then a model in parts of two devices beside the
whole. Last, what one user of a service can cost
another one, which needs root (trust). The tables in which something is above what is promised
are named at the end, and the program ends with 1; where a table could not be measured it is named
as well, and the program ends with 2 if nothing is above.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THREADS = (1, 2)
PROMISES = ["cache", "layers", "roundtrip", "burst", "split", "trust"]  # tables that are judged
NOT_MEASURED = 77  # a program's way of saying so
SPLIT_MODEL = "coco_ssd_mobilenet_v1_quant"
CACHE_MS = 0.2  # by which a model may be slower from the cache than compiled


def models():
    shared = Path(os.environ.get("NNHAL_SHARED", ROOT.parent / "shared")) / "models"
    found = sorted((ROOT / "models").glob("*/*.tflite")) + sorted(shared.glob("*/model.tflite"))
    if not shared.is_dir():
        print(f"no {shared}: only the models of this repository are measured")
    return found


def name_of(path):
    return path.parent.name if path.stem == "model" else path.stem


def measure(build, path, threads, runs):
    """One round: the JSON of nnhal bench, or None with the reason printed."""
    done = subprocess.run([build / "nnhal", "bench", path, "--json", "--runs", str(runs),
                           "--threads", str(threads), "--mode", "embedded",
                           "--device", "nnhal-cpu"],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        print(f"{name_of(path)}: {done.stderr.strip()}")
        return None
    return json.loads(done.stdout)


def runs_for(first_ms, most):
    """As many runs as fit into about half a second."""
    return max(5, min(most, int(500 / max(first_ms, 0.001))))


def table(build, paths, rounds, most_runs):
    results = {(path, threads): [] for path in paths for threads in THREADS}
    counts = {}
    for path in list(paths):
        first = measure(build, path, 1, 3)
        if first is None:
            paths.remove(path)
        else:
            counts[path] = runs_for(first["median_ms"], most_runs)
    for _ in range(rounds):
        for path in paths:
            for threads in THREADS:
                result = measure(build, path, threads, counts[path])
                if result:
                    results[path, threads].append(result)
    print(f"{'model':46} {'prepare':>9} {'1 thread':>9} {'p90':>9} {'2 threads':>9} {'2 : 1':>6}"
          f" {'copied':>7}   (ms; bytes a run)")
    for path in paths:
        one, two = results[path, 1], results[path, 2]
        median = [statistics.median(r["median_ms"] for r in rs) for rs in (one, two)]
        print(f"{name_of(path):46} {statistics.median(r['prepare_ms'] for r in one):9.3f} "
              f"{median[0]:9.3f} {statistics.median(r['p90_ms'] for r in one):9.3f} "
              f"{median[1]:9.3f} {median[1] / median[0]:6.2f} "
              f"{one[0]['copied_bytes_per_run']:7.0f}")


def measure_cache(build, path, state):
    """The JSON of nnhal bench --cache, or None with the reason printed."""
    done = subprocess.run([build / "nnhal", "bench", path, "--cache", "--json", "--mode", "embedded",
                           "--device", "nnhal-cpu"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, NNHAL_STATE_PATH=state))
    if done.returncode:
        print(f"{name_of(path)}: {done.stderr.strip()}")
        return None
    return json.loads(done.stdout)


def is_quick(r):
    """Whether a model comes from the cache as quickly as promised."""
    cached = r["from_cache_first_ms"]
    return cached <= 2 * r["read_ms"] + 1 and cached <= r["compile_first_ms"] + CACHE_MS


def cache_table(build, paths):
    """Returns: whether all models keep the promise; a slow one is measured three times."""
    n_good = n_measured = 0
    print(f"\n{'model':46} {'KiB':>7} {'compile':>9} {'and keep':>9} {'cached':>9} {'read':>9}"
          f" {'c : r':>6} {'c : c':>6}   (ms, in a new process; cached to read, to compile)")
    for path in paths:
        for _ in range(3):
            with tempfile.TemporaryDirectory() as state:
                r = measure_cache(build, path, state)
            if not r or r["why_not"] or is_quick(r):
                break
        if not r:
            continue
        if r["why_not"]:
            print(f"{name_of(path):46} not cached: {r['why_not']}")
            continue
        cached, read, compiled = r["from_cache_first_ms"], r["read_ms"], r["compile_first_ms"]
        is_good = is_quick(r)
        n_good += is_good
        n_measured += 1
        print(f"{name_of(path):46} {r['bytes'] / 1024:7.0f} {compiled:9.3f} {r['keep_ms']:9.3f} "
              f"{cached:9.3f} {read:9.3f} {cached / read:6.2f} {cached / compiled:6.2f}"
              f"{'' if is_good else '   SLOW'}", flush=True)
    print(f"{n_good} of {n_measured} within 2 x read + 1 ms and within compile + {CACHE_MS} ms")
    return n_good == n_measured


def run_program(command, n_tries=3, environment=None):
    """Returns: whether it keeps its promises, None where it did not measure; what is slow once is
    measured again."""
    for _ in range(n_tries):
        print(flush=True)
        code = subprocess.run(command, env=environment).returncode
        if code in (0, NOT_MEASURED):
            return None if code else True
    return False


def split_table(build, paths):
    """A model in parts of the drivers for tests, which are measured first."""
    model = next((path for path in paths if name_of(path) == SPLIT_MODEL), None)
    drivers = build / "test-drivers"
    if not model or not drivers.is_dir():
        print(f"\nsplit needs {SPLIT_MODEL} and the drivers of the tests (-Dtests=true)")
        return None
    with tempfile.TemporaryDirectory() as state:
        return run_program([build / "bench" / "split", model], 3,
                           dict(os.environ, NNHAL_DRIVER_PATH=str(drivers), NNHAL_STATE_PATH=state,
                                NNHAL_CONFIG_PATH=state))


def measure_table(name, options, paths):
    """Returns: whether the table of that name keeps what SPECIFICATION.md promises; None: it was
    not measured."""
    if name == "cache":
        return cache_table(options.build, paths)
    if name == "split":
        return split_table(options.build, paths)
    program = options.build / "bench" / name
    if name == "layers":
        return run_program([program, options.build / "nnhal-drivers" / "libnnhal-driver-sample.so"])
    return run_program([program], 1 if name == "trust" else 3)  # that one does so row by row


def conclude(kept):
    """Prints what fell and what is not known; kept has a verdict for each table. Returns: the code."""
    fell = [name for name, verdict in kept.items() if verdict is False]
    unknown = [name for name, verdict in kept.items() if verdict is None]
    if fell:
        print(f"\nabove what SPECIFICATION.md promises: {', '.join(fell)}")
    if unknown:
        print(f"\nNOT MEASURED: {', '.join(unknown)}")
    return 1 if fell else 2 if unknown else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=200, help="at most, in a round")
    parser.add_argument("--only", choices=["run", *PROMISES], help="this table alone")
    parser.add_argument("model", nargs="*", type=Path)
    options = parser.parse_args()
    paths = options.model or models()
    if options.only in (None, "run"):
        table(options.build, paths, options.rounds, options.runs)
    wanted = [options.only] if options.only else ["cache"] if options.model else PROMISES
    return conclude({name: measure_table(name, options, paths) for name in PROMISES
                     if name in wanted})


if __name__ == "__main__":
    sys.exit(main())
