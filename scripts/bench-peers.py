#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures models in nnhal, TensorFlow Lite and ONNX Runtime in turns: what `make bench-peers` prints.

    scripts/bench-peers.py [--build BUILD] [--rounds N] [--runs N] [--prefix COMMAND] [--write FILE]
                           [MODEL.tflite...]

Models are those of models/ and, where it is there, $NNHAL_SHARED/models. TensorFlow Lite 2.9.0 runs
the very same files: its own kernels, XNNPACK, and on top of nnhal its NNAPI delegate and
libnnhal-delegate.so. ONNX Runtime runs models of the same layers (bench/peers/to-onnx.py). Each way runs in
a process of its own, one after the other in each round; the medians of the rounds' medians are
compared. Ratios below 1 say that nnhal is faster. XNNPACK of 2026 is 2.9.0's time in this run times
the factor that $NNHAL_SHARED/peers.tsv gives for the model, or the mean of its class. The factor
was measured with AVX2; with AVX-512 VNNI 2.9.0's own time stands in its place.

Models that take longer than 2 ms run once more with two threads while another process keeps a CPU
busy. Preparation and the first inference are those of one thread. The last table says what of
bench/peers/promises.py was kept; the program ends with the code of the first promise that fell.

--prefix runs each program with a command before it: "chrt -f 20" on a machine that is not quiet.
--write puts the tables into a document, from its line "<!-- measured -->" on.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "peers"))
from promises import GAIN_FROM_MS, HAS_VNNI, Promises, geometric_mean, groups_of  # noqa: E402

SHARED = Path(os.environ.get("NNHAL_SHARED", ROOT.parent / "shared"))
THREADS = (1, 2)
SKIPPED = 77
WAYS = ("nnhal", "xnnpack", "builtin", "ort", "nnapi", "delegate")
ON_NNHAL = ("nnapi", "delegate")
MACHINES = {"x86_64": ("linux_amd64", "x64"), "aarch64": ("linux_arm64", "arm64")}
MARK = "<!-- measured -->\n"
SLOW_WAYS = {"builtin": 5}  # a fifth of the runs, and one thread only
BUDGET_MS = 200
BUSY_WAYS = ("nnhal", "xnnpack", "ort")
SPIN = "while True: pass"


def models():
    shared = SHARED / "models"
    if not shared.is_dir():
        print(f"no {shared}: only the models of this repository are measured")
    return sorted((ROOT / "models").glob("*/*.tflite")) + sorted(shared.glob("*/model.tflite"))


def name_of(path):
    return path.parent.name if path.stem == "model" else path.stem


def facts_of(path):
    """(float, uint8 or int8: what most tensors are; how many operations)"""
    done = subprocess.run([ROOT / "bench/peers/to-onnx.py", "--class", path], capture_output=True,
                          text=True, check=True)
    kind, n_operations = done.stdout.split()
    return kind, int(n_operations)


class Peers:
    """The programs, and the commands that measure a model."""

    def __init__(self, build, prefix):
        self.prefix = prefix
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
        done = subprocess.run([*self.prefix, *command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=environment if way in ON_NNHAL else None, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None


def measure_busy(peers, results, counts):
    """{(path, way): result} of the longer models, with one CPU taken by another process"""
    busy = {}
    for path, count in counts.items():
        if median(results, path, "nnhal", 1) <= GAIN_FROM_MS:
            continue
        for way in BUSY_WAYS:
            spinning = subprocess.Popen([*peers.prefix, "taskset", "-c", "0", sys.executable, "-c", SPIN])
            try:
                busy[path, way] = peers.measure(way, path, 2, min(count, 30))
            finally:
                spinning.kill()
                spinning.wait()
    return busy


def read_bandwidth(peers, path):
    """Bytes a millisecond that a CPU reads."""
    command = [*peers.command("nnhal", path, 1, 10), "--profile"]
    done = subprocess.run([*peers.prefix, *command], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["peak_read_gbs"] * 1e6


def measure_all(peers, paths, options):
    """{(path, way, threads): [results]}"""
    results = {}
    counts = {}
    for path in paths:
        first = peers.measure("nnhal", path, 1, 3)
        counts[path] = max(10, min(options.runs, int(BUDGET_MS / max(first["median_ms"], 0.001))))
    for number in range(options.rounds):
        for path in paths:
            for threads in THREADS:
                for way in WAYS:
                    if threads > 1 and way in SLOW_WAYS:
                        continue
                    count = max(3, counts[path] // SLOW_WAYS.get(way, 1))
                    result = peers.measure(way, path, threads, count)
                    if result:
                        results.setdefault((path, way, threads), []).append(result)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    return results, counts


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
            rival = min((t for t in (newest, times["ort"]) if t), default=None)
            self.rows.append((name_of(path), classes[name_of(path)], times, newest, rival))

    def judged(self):
        return [(name, kind, times["nnhal"], rival) for name, kind, times, _, rival in self.rows]

    def lines(self, threads):
        yield f"### {threads} thread{'s' if threads > 1 else ''}, milliseconds\n"
        rival = "the faster of these" if HAS_VNNI else "XNNPACK 2026, by factor"
        yield (f"| model | class | nnhal | XNNPACK 2.9.0 | own kernels | {rival} | "
               "ONNX Runtime | nnhal / faster | NNAPI delegate / nnhal | own delegate / nnhal |")
        yield "|---|---|---|---|---|---|---|---|---|---|"
        for name, kind, times, newest, rival in self.rows:
            ratio = times["nnhal"] / rival if rival else None
            through = [times[way] / times["nnhal"] if times[way] else None for way in ON_NNHAL]
            yield (f"| {name} | {kind} | {show(times['nnhal'])} | {show(times['xnnpack'])} | "
                   f"{show(times['builtin'])} | {show(newest)} | {show(times['ort'])} | "
                   f"{show(ratio, 2)} | {show(through[0], 2)} | {show(through[1], 2)} |")
        yield ""
        yield from self.summary()

    def summary(self):
        yield "| class | models | nnhal / faster peer, geometric mean | worst |"
        yield "|---|---|---|---|"
        for title, some in groups_of(self.judged()).items():
            if some:
                yield (f"| {title} | {len(some)} | {show(geometric_mean(some), 2)} | "
                       f"{show(max(some), 2)} |")
        yield ""


def first_of(results, path, way):
    """From nothing to the end of the first execution."""
    if way == "nnhal":
        return median(results, path, way, 1, "start_ms")
    times = [median(results, path, way, 1, key) for key in ("prepare_ms", "first_ms")]
    return sum(times) if times[0] is not None else None


def preparation_lines(results, paths):
    yield "### Preparation, and all until the end of the first execution; one thread, milliseconds\n"
    yield "| model | nnhal | XNNPACK 2.9.0 | ONNX Runtime |"
    yield "|---|---|---|---|"
    for path in sorted(paths, key=name_of):
        cells = [f"{show(median(results, path, way, 1, 'prepare_ms'))}, "
                 f"{show(first_of(results, path, way))}" for way in ("nnhal", "xnnpack", "ort")]
        yield f"| {name_of(path)} | {' | '.join(cells)} |"
    yield ""


def busy_lines(results, busy):
    yield "### Two threads, one CPU taken by another process: median / quiet median\n"
    yield "| model | nnhal | XNNPACK 2.9.0 | ONNX Runtime |"
    yield "|---|---|---|---|"
    for path in sorted({path for path, _ in busy}, key=name_of):
        cells = []
        for way in BUSY_WAYS:
            quiet = median(results, path, way, 2)
            cells.append(show(busy[path, way]["median_ms"] / quiet if quiet and busy[path, way]
                              else None, 2))
        yield f"| {name_of(path)} | {' | '.join(cells)} |"
    yield ""


def judge(results, busy, tables, facts, bandwidth):
    promises = Promises()
    for threads, table in tables.items():
        promises.add_ratios(table.judged(), threads)
    for path, (_, n_operations) in facts.items():
        name, nnhal = name_of(path), median(results, path, "nnhal", 1)
        promises.add_gain(name, nnhal, median(results, path, "nnhal", 2))
        promises.add_first(name, first_of(results, path, "nnhal"), nnhal,
                           first_of(results, path, "xnnpack"))
        promises.add_compile(name, median(results, path, "nnhal", 1, "prepare_ms"),
                             median(results, path, "ort", 1, "prepare_ms"),
                             path.stat().st_size / bandwidth, n_operations)
        for way in ON_NNHAL:
            promises.add_delegate(f"{name}, {way}", nnhal, median(results, path, way, 1),
                                  median(results, path, "nnhal", 1, "argument_bytes") * 2 / bandwidth)
        if busy.get((path, "nnhal")):
            promises.add_contention(name, median(results, path, "nnhal", 2),
                                    busy[path, "nnhal"]["median_ms"])
    return promises


def cpu_name():
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def head_line(options):
    version = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                             capture_output=True, text=True, check=False).stdout.strip()
    kind = "AVX-512 VNNI" if HAS_VNNI else "AVX2, no AVX-512"
    prefix = f"; programs ran under `{' '.join(options.prefix)}`" if options.prefix else ""
    return (f"{cpu_name()} ({kind}), {os.cpu_count()} CPUs; commit {version}; {options.rounds} rounds, "
            f"medians{prefix}; load {os.getloadavg()[0]:.1f} at the end.\n")


def report(peers, results, counts, options):
    """Returns: the tables as text, and the code to end with."""
    facts = {path: facts_of(path) for path in counts}
    factors, classes = read_factors(), {name_of(path): kind for path, (kind, _) in facts.items()}
    busy = measure_busy(peers, results, counts)
    tables = {threads: Table(results, facts, threads, factors, classes) for threads in THREADS}
    promises = judge(results, busy, tables, facts, read_bandwidth(peers, next(iter(facts))))
    lines = [head_line(options)]
    for threads, table in tables.items():
        lines += table.lines(threads)
    lines += [*preparation_lines(results, facts), *busy_lines(results, busy), *promises.lines()]
    return "\n".join(lines), promises.code()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=200, help="at most, in a round")
    parser.add_argument("--prefix", type=str.split, default=[], help="before each program")
    parser.add_argument("--write", type=Path, help="a document whose end gets the tables")
    parser.add_argument("model", nargs="*", type=Path)
    options = parser.parse_args()
    fetched = subprocess.run([ROOT / "bench/peers/fetch.sh", options.build / "peers"], check=False)
    if fetched.returncode:
        return fetched.returncode
    paths = options.model or models()
    peers = Peers(options.build, options.prefix)
    text, code = report(peers, *measure_all(peers, paths, options), options)
    print(text)
    if options.write:
        head = options.write.read_text(encoding="utf-8").partition(MARK)[0]
        options.write.write_text(head + MARK + "\n" + text, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
