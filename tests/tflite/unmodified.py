#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unmodified TensorFlow Lite 2.9.0 as a client, through its NNAPI delegate or the external one.

    unmodified.py --mode embedded|private|service [--delegate FILE] [--library FILE] [MODEL...]

Every model of $NNHAL_SHARED/models (default: ../shared), or without it of models/glyphs, equals its golden
outputs, as golden-models.py judges them, and nnhal-cpu has computed every node, of which NNAPI's delegate
makes one operation or more; it leaves some kinds to TensorFlow Lite (LEFT), --delegate (libnnhal-delegate.so)
none. Then what applications do: interpreters in threads, a fork,
deletion in any order, a driver that is killed between two runs, and more (scenes.py).

The library is fetched from npm into build/peers (bench/peers/fetch.sh); without npm the test is skipped,
and says so. Each model has a process of its own.
"""

import argparse
import importlib.util
import json
import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import capi
import recorded
import scenes
from scenes import BUILD, ROOT, expect

MACHINES = {"x86_64": "linux_amd64", "aarch64": "linux_arm64"}
VERSION = b"2.9.0"
LIMIT_S = 200  # of one process
LEFT = ("DEQUANTIZE", "TFLite_Detection_PostProcess")  # of constants, which are reals then; of no NNAPI operation
spec = importlib.util.spec_from_file_location("golden", Path(__file__).parent / "golden-models.py")
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)


# -- in a process of its own --

class Way:
    """How an interpreter reaches nnhal: by its NNAPI delegate, or by the external one."""

    def __init__(self, library, delegate):
        self.library, self.delegate = library, delegate
        self.loader = library.parent / "libexternal_delegate_obj.so"
        self.delegates = []

    def interpreter(self, model, **options):
        if not self.delegate:
            return model.interpreter(use_nnapi=True)
        made = capi.Delegate(self.loader, self.delegate, dict(options, verbose="true"))
        self.delegates.append(made)
        return model.interpreter(delegate=made)

    def end(self):
        """Deletes the delegates made so far; interpreters may still be there."""
        while self.delegates:
            self.delegates.pop().delete()

    def check(self, file, said):
        """What was said when an interpreter was made: of the model's nodes all are delegated."""
        if not self.delegate:
            n_made = sum(int(n) for n in re.findall(r"nnhal-cpu: prepared (\d+) operations", said))
            n_nodes = count_nodes(file)
            expect(n_made >= n_nodes, f"{n_made} operations of {n_nodes} nodes")
            return
        taken = re.findall(r"nnhal: (\d+) of (\d+) nodes", said)
        expect(taken, "the delegate was not asked")
        for some, all_of_them in taken:
            expect(some == all_of_them, f"{some} of {all_of_them} nodes are delegated")


def count_nodes(file):
    """Without those that NNAPI's delegate leaves."""
    told = subprocess.run([BUILD / "nnhal", "info", "--json", file], check=True, capture_output=True,
                          stdin=subprocess.DEVNULL).stdout
    return sum(n for name, n in json.loads(told)["operations"].items() if name not in LEFT)


def judge(folder, way):
    """One model against its golden outputs."""
    meta = json.loads((folder / "meta.json").read_text())
    model = capi.Model(way.library, folder / "model.tflite")
    for one in meta["sets"]:
        with scenes.log() as printed:
            interpreter = way.interpreter(model)  # states start anew
        way.check(folder / "model.tflite", printed.text)
        number = one["set"]
        inputs = [(folder / f"in{number}_{i}.bin").read_bytes() for i in range(len(meta["inputs"]))]
        allowed = meta.get("max_abs_diff_tflite_optimised_vs_golden") or []
        outputs = interpreter.invoke(inputs)
        expect(len(outputs) == len(meta["outputs"]), f"{len(outputs)} outputs")
        for i, found in enumerate(outputs):
            wanted = (folder / f"golden{number}_{i}.bin").read_bytes()
            worst, most = golden.difference(found, wanted, meta["outputs"][i]["type"])
            if most is None:
                most = (allowed[i] if i < len(allowed) else 0) or 0
            expect(worst <= most, f"set {number}, output {i}: differs by {worst:g}, allowed {most:g}")
        interpreter.delete()
    expect(scenes.n_computed() > 0, "nnhal-cpu computed nothing")


def be_child(what, way):
    try:
        version = capi.library(way.library).TfLiteVersion()
        expect(version == VERSION, f"this is TensorFlow Lite {version}")
        if what in scenes.COMMON:
            scenes.COMMON[what](way)
        elif what in scenes.OF_DELEGATE:
            scenes.OF_DELEGATE[what](way)
        else:
            judge(Path(what), way)
        way.end()
    except (AssertionError, capi.Failed) as error:
        print(f"WRONG: {error}")
        return 1
    return 0


# -- all of them --

def fetch():
    """The library; None: there is no npm."""
    folder = BUILD / "peers"
    if platform.machine() not in MACHINES:
        print(f"SKIPPED: TensorFlow Lite is not published for {platform.machine()}")
        return None
    library = (folder / "node_modules/tfjs-tflite-node/cc_deps" / MACHINES[platform.machine()]
               / "libtensorflowlite_c.so")
    done = subprocess.run([ROOT / "bench/peers/fetch.sh", folder, "tflite"], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        print(f"SKIPPED: no unmodified TensorFlow Lite: {reason}")
        return None
    return library


def run_child(what, library, delegate, environment):
    """A sentence that says what was wrong; "" if nothing was."""
    command = [sys.executable, __file__, "--child", what, "--library", library]
    if delegate:
        command += ["--delegate", delegate]
    child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             start_new_session=True)
    try:
        said, _ = child.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return f"it did not end within {LIMIT_S} s"
    if child.returncode == 0:
        return ""
    last = (said.strip().splitlines() or [""])[-1]
    return f"exit status {child.returncode}: {last}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", default="embedded")
    parser.add_argument("--library", type=Path)
    parser.add_argument("--delegate", type=Path)
    parser.add_argument("--child")
    parser.add_argument("model", nargs="*")
    options = parser.parse_args()
    if options.child:
        return be_child(options.child, Way(options.library, options.delegate))
    library = options.library or fetch()
    if not library:
        return 77
    played = [*scenes.COMMON, *(scenes.OF_DELEGATE if options.delegate else [])]
    played = [one for one in played if (one not in scenes.OF_PRIVATE or options.mode == "private") and
              (one not in scenes.OF_SHARED or recorded.is_shared())]
    n_bad = 0
    with recorded.models(recorded.GLYPHS) as folder, golden.service.way(BUILD, options.mode, "cpu") as environment:
        environment["NNHAL_LOG"] = "compilation:info"  # what is prepared
        models = [str(model) for model in recorded.folders(folder, options.model)]
        for what in models + ([] if options.model else played):
            wrong = run_child(what, library, options.delegate, environment)
            n_bad += bool(wrong)
            if wrong:
                print(f"{Path(what).name}: {wrong}", flush=True)
    print(f"{len(models)} models, {n_bad} wrong, mode {options.mode}")
    return 1 if n_bad or not models else 0


if __name__ == "__main__":
    sys.exit(main())
