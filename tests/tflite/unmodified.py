#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unmodified TensorFlow Lite 2.9.0 as a client, through its NNAPI delegate.

    unmodified.py --mode embedded|private|service [--library FILE] [MODEL...]

Every model of $NNHAL_SHARED/models equals its golden outputs, as golden-models.py judges them, and
nnhal-cpu has computed part of it. Then what applications do: interpreters in threads, a fork,
deletion in any order, a driver that is killed between two runs.

The library is fetched from npm into build/peers (bench/peers/fetch.sh); without npm, and without
$NNHAL_SHARED, the test is skipped, and says so. Each model has a process of its own.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from pathlib import Path

import capi

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("NNHAL_BUILD_ROOT") or ROOT / "build")
MACHINES = {"x86_64": "linux_amd64", "aarch64": "linux_arm64"}
VERSION = b"2.9.0"
LIMIT_S = 200  # of one process
spec = importlib.util.spec_from_file_location("golden", Path(__file__).parent / "golden-models.py")
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)
SMALL = ROOT / "models" / "glyphs" / "glyphs-int8.tflite"


def expect(is_met, what):
    if not is_met:
        raise AssertionError(what)


# -- the device, as the library in this process sees it --

class Where(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("way", ctypes.c_uint32), ("pid", ctypes.c_int32)]


class Counts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("n_computed", ctypes.c_uint64),
                ("n_failed", ctypes.c_uint64), ("n_helped", ctypes.c_uint64)]


def ask_device(function, answer):
    """Of nnhal-cpu; the loader gives the library that TensorFlow Lite has loaded."""
    library = ctypes.CDLL("libneuralnetworks.so")
    n, device, name = ctypes.c_uint32(), ctypes.c_void_p(), ctypes.c_char_p()
    library.ANeuralNetworks_getDeviceCount(ctypes.byref(n))
    for i in range(n.value):
        library.ANeuralNetworks_getDevice(i, ctypes.byref(device))
        library.ANeuralNetworksDevice_getName(device, ctypes.byref(name))
        if name.value == b"nnhal-cpu":
            answer.size = ctypes.sizeof(answer)
            expect(getattr(library, function)(device, ctypes.byref(answer)) == 0, function)
            return answer
    raise AssertionError("there is no device nnhal-cpu")


def n_computed():
    return ask_device("nnhal_device_get_counts", Counts()).n_computed


# -- in a process of its own --

def judge(folder, library):
    """One model against its golden outputs."""
    meta = json.loads((folder / "meta.json").read_text())
    model = capi.Model(library, folder / "model.tflite")
    for one in meta["sets"]:
        interpreter = model.interpreter(use_nnapi=True)  # states start anew
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
    expect(n_computed() > 0, "nnhal-cpu computed nothing")


def small_input(seed):
    return [bytes((seed * 31 + i * 7) % 256 for i in range(32 * 32))]


def threads(library):
    """Eight interpreters of one model in eight threads."""
    model = capi.Model(library, SMALL)
    alone = model.interpreter(use_nnapi=True)
    wanted = [alone.invoke(small_input(seed)) for seed in range(8)]
    wrong = []

    def work(seed):
        interpreter = model.interpreter(use_nnapi=True)
        for _ in range(10):
            if interpreter.invoke(small_input(seed)) != wanted[seed]:
                wrong.append(seed)
        interpreter.delete()

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    expect(not wrong, f"wrong results in threads {wrong}")
    expect(n_computed() >= 88, "nnhal-cpu did not compute them")


def order(library):
    """Models and interpreters are deleted in any order; what is left goes on."""
    model = capi.Model(library, SMALL)
    first, second = (model.interpreter(use_nnapi=True) for _ in range(2))
    wanted = first.invoke(small_input(1))
    model.delete()
    first.delete()
    expect(second.invoke(small_input(1)) == wanted, "another result once the model was deleted")
    second.delete()


def fork(library):
    """A child cannot use the library of the process that forked it: there TensorFlow Lite computes
    itself. The parent goes on."""
    model = capi.Model(library, SMALL)
    interpreter = model.interpreter(use_nnapi=True)
    wanted = interpreter.invoke(small_input(2))
    child = os.fork()
    if child == 0:
        own = model.interpreter(use_nnapi=True)
        os._exit(0 if own.invoke(small_input(2)) == wanted else 1)
    expect(os.waitpid(child, 0)[1] == 0, "the child's result differs, or it died")
    before = n_computed()
    expect(interpreter.invoke(small_input(2)) == wanted, "the parent's result differs")
    expect(n_computed() == before + 1, "nnhal-cpu no longer computes for the parent")


def kill(library):
    """The driver's process is killed between two runs: TensorFlow Lite notices nothing."""
    model = capi.Model(library, SMALL)
    interpreter = model.interpreter(use_nnapi=True)
    wanted = interpreter.invoke(small_input(3))
    pid = ask_device("nnhal_device_get_where", Where()).pid
    expect(pid > 1, f"the driver's process is {pid}")
    os.kill(pid, signal.SIGKILL)
    expect(interpreter.invoke(small_input(3)) == wanted, "another result once the driver was killed")


SCENES = {"threads": threads, "order": order, "fork": fork, "kill": kill}


def be_child(what, library):
    try:
        version = capi.library(library).TfLiteVersion()
        expect(version == VERSION, f"this is TensorFlow Lite {version}")
        if what in SCENES:
            SCENES[what](library)
        else:
            judge(Path(what), library)
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


def run_child(what, library, environment):
    """A sentence that says what was wrong; "" if nothing was."""
    command = [sys.executable, __file__, "--child", what, "--library", library]
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
    parser.add_argument("--child")
    parser.add_argument("model", nargs="*")
    options = parser.parse_args()
    if options.child:
        return be_child(options.child, options.library)
    if not golden.MODELS.is_dir():
        print(f"SKIPPED: no {golden.MODELS}: real models were not run (set NNHAL_SHARED)")
        return 77
    library = options.library or fetch()
    if not library:
        return 77
    models = [str(p.parent) for p in sorted(golden.MODELS.glob("*/meta.json"))
              if not options.model or p.parent.name in options.model]
    scenes = [scene for scene in SCENES if scene != "kill" or options.mode == "private"]
    n_bad = 0
    with golden.service.way(BUILD, options.mode, "cpu") as environment:
        for what in models + ([] if options.model else scenes):
            wrong = run_child(what, library, environment)
            n_bad += bool(wrong)
            if wrong:
                print(f"{Path(what).name}: {wrong}", flush=True)
    print(f"{len(models)} models, {n_bad} wrong, mode {options.mode}")
    return 1 if n_bad or not models else 0


sys.exit(main())
