#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures models in nnhal, TensorFlow Lite and ONNX Runtime in turns: what `make bench-peers` prints.

    scripts/bench-peers.py [--build BUILD] [--rounds N] [--runs N] [--write FILE] [MODEL.tflite...]

Models are those of models/ and, where it is there, $NNHAL_SHARED/models. TensorFlow Lite 2.9.0 runs
the very same files: its own kernels, XNNPACK, and its NNAPI delegate on top of nnhal. ONNX Runtime
runs models of the same layers (bench/peers/to-onnx.py). Each way runs in a process of its own, one
after the other in each round; the medians of the rounds' medians are compared. Ratios below 1 say that
nnhal is faster. XNNPACK of 2026 is 2.9.0's time in this run times the factor that
$NNHAL_SHARED/peers.tsv gives for the model, or the mean of its class. The factor was measured with
AVX2; with AVX-512 VNNI 2.9.0's own time stands in its place.

--write puts the tables into a document, from its line "<!-- measured -->" on.
"""

import argparse
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("NNHAL_SHARED", ROOT.parent / "shared"))
THREADS = (1, 2)
SKIPPED = 77
SHORTEST_MS = 0.02
WAYS = ("nnhal", "xnnpack", "builtin", "ort", "nnapi")
MACHINES = {"x86_64": ("linux_amd64", "x64"), "aarch64": ("linux_arm64", "arm64")}
MARK = "<!-- measured -->\n"
HAS_VNNI = "avx512_vnni" in Path("/proc/cpuinfo").read_text()


def models():
    shared = SHARED / "models"
    if not shared.is_dir():
        print(f"no {shared}: only the models of this repository are measured")
    return sorted((ROOT / "models").glob("*/*.tflite")) + sorted(shared.glob("*/model.tflite"))


def name_of(path):
    return path.parent.name if path.stem == "model" else path.stem


def class_of(path):
    """float, uint8 or int8, by the types that the converter finds: those of most tensors."""
    done = subprocess.run([ROOT / "bench/peers/to-onnx.py", "--class", path], capture_output=True,
                          text=True, check=True)
    return done.stdout.strip()


class Peers:
    """The programs, and the commands that measure a model."""

    def __init__(self, build):
        tflite, ort = MACHINES[platform.machine()]
        modules = build / "peers" / "node_modules"
        self.build = build
        self.tflite = modules / "tfjs-tflite-node/cc_deps" / tflite / "libtensorflowlite_c.so"
        self.ort = modules / "onnxruntime-node/bin/napi-v6/linux" / ort / "libonnxruntime.so.1"
        self.folder = tempfile.TemporaryDirectory()
        self.converted = {}

    def onnx(self, path):
        """(file, inputs and outputs) of the model for ONNX Runtime; None: it has none."""
        if path not in self.converted:
            target = Path(self.folder.name) / f"{name_of(path)}.onnx"
            done = subprocess.run([ROOT / "bench/peers/to-onnx.py", path, target],
                                  capture_output=True, text=True, check=False)
            self.converted[path] = (target, done.stdout.strip()) if done.returncode == 0 else None
        return self.converted[path]

    def command(self, way, path, threads, runs):
        bench = self.build / "bench" / "peers"
        if way == "nnhal":
            return [self.build / "nnhal", "bench", path, "--json", "--runs", str(runs), "--threads",
                    str(threads), "--mode", "embedded", "--device", "nnhal-cpu"]
        if way == "ort":
            onnx = self.onnx(path)
            return onnx and [bench / "peer-ort", self.ort, *onnx, str(threads), str(runs)]
        return [bench / "peer-tflite", self.tflite, path, way, str(threads), str(runs)]

    def measure(self, way, path, threads, runs):
        """The JSON of one way; None where it does not run the model."""
        command = self.command(way, path, threads, runs)
        if not command:
            return None
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.build), NNHAL_MODE="embedded",
                           NNHAL_CPU_THREADS=str(threads))
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=environment if way == "nnapi" else None, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None


def measure_all(peers, paths, options):
    """{(path, way, threads): [results]}"""
    results = {}
    counts = {}
    for path in paths:
        first = peers.measure("nnhal", path, 1, 3)
        counts[path] = max(10, min(options.runs, int(300 / max(first["median_ms"], 0.001))))
    for number in range(options.rounds):
        for path in paths:
            for threads in THREADS:
                for way in WAYS:
                    result = peers.measure(way, path, threads, counts[path])
                    if result:
                        results.setdefault((path, way, threads), []).append(result)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    return results


def median(results, path, way, threads, key="median_ms"):
    some = results.get((path, way, threads))
    return statistics.median(r[key] for r in some) if some else None


def read_factors():
    """{(model, threads): XNNPACK of 2026 / 2.9.0 on one thread}"""
    factors = {}
    path = SHARED / "peers.tsv"
    if not path.is_file():
        return factors
    lines = [line.split("\t") for line in path.read_text().splitlines() if line[0] != "#"]
    for row in lines[1:]:
        for threads, column in ((1, 4), (2, 5)):
            if row[column] != "-" and row[6] != "-":
                factors[row[0], threads] = float(row[column]) / float(row[6])
    return factors


def factor_of(factors, path, threads, classes):
    known = factors.get((name_of(path), threads))
    if known:
        return known
    same = [f for (name, n), f in factors.items()
            if n == threads and classes.get(name) == classes[name_of(path)]]
    return statistics.mean(same) if same else None


def geometric_mean(values):
    return math.exp(statistics.mean(math.log(v) for v in values)) if values else None


def show(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


class Table:
    """Rows of one number of threads: times, and nnhal's to the faster peer's."""

    def __init__(self, results, paths, threads, factors, classes):
        self.rows = []
        for path in sorted(paths, key=name_of):
            times = {way: median(results, path, way, threads) for way in WAYS}
            one = median(results, path, "xnnpack", 1) or median(results, path, "builtin", 1)
            factor = factor_of(factors, path, threads, classes)
            newest = one * factor if one and factor else None
            if HAS_VNNI:
                newest = min((t for t in (times["xnnpack"], times["builtin"]) if t), default=None)
            rivals = [t for t in (newest, times["ort"]) if t]
            ratio = times["nnhal"] / min(rivals) if rivals else None
            self.rows.append((name_of(path), classes[name_of(path)], times, newest, ratio))

    def lines(self, threads):
        yield f"### {threads} thread{'s' if threads > 1 else ''}, milliseconds\n"
        rival = "the faster of these" if HAS_VNNI else "XNNPACK 2026, by factor"
        yield (f"| model | class | nnhal | XNNPACK 2.9.0 | own kernels | {rival} | "
               "ONNX Runtime | nnhal / faster | delegate / nnhal |")
        yield "|---|---|---|---|---|---|---|---|---|"
        for name, kind, times, newest, ratio in self.rows:
            delegate = times["nnapi"] / times["nnhal"] if times["nnapi"] else None
            yield (f"| {name} | {kind} | {show(times['nnhal'])} | {show(times['xnnpack'])} | "
                   f"{show(times['builtin'])} | {show(newest)} | {show(times['ort'])} | "
                   f"{show(ratio, 2)} | {show(delegate, 2)} |")
        yield ""
        yield from self.summary()

    def summary(self):
        def ratios(test):
            return [r for _, kind, times, _, r in self.rows if r and test(kind, times["nnhal"])]

        groups = [(f"{kind}, over 1 ms", ratios(lambda k, t, kind=kind: k == kind and t > 1))
                  for kind in ("uint8", "int8", "float")]
        groups.append((f"between {SHORTEST_MS} and 1 ms", ratios(lambda _, t: SHORTEST_MS <= t <= 1)))
        groups.append((f"all above {SHORTEST_MS} ms", ratios(lambda _, t: t >= SHORTEST_MS)))
        yield "| class | models | nnhal / faster peer, geometric mean | worst |"
        yield "|---|---|---|---|"
        for title, some in groups:
            if some:
                yield (f"| {title} | {len(some)} | {show(geometric_mean(some), 2)} | "
                       f"{show(max(some), 2)} |")
        yield ""


def preparation_lines(results, paths):
    yield "### Preparation and first execution, one thread, milliseconds\n"
    yield "| model | nnhal: prepare, first | XNNPACK 2.9.0 | ONNX Runtime |"
    yield "|---|---|---|---|"
    for path in sorted(paths, key=name_of):
        cells = [", ".join(show(median(results, path, way, 1, key)) for key in
                           ("prepare_ms", "first_ms")) for way in ("nnhal", "xnnpack", "ort")]
        yield f"| {name_of(path)} | {' | '.join(cells)} |"
    yield ""


def cpu_name():
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def report(results, paths, options):
    factors, classes = read_factors(), {name_of(p): class_of(p) for p in paths}
    version = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                             capture_output=True, text=True, check=False).stdout.strip()
    yield (f"{cpu_name()}, {os.cpu_count()} CPUs; commit {version}; {options.rounds} rounds, medians; "
           f"load {os.getloadavg()[0]:.1f} at the end.\n")
    for threads in THREADS:
        yield from Table(results, paths, threads, factors, classes).lines(threads)
    yield from preparation_lines(results, paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=200, help="at most, in a round")
    parser.add_argument("--write", type=Path, help="a document whose end gets the tables")
    parser.add_argument("model", nargs="*", type=Path)
    options = parser.parse_args()
    fetched = subprocess.run([ROOT / "bench/peers/fetch.sh", options.build / "peers"], check=False)
    if fetched.returncode:
        return fetched.returncode
    paths = options.model or models()
    results = measure_all(Peers(options.build), paths, options)
    text = "\n".join(report(results, paths, options)) + "\n"
    print(text)
    if options.write:
        head = options.write.read_text(encoding="utf-8").partition(MARK)[0]
        options.write.write_text(head + MARK + "\n" + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
