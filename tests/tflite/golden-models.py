#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real models against their golden outputs.

    golden-models.py --nnhal build/nnhal [--mode MODE] [--table] [MODEL...]

Every model of $NNHAL_SHARED/models runs on its recorded inputs through `nnhal
run`. Integer outputs may differ by what meta.json records for TensorFlow Lite's
own optimized kernels, and by 0 where it records nothing; float outputs by 1e-4
of the largest magnitude. --table prints what each differs by. Without
$NNHAL_SHARED (default: ../shared) they are models of this repository (recorded.py).
"""

import argparse
import array
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "tflite")]
import recorded  # noqa: E402
import service  # noqa: E402

FLOAT_TOLERANCE = 1e-4


def values(data, kind):
    return array.array(recorded.CODES[kind], data)


def difference(got, wanted, kind):
    """(difference, allowed by type or None for integers)"""
    if len(got) != len(wanted):
        return float("inf"), 0.0
    a, b = values(got, kind), values(wanted, kind)
    worst = max((abs(x - y) if x == x and y == y else (0 if x != x and y != y else float("inf"))
                 for x, y in zip(a, b)), default=0)
    if kind != "FLOAT32":
        return worst, None
    largest = max((abs(y) for y in b if y == y and abs(y) != float("inf")), default=0) or 1.0
    return worst / largest, FLOAT_TOLERANCE


def run_set(nnhal, environment, folder, meta, number):
    """Runs one recorded set; yields (output, difference, allowed) or raises RuntimeError."""
    with tempfile.TemporaryDirectory() as temporary:
        outputs = [Path(temporary) / f"out{i}" for i in range(len(meta["outputs"]))]
        command = [nnhal, "run", folder / "model.tflite", "--device", "nnhal-cpu"]
        for i in range(len(meta["inputs"])):
            command += ["--input", folder / f"in{number}_{i}.bin"]
        for path in outputs:
            command += ["--output", path]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=environment)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip()
                               else f"exit status {done.returncode}")
        recorded = meta.get("max_abs_diff_tflite_optimised_vs_golden") or [0] * len(outputs)
        for i, (path, output) in enumerate(zip(outputs, meta["outputs"])):
            wanted = (folder / f"golden{number}_{i}.bin").read_bytes()
            worst, allowed = difference(path.read_bytes(), wanted, output["type"])
            if allowed is None:
                allowed = recorded[i] or 0
            yield i, worst, allowed


def check(nnhal, environment, folder, table):
    """The sentences that say what is wrong with one model."""
    meta = json.loads((folder / "meta.json").read_text())
    worst_of_all = 0.0
    for one in meta["sets"]:
        try:
            for i, worst, allowed in run_set(nnhal, environment, folder, meta, one["set"]):
                worst_of_all = max(worst_of_all, worst)
                if not worst <= allowed:
                    yield f"set {one['set']}, output {i}: differs by {worst:g}, allowed {allowed:g}"
        except RuntimeError as error:
            yield f"set {one['set']}: {error}"
    if table:
        print(f"{folder.name:50} {worst_of_all:.3g}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nnhal", required=True)
    parser.add_argument("--mode", default="embedded")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("model", nargs="*")
    options = parser.parse_args()
    n_bad = 0
    with recorded.models() as models, \
            service.way(Path(options.nnhal).resolve().parent, options.mode, "cpu") as environment:
        folders = recorded.folders(models, options.model)
        for folder in folders:
            complaints = list(check(options.nnhal, environment, folder, options.table))
            for complaint in complaints:
                print(f"{folder.name}: {complaint}", flush=True)
            n_bad += bool(complaints)
    print(f"{len(folders) - n_bad} of {len(folders)} models as recorded, mode {options.mode}")
    return 1 if n_bad or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
