#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The nnhal program as a person uses it: what it prints, writes and returns.

    nnhal.py --nnhal build/nnhal [NAME...]

Pictures of the repository's model get the labels in their names, in three ways;
other models and pictures come from $NNHAL_SHARED where it is there. The same
inputs give the same bytes with any number of threads, again, and in every way.
"""

import argparse
import ast
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
import wave
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(os.environ["NNHAL_SOURCE_ROOT"])
SHARED = Path(os.environ.get("NNHAL_SHARED", ROOT.parent / "shared"))
GLYPHS = ROOT / "models" / "glyphs"
sys.path.insert(0, str(ROOT / "tests" / "support"))
import service  # noqa: E402

NNHAL = None
WAYS = ("embedded", "private", "service")


def nnhal(*arguments, environment=None):
    return subprocess.run([NNHAL, *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=300,
                          env=environment or dict(os.environ, NNHAL_MODE="embedded"))


def way(mode):
    return service.way(NNHAL.parent, mode, "cpu")


def expect(is_met, what):
    if not is_met:
        raise AssertionError(what)


def best_labels(model, labels, pictures, *options, environment=None):
    """The best label of each picture, from the JSON."""
    images = [x for picture in pictures for x in ("--image", picture)]
    done = nnhal("run", model, "--device", "nnhal-cpu", "--labels", labels, "--top", 3, "--json",
                 *options, *images, environment=environment)
    expect(done.returncode == 0, done.stderr)
    return [r["classes"][0]["label"] for r in json.loads(done.stdout)["results"]]


def glyphs_are_read():
    pictures = sorted((GLYPHS / "pictures").glob("*.png"))
    wanted = [p.stem.split("-")[1] for p in pictures]
    wanted = [w if w in (GLYPHS / "labels.txt").read_text().split("\n") else w.upper()
              for w in wanted]
    expect(len(wanted) >= 8, "fewer than eight pictures")
    for mode in WAYS:
        with way(mode) as environment:
            for model, options in (("glyphs-int8.tflite", ()),
                                   ("glyphs-float.tflite", ("--mean", 0, "--deviation", 255))):
                got = best_labels(GLYPHS / model, GLYPHS / "labels.txt", pictures, *options,
                                  environment=environment)
                expect(got == wanted, f"{model}, {mode}: {got}, wanted {wanted}")


def text_says_label_time_and_device():
    done = nnhal("run", GLYPHS / "glyphs-int8.tflite", "--device", "nnhal-cpu", "--top", 1,
                 "--labels", GLYPHS / "labels.txt", "--image", GLYPHS / "pictures" / "01-A.png")
    lines = done.stdout.splitlines()
    expect(len(lines) == 3, done.stdout)
    expect("nnhal-cpu, embedded, pid" in lines[0] and "prepared in" in lines[0], lines[0])
    expect("01-A.png: executed in" in lines[1], lines[1])
    expect(lines[2].split()[-1] == "A" and "%" in lines[2], lines[2])


def the_cat_is_a_cat():
    if not SHARED.is_dir():
        print(f"SKIPPED: no {SHARED}, so no cat")
        return
    images = SHARED / "images"
    got = best_labels(SHARED / "models" / "mobilenet_v1_0.5_160_quant" / "model.tflite",
                      images / "imagenet_labels.txt",
                      [images / n for n in ("cat.bmp", "bird.bmp", "sunflower.bmp")])
    expect(got == ["Egyptian cat", "chickadee", "daisy"], got)
    done = nnhal("run", SHARED / "models" / "coco_ssd_mobilenet_v1_quant" / "model.tflite",
                 "--labels", images / "coco_labels.txt", "--image", images / "cat.bmp")
    expect(" cat " in done.stdout and "left" in done.stdout, done.stdout + done.stderr)


IMAGENET = {"cat.bmp": "Egyptian cat", "bird.bmp": "chickadee", "sunflower.bmp": "daisy"}
CLASSIFIERS = {  # what they see, in words or by the numbers of classes; None: nothing of these pictures
    "mobilenet_v1_0.25_128_quant": IMAGENET, "mobilenet_v1_0.25_224_float": IMAGENET,
    "mobilenet_v1_0.5_160_quant": IMAGENET, "tf2_mobilenet_v2_1.0_224_ptq": IMAGENET,
    "automl_labeler_model": {"sunflower.bmp": "sunflowers"}, "resnet8_int8": {"cat.bmp": 3, "bird.bmp": 2},
    "resnet8_float": {"cat.bmp": 3, "bird.bmp": 2}, "resnet_large_float": {"cat.bmp": None},
    "vww_96_int8": {"cat.bmp": 0, "grace_hopper.bmp": 1}, "vww_96_float": {"cat.bmp": 0, "grace_hopper.bmp": 1},
}


def every_classifier_is_right_or_says_what_it_assumes():
    if not SHARED.is_dir():
        print(f"SKIPPED: no {SHARED}, so no classifiers")
        return
    for name, pictures in CLASSIFIERS.items():
        labels = ("--labels", SHARED / "images" / "imagenet_labels.txt") if pictures is IMAGENET else ()
        for picture, wanted in pictures.items():
            done = nnhal("run", SHARED / "models" / name / "model.tflite", "--top", 1, *labels,
                         SHARED / "images" / picture)
            best = wanted if isinstance(wanted, str) else f"class {wanted}"
            is_right = re.search(rf"%  {re.escape(best)}$", done.stdout, re.M)
            expect(done.returncode == 0 and (is_right or "assumed: a pixel becomes" in done.stdout), done)
            expect("float" in name or "assumed" not in done.stdout, done)


def only_probabilities_are_per_cent():
    if not SHARED.is_dir():
        print(f"SKIPPED: no {SHARED}, so no model whose scores are no probabilities")
        return
    for name, is_share in (("ad01_fp32", False), ("iris", True)):
        folder = SHARED / "models" / name
        done = nnhal("run", folder / "model.tflite", "--input", folder / "in0_0.bin")
        expect(done.returncode == 0 and ("%" in done.stdout) == is_share, done)
        expect(("class" if is_share else "output 0") in done.stdout, done)  # or an autoencoder's


def a_model_says_how_it_wants_its_picture():
    """The file: tests/tflite/make-described.py."""
    made = NNHAL.parent / "tests" / "tflite"
    picture = GLYPHS / "pictures" / "01-A.png"
    done = nnhal("run", made / "described.tflite", "--json", picture, picture)
    said = json.loads(done.stdout)
    expect(said["normalization"] == {"from": "metadata", "mean": [1, 2, 3],
                                     "deviation": [4, 4, 4]}, said)
    expect(len(said["results"]) == 2 and done.stderr == "", done)
    by_label = {c["label"]: c["score"] for c in said["results"][0]["classes"]}
    expect(set(by_label) == {"night", "day", "red ?[31m sky"}, by_label)
    expect(by_label["day"] == 0.125, "a class without a calibration has the default")
    done = nnhal("run", made / "described.tflite", picture, "--mean", 0, "--json")
    said = json.loads(done.stdout)
    expect(said["normalization"] == {"from": "options", "mean": [0], "deviation": [127.5]}, said)
    done = nnhal("run", made / "described-without-files.tflite", picture)
    expect(done.returncode == 0 and "labels.txt" in done.stderr and "assumed" not in done.stdout,
           done)
    for options, is_assumed in ((), True), (("--mean", 0, "--deviation", 255), False):
        done = nnhal("run", GLYPHS / "glyphs-float.tflite", picture, *options)
        expect(done.returncode == 0 and ("assumed: " in done.stdout) == is_assumed, done)


def info_tells_what_is_in_a_model():
    made = NNHAL.parent / "tests" / "tflite"
    done = nnhal("info", made / "described.tflite")
    for text in ("made here", "tells night from day", "x: float32 [1, 2, 2, 3]", "mean 1, 2, 3",
                 "3 labels: night, day", "1 MEAN"):
        expect(text in done.stdout, f"{text!r} is not in {done.stdout}")
    expect("\x1b" not in done.stdout, "a label steers the terminal")
    done = nnhal("info", made / "described-bad-name.tflite")
    expect(done.returncode == 0 and "labels ?]0;" in done.stderr and "\x1b" not in done.stderr, done)
    expect("caf\u00e9 ?? ?" in done.stdout, done.stdout)
    said = json.loads(nnhal("info", made / "described-bad-name.tflite", "--json").stdout)
    expect(said["name"] == "caf\u00e9 ?? ?", said["name"])
    said = json.loads(nnhal("info", made / "described.tflite", "--json").stdout)
    expect(said["outputs"][0]["labels"][:2] == ["night", "day"] and
           said["operations"] == {"MEAN": 1} and said["license"] == "Apache-2.0", said)
    done = nnhal("info", made / "unmapped.tflite")
    expect(done.returncode == 0 and "operations: " in done.stdout, done)
    done = nnhal("info", GLYPHS / "labels.txt")
    expect(done.returncode == 1 and "identifier" in done.stderr, done)


def many_values_are_told_on_demand():
    if not SHARED.is_dir():
        print(f"SKIPPED: no {SHARED}, so no model with many values")
        return
    run = ("run", SHARED / "models" / "face_detection_back" / "model.tflite",
           SHARED / "images" / "face.jpg", "--json")
    without, with_all = (json.loads(nnhal(*run, *more).stdout)["results"][0]["outputs"]
                         for more in ((), ("--values",)))
    expect(all(o["n_values"] > 800 and ("values" in o) == (o["n_values"] <= 1024)
               for o in without), without)
    expect(all(len(o["values"]) == o["n_values"] for o in with_all), "not all values")


def detections_are_in_the_json():
    if not SHARED.is_dir():
        print(f"SKIPPED: no {SHARED}, so no detector")
        return
    done = nnhal("run", SHARED / "models" / "coco_ssd_mobilenet_v1_quant" / "model.tflite",
                 "--labels", SHARED / "images" / "coco_labels.txt", "--json",
                 SHARED / "images" / "cat.bmp")
    said = json.loads(done.stdout)
    found = said["results"][0]["detections"][0]
    expect(found["label"] == "cat" and found["score"] > 0.5 and
           found["left"] < found["right"] and found["top"] < found["bottom"], found)
    expect(said["device"] == "nnhal-cpu" and said["mode"] == "embedded" and said["pid"] > 0, said)


def arrays_go_in_and_come_out():
    """Arrays of numpy as files, with and without dimensions of 1; other types, shapes and orders are told."""
    def array(descr, shape, data, order="False"):
        text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
        text += b" " * (-(len(text) + 11) % 64) + b"\n"
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data
    model, pixels = GLYPHS / "glyphs-int8.tflite", bytes(i % 251 for i in range(1024))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        raw, given, out, out_raw = (folder / n for n in ("in.bin", "in.npy", "out.npy", "out.bin"))
        raw.write_bytes(pixels)
        expect(nnhal("run", model, "-i", raw, "-o", out_raw).returncode == 0, "it did not run")
        for shape in (1, 32, 32, 1), (32, 32), (32, 32, 1):
            given.write_bytes(array("|i1", shape, pixels))
            done = nnhal("run", model, "--input", given, "--output", out)
            expect(done.returncode == 0, done.stderr)
        made = out.read_bytes()
        n_text = struct.unpack("<H", made[8:10])[0]
        head = ast.literal_eval(made[10:10 + n_text].decode())
        expect(head["descr"] == "|i1" and not head["fortran_order"] and
               made[10 + n_text:] == out_raw.read_bytes() and
               head["shape"] == (1, len(out_raw.read_bytes())), head)
        for says, content in (("astype(\"int8\")", array("|u1", (32, 32), pixels)),
                              ("its shape is [32, 31]", array("|i1", (32, 31), pixels)),
                              ("Fortran", array("|i1", (32, 32), pixels, "True")),
                              ("fewer", array("|i1", (32, 32), pixels[1:])),
                              ("more", array("|i1", (32, 32), pixels + b"x")),
                              ("no .npy file", pixels), ("no .npy file", b"")):
            given.write_bytes(content)
            done = nnhal("run", model, "--input", given)
            expect(done.returncode == 1 and says in done.stderr, f"{says}: {done.stderr}")


def a_model_runs_without_inputs():
    done = nnhal("run", GLYPHS / "glyphs-int8.tflite")
    expect(done.returncode == 0 and "the inputs are zeros" in done.stdout, done)
    said = json.loads(nnhal("run", GLYPHS / "glyphs-int8.tflite", "--json").stdout)
    expect(said["inputs"] == "zeros" and len(said["results"]) == 1, said)
    done = nnhal("run", GLYPHS / "glyphs-int8.tflite", "-i", "x", "-i", "y")
    expect("input 0, " in done.stderr and "int8 [1, 32, 32, 1]" in done.stderr, done.stderr)


def sounds_are_classified():
    """The model gives each of three samples as a score (tests/tflite/make-described.py)."""
    model = NNHAL.parent / "tests" / "tflite" / "described-sound.tflite"
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.wav"

        def run(samples, rate, *options, n_channels=1, model=model):
            with wave.open(str(path), "wb") as file:
                file.setnchannels(n_channels)
                file.setsampwidth(2)
                file.setframerate(rate)
                file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
            return nnhal("run", model, path, *options)

        done = run([0, 8192, 16384, 24576], 8000, "--json", "--labels", GLYPHS / "labels.txt", "-k", 1)
        expect(done.returncode == 0, done.stderr)
        said = json.loads(done.stdout)["results"]
        got = [(r["classes"][0]["class"], r["classes"][0]["score"], r["at_s"], r["rate_is_assumed"]) for r in said]
        expect(got == [(2, 0.5, 0, False), (0, 0.75, 3 / 8000, False)], got)
        expect(said[1]["outputs"][0]["values"] == [0.75, 0, 0] and said[0]["sound"] == str(path), said)
        done = run([0, 8192, 16384, 0, 0, 16384], 8000, "-k", 1, n_channels=2)
        expect("50.00 %" not in done.stdout and "25.00 %  day" in done.stdout, done.stdout)  # 0.125, 0.25, 0.25
        done = run([0, 8192, 16384], 16000)
        expect(done.returncode == 1 and "wants 8000" in done.stderr and "sox" in done.stderr, done.stderr)
        done = run([0, 8192, 16384], 8000, model=model.with_name("described-stereo.tflite"))
        expect(done.returncode == 1 and "the model wants 2 channels" in done.stderr, done.stderr)
        done = run([1], 8000, model=GLYPHS / "glyphs-int8.tflite")
        expect(done.returncode == 2 and "no sound" in done.stderr, done.stderr)
        path.write_bytes(b"RIFF")
        done = nnhal("run", model, path)
        expect(done.returncode == 1 and "no WAVE file" in done.stderr, done.stderr)
        path.unlink()
        os.mkfifo(path)
        done = nnhal("run", model, path)
        expect(done.returncode == 1 and "not a regular file" in done.stderr, done.stderr)
    done = nnhal("info", model)
    expect("8000 samples a second, 1 channel\n" in done.stdout, done.stdout)


def same_inputs_give_same_bytes():
    models = [GLYPHS / "glyphs-float.tflite", GLYPHS / "glyphs-int8.tflite"]
    models += [m for name in ("mobilenet_v1_0.25_224_float", "vww_96_int8", "resnet8_float")
               for m in [SHARED / "models" / name / "model.tflite"] if m.exists()]
    with tempfile.TemporaryDirectory() as folder, way("service") as served:
        out, given = Path(folder) / "out", Path(folder) / "in"
        for model in models:
            seen = set()
            size = input_bytes(model)
            given.write_bytes(bytes((i * 37 + i // 251) % 61 for i in range(size)))
            runs = [("sync", dict(os.environ, NNHAL_MODE="embedded", NNHAL_CPU_THREADS=n))
                    for n in ("1", "2", "2", "3")]
            runs += [(path, environment) for path in ("sync", "burst") for environment in
                     (dict(os.environ, NNHAL_MODE="private"), served)]
            for path, environment in runs:
                done = nnhal("run", model, "--device", "nnhal-cpu", "--input", given, "--output",
                             out, "--path", path, environment=environment)
                expect(done.returncode == 0, done.stderr)
                seen.add(out.read_bytes())
            expect(len(seen) == 1, f"{model}: {len(seen)} different results")


def input_bytes(model):
    """How many bytes the model's input needs, from the complaint about none."""
    done = nnhal("run", model, "--input", os.devnull)
    return int(done.stderr.split(" needs ")[1].split()[0])


def the_second_run_comes_from_the_cache():
    model, picture = GLYPHS / "glyphs-int8.tflite", GLYPHS / "pictures" / "01-A.png"
    for mode in WAYS:
        with tempfile.TemporaryDirectory() as folder, way(mode) as environment:
            cache = Path(folder) / "made when it is missing"
            results = []
            for wanted in "compiled", "hit", "hit":
                done = nnhal("run", model, "--device", "nnhal-cpu", "--cache", cache, "--image",
                             picture, "--json", environment=environment)
                expect(done.returncode == 0, done.stderr)
                said = json.loads(done.stdout)
                expect(said["cache"] == wanted and said["cache_why"], f"{mode}: {said}")
                results.append(said["results"][0]["outputs"])
            expect(results[0] == results[1] == results[2], f"{mode}: {results}")
            done = nnhal("run", model, "--device", "nnhal-cpu", "--cache", cache, "--image",
                         picture, environment=environment)
            expect("\ncache: hit: " in done.stdout, done.stdout)
    done = nnhal("run", model, "--cache", model, "--image", picture)
    expect(done.returncode == 0 and "cache: uncached: " in done.stdout, done.stdout)
    done = nnhal("run", model, "--cache", "/nowhere/at/all", "--image", picture)
    expect(done.returncode == 1 and "/nowhere/at/all" in done.stderr, done.stderr)


def alternate(name, files, is_over):
    """Gives name to each of the files in turn."""
    link = name.with_suffix(".new")
    while not is_over.is_set():
        for file in files:
            link.symlink_to(file)
            link.replace(name)


def run_to_bytes(model, folder, *options):
    picture = min((GLYPHS / "pictures").glob("*.png"))
    done = nnhal("run", model, "--device", "nnhal-cpu", "--image", picture, "--output",
                 folder / "output", *options)
    expect(done.returncode == 0, done.stderr)
    return (folder / "output").read_bytes()


def a_model_that_is_replaced_is_kept_as_what_it_was():
    """Two models with one name between them, in 48 runs: none is kept as the other one."""
    one = (GLYPHS / "glyphs-int8.tflite").read_bytes()
    third = len(one) // 3  # weights
    other = one[:third] + bytes(x ^ 21 for x in one[third:third + 2000]) + one[third + 2000:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [folder / "one.tflite", folder / "other.tflite"]
        for file, content in zip(files, (one, other)):
            file.write_bytes(content)
        wanted = [run_to_bytes(file, folder) for file in files]
        expect(wanted[0] != wanted[1], "the models are alike")
        both = folder / "model.tflite"
        both.symlink_to(files[0])
        for attempt in range(12):
            is_over = threading.Event()
            thread = threading.Thread(target=alternate, args=(both, files, is_over))
            thread.start()
            try:
                for _ in range(4):
                    run_to_bytes(both, folder, "--cache", folder / f"cache{attempt}")
            finally:
                is_over.set()
                thread.join()
            got = [run_to_bytes(file, folder, "--cache", folder / f"cache{attempt}")
                   for file in files]
            expect(got == wanted, f"attempt {attempt}: a model came from the cache as the other")


def cache_shows_checks_and_clears_a_folder():
    picture = next(iter(sorted((GLYPHS / "pictures").glob("*.png"))))
    with tempfile.TemporaryDirectory() as folder:
        run = ("run", GLYPHS / "glyphs-int8.tflite", "--device", "nnhal-cpu", "--cache", folder,
               "--image", picture)
        expect(json.loads(nnhal("cache", "list", folder, "--json").stdout) == [], "not empty")
        for outcome in "compiled", "hit":
            expect(nnhal(*run).returncode == 0, "it did not run")
            entries = json.loads(nnhal("cache", "list", folder, "--json").stdout)
            expect(len(entries) == 1 and entries[0]["state"] == "whole" and
                   entries[0]["outcome"] == outcome and entries[0]["device"] == "nnhal-cpu" and
                   entries[0]["why"] and entries[0]["files"] == 2, entries)
        done = nnhal("cache", "verify", folder)
        expect(done.returncode == 0 and " whole " in done.stdout and "hit: " in done.stdout, done)
        with open(next(Path(folder).glob("*-d0")), "r+b") as file:
            file.seek(100)
            byte = file.read(1)
            file.seek(100)
            file.write(bytes([byte[0] ^ 1]))
        done = nnhal("cache", "verify", folder)
        expect(done.returncode == 1 and " damaged " in done.stdout and "removed" in done.stderr,
               done)
        expect(" gone " in nnhal("cache", "list", folder).stdout, "the note has gone too")
        expect(nnhal(*run).returncode == 0, "it did not run")
        stats = json.loads(nnhal("cache", "stats", folder, "--json").stdout)
        expect(stats["kind"] == "folder" and stats["entries"] == 1 and stats["bytes"] > 1000 and
               stats["last_compiled"] == 1, stats)
        expect(nnhal("cache", "clear", folder).returncode == 0, "not cleared")
        expect(json.loads(nnhal("cache", "list", folder, "--json").stdout) == [], "not cleared")
    done = nnhal("cache", "list", "/nowhere/at/all")
    expect(done.returncode == 1 and "/nowhere/at/all" in done.stderr, done)
    expect(nnhal("cache", "forget", "/tmp").returncode == 2, "forgets")
    expect(nnhal("cache", "list").returncode == 2, "no folder is no folder")


def wrong_usage_is_told():
    model = GLYPHS / "glyphs-int8.tflite"
    picture = GLYPHS / "pictures" / "00-7.png"
    for status, says, *arguments in (
            (2, "usage"), (2, "no command", "fly"), (2, "it wants MODEL.tflite", "run"),
            (2, "has 1 input, and 2 were given", "run", model, "--input", picture, "--input", picture), (2, "--mode is", "run", model, "--mode", "x"),
            (2, "--path is", "bench", model, "--path", "x"), (2, "whole number", "bench",
                                                              model, "--runs", "many"),
            (2, "from 1 to 1000000,", "run", model, "--repeat", "1.5"),
            (2, "nnhal run: there is no option --fly", "run", model, "--fly"),
            (2, "nnhal run: --i begins more than one option", "run", model, "--i=x"),
            (2, "nnhal run: there is no option --ix", "run", model, "--ix"),
            (2, "no option -z", "run", model, "-z"), (2, "--top wants K", "run", model, "--top"),
            (2, "--top wants K", "run", model, "-k"),
            (2, "--json takes no argument", "run", model, "--json=2"),
            (2, "\"b\" is too much", "info", model, "b"),
            (2, "there is no \"forget\"", "cache", "forget", "/tmp"),
            (2, "--plot", "bench", model, "--cache", "--plot", "times.svg"),
            (2, "--profile", "bench", model, "--cache", "--profile"),
            (4, "no steps", "bench", model, "--mode", "private", "--device", "nnhal-cpu", "--profile"),
            (1, "cannot be read", "run", model, "--input", "/"),
            (1, "labels", "run", model, "--labels", "/", "--image", picture),
            (1, "No such file", "run", "/nonexistent.tflite"),
            (1, "identifier", "run", picture, "--image", picture),
            (1, "not a picture", "run", model, "--image", model),
            (1, "needs 1024 bytes", "run", model, "--input", picture),
            (1, "labels", "run", model, "--labels", "/nonexistent", "--image", picture),
            (3, "no device", "run", model, "--device", "x", "--image", picture)):
        done = nnhal(*arguments)
        expect(done.returncode == status and says in done.stderr,
               f"{arguments}: {done.returncode}, {done.stderr!r}")


def output_that_is_lost_is_told():
    with open("/dev/full", "w") as full:
        done = subprocess.run([NNHAL, "devices", "--mode", "embedded"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=300)
    expect(done.returncode == 1 and "cannot be written" in done.stderr, done)


def a_missing_host_is_told():
    done = nnhal("devices", "--mode", "private",
                 environment=dict(os.environ, NNHAL_HOST="/nowhere", NNHAL_LOG="warning"))
    expect(done.returncode == 0 and "cpu: there is no nnhal-host to run it" in done.stderr, done)


def serve_listens_where_socket_says():
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "elsewhere.sock"
        serving = subprocess.Popen([NNHAL, "serve", "cpu", "--socket", socket],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + service.STARTS_WITHIN_S
            while not socket.exists():
                expect(serving.poll() is None and time.monotonic() < until, "it does not listen")
                time.sleep(0.02)
            done = nnhal("devices", "--mode", "service", "--json",
                         environment=dict(os.environ, NNHAL_SOCKET_PATH=folder))
            device = json.loads(done.stdout)[0]
            expect(device["name"] == "nnhal-cpu" and device["mode"] == "service" and
                   device["path"] == str(socket), done.stdout)
        finally:
            serving.terminate()
            serving.wait()


def help_is_given():
    for command in ("devices", "info", "run", "bench", "cache", "serve"):
        done = nnhal(command, "--help")
        expect(done.returncode == 0 and done.stdout.startswith(f"usage: nnhal {command} "), command)
        expect(nnhal(command, "-h").stdout == done.stdout, "-h")
        expect(max(map(len, done.stdout.splitlines())) < 80, f"{command}: a line wraps")
        table = (ROOT / "src" / "tools" / "options" / f"{command}.def").read_text()
        for name in re.findall(r'^(?:OPTION|WORD)\("([^"]+)"', table, re.M):
            expect(re.search(f"^ +(?:-., )?(?:--)?{name}\\b", done.stdout, re.M), f"{command}: no {name}")
    expect(nnhal("--version").stdout.startswith("nnhal 0."), "--version")


def promises_of_the_environment_are_kept():
    model = GLYPHS / "glyphs-int8.tflite"
    for name, value in (("NNHAL_MODE", "servise"), ("NNHAL_LOG", "loud"), ("NNHAL_CPU_ISA", "mmx"),
                        ("NNHAL_DRIVER_PATH", "drivers"), ("NNHAL_FALLBACK", "no")):
        done = nnhal("bench", model, "--runs", 1, environment=dict(os.environ, **{name: value}))
        expect(done.returncode == 2 and f"{name}={value}" in done.stderr, done.stderr)
    for mode in "service", "private", "embedded":
        alone = dict(os.environ, NNHAL_MODE=mode, NNHAL_DRIVER_PATH="/nonexistent",
                     NNHAL_SOCKET_PATH="/nonexistent")
        done = nnhal("bench", model, "--runs", 1, environment=alone)
        expect(done.returncode == 4 and f"NNHAL_MODE={mode}" in done.stderr, done.stderr)
        done = nnhal("bench", model, "--runs", 1, "--device", "nnapi-reference", environment=alone)
        expect(done.returncode == 0, done.stderr)


# What the devices do, what is said then, and who computes the parts; the last operation is SOFTMAX.
SHARES = (
    ("*:not=SOFTMAX", "part 2 on nnapi-reference, because no driver takes operation 10",
     ["partial-0", "nnapi-reference"]),
    ("0:not=SOFTMAX;1:only=SOFTMAX,fail=execute",
     "part 2 on nnapi-reference, because partial-1 failed: ", ["partial-0", "nnapi-reference"]),
    ("0:not=SUB,fail=execute;1:only=SUB",
     "part 1 on partial-1; part 2 on nnapi-reference, because partial-0 failed: ",
     ["partial-1", "nnapi-reference"]),
    ("*:fail=execute", "nnapi-reference computed the model", ["nnapi-reference"]),
    ("0:not=SOFTMAX;1:only=SOFTMAX", None, ["partial-0", "partial-1"]))


def a_part_of_the_reference_breaks_the_promise():
    model = GLYPHS / "glyphs-float.tflite"
    for mode in WAYS:
        for rules, complaint, _ in SHARES:
            with service.partial(NNHAL.parent, mode, rules) as environment:
                for command in ("run", model), ("bench", model, "--runs", 1):
                    done = nnhal(*command, environment=environment)
                    if complaint:
                        expect(done.returncode == 4 and complaint in done.stderr and
                               f"NNHAL_MODE={mode} " in done.stderr, done)
                    else:
                        expect(done.returncode == 0 and not done.stderr, done)
                        for line in ("in 2 parts", f"part 1: 10 operations on partial-0, {mode}, ",
                                     f"part 2: 1 operation on partial-1, {mode}, "):
                            expect(line in done.stdout, done.stdout)


def every_part_is_told():
    model = GLYPHS / "glyphs-float.tflite"
    for rules, complaint, devices in SHARES:
        with service.partial(NNHAL.parent, "embedded", rules) as environment:
            environment["NNHAL_MODE"] = "auto"
            said = nnhal("run", model, environment=environment).stdout
            json_said = json.loads(nnhal("run", model, "--json", environment=environment).stdout)
            bench_said = json.loads(nnhal("bench", model, "--runs", 1, "--json",
                                          environment=environment).stdout)
        because = complaint and complaint.partition("because ")[2]
        expect(not because or f"because {because}" in said, said)
        for told in json_said, bench_said:
            parts = told.get("parts", [told])
            expect([part["device"] for part in parts] == devices, told)
            expect(len(parts) == 1 or sum(part["operations"] for part in parts) == 11, told)
            expect(("failure" in told) == ("fail=" in rules), told)
            expect([("failure" in part or "why" in part) for part in parts] ==
                   [name == "nnapi-reference" for name in devices], told)


def measured_figures_are_kept():
    with tempfile.TemporaryDirectory() as folder:
        alone = dict(os.environ, NNHAL_STATE_PATH=folder, NNHAL_MODE="embedded")
        expect("figures" not in nnhal("devices", "--json", environment=alone).stdout, "measured")
        done = nnhal("devices", "--calibrate", environment=alone)
        expect(done.returncode == 0 and "conv-float32" in done.stdout, done)
        kept = {d["name"]: d["figures"] for d in
                json.loads(nnhal("devices", "--json", environment=alone).stdout)}
        expect(kept["nnhal-cpu"]["launch"] > 0 and kept["nnhal-cpu"]["conv-float32"] > 0, kept)
        # What is there stays as it is; what lacks is measured.
        files = {path: path.read_bytes() for path in (Path(folder) / "figures").iterdir()}
        lost = next(path for path, text in files.items() if b"nnhal-cpu" in text)
        lost.unlink()
        done = nnhal("devices", "--calibrate-missing", environment=alone)
        expect(done.returncode == 0 and lost.exists(), done)
        expect(all(path.read_bytes() == text for path, text in files.items() if path != lost), files)
        alone["NNHAL_STATE_PATH"] = "/proc/none"
        done = nnhal("devices", "--calibrate", environment=alone)
        expect(done.returncode == 4 and "NNHAL_STATE_PATH" in done.stderr, done)


def what_is_left_out_is_named():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder) / "\x1b[31m"
        folder.mkdir()
        drivers = Path(os.environ.get("NNHAL_DRIVER_PATH") or NNHAL.parent / "nnhal-drivers")
        cpu = drivers / "libnnhal-driver-cpu.so"
        (folder / "libnnhal-driver-broken.so").write_text("no library")
        for name in ("cpu", "twin"):
            (folder / f"libnnhal-driver-{name}.so").symlink_to(cpu.resolve())
        environment = dict(os.environ, NNHAL_DRIVER_PATH=str(folder), NNHAL_MODE="auto")
        said = nnhal("devices", "--all", environment=environment).stdout
        expect("libnnhal-driver-broken.so is left out: " in said, said)
        expect("is left out: " in said and "has that name" in said, said)
        expect("\x1b" not in said, "a name reaches the terminal as it is")
        listed = json.loads(nnhal("devices", "--all", "--json", environment=environment).stdout)
        expect(sum("left_out" in entry for entry in listed) == 2, listed)
        expect("left out" not in nnhal("devices", environment=environment).stdout, "it was not asked")


def devices_and_bench_speak_json():
    devices = json.loads(nnhal("devices", "--json").stdout)
    expect("nnhal-cpu" in [d["name"] for d in devices], devices)
    expect(devices[-1]["name"] == "nnapi-reference", devices)
    done = nnhal("bench", GLYPHS / "glyphs-int8.tflite", "--runs", 5, "--json")
    result = json.loads(done.stdout)
    expect(0 < result["median_ms"] <= result["p90_ms"] <= result["p99_ms"], result)
    expect(result["copied_bytes_per_run"] == 0, result)
    expect(result["device"] == "nnhal-cpu" and result["mode"] == "embedded" and result["pid"] > 0, result)
    expect("raw_futex_median_us" not in result, result)
    expect(0 < result["min_ms"] <= result["median_ms"] and result["first_ms"] > 0, result)
    expect(result["start_ms"] >= result["load_ms"] + result["prepare_ms"] + result["first_ms"], result)
    expect(result["argument_bytes"] > 0, result)
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.bin"
        for n_bytes, code in (32 * 32, 0), (32 * 32 + 1, 1), (32 * 32 - 1, 1):
            inputs.write_bytes(bytes(n_bytes))
            done = nnhal("bench", GLYPHS / "glyphs-int8.tflite", "--runs", 2, "--inputs", inputs)
            expect(done.returncode == code, done.stderr)
            expect(code == 0 or "as many bytes as the inputs" in done.stderr, done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "times.svg"
        done = nnhal("bench", GLYPHS / "glyphs-int8.tflite", "--runs", 20, "--json", "--path",
                     "burst", "--plot", picture)
        result = json.loads(done.stdout)
        for name in "raw_spinning_median_us", "raw_spinning_p99_us", "raw_futex_median_us":
            expect(result[name] > 0, result)
        drawn = ElementTree.parse(picture).getroot()
        expect(len(drawn.findall("{*}polyline")) == 3, picture.read_text())
        done = nnhal("bench", GLYPHS / "glyphs-int8.tflite", "--runs", 5, "--plot",
                     Path(folder) / "nowhere" / "times.svg")
        expect(done.returncode == 1 and "times.svg" in done.stderr, done.stderr)
    result = json.loads(nnhal("bench", GLYPHS / "glyphs-int8.tflite", "--device", "nnhal-cpu",
                              "--cache", "--json").stdout)
    expect(result["why_not"] == "" and result["bytes"] > 10000, result)
    for name in "compile_first", "compile", "keep", "from_cache_first", "from_cache", "read":
        expect(result[name + "_ms"] > 0, result)
    done = nnhal("bench", GLYPHS / "glyphs-int8.tflite", "--cache",
                 environment=dict(os.environ, TMPDIR="/nowhere"))
    expect(done.returncode == 1 and "set TMPDIR" in done.stderr, done.stderr)


def bench_profiles_steps():
    options = ("--mode", "embedded", "--device", "nnhal-cpu", "--threads", 1, "--runs", 20, "--profile")
    profile = json.loads(nnhal("bench", GLYPHS / "glyphs-int8.tflite", *options, "--json").stdout)
    convolutions = [s for s in profile["steps"] if s["operation"] == "CONV_2D"]
    expect(len(convolutions) >= 3, profile)
    expect(all(s["products"] > 1000 and s["gops"] > 0 and s["us"] > 0 for s in convolutions), profile)
    expect(all(s["percent_of_peak"] > 0 for s in convolutions), profile)
    expect(profile["steps_us"] > 0 and profile["run_us"] > 0, profile)
    # A loop that spills its sums measures fewer products of 8 bits than of floats, and steps above 100 %.
    expect(profile["peak_int8_gops"] > 0.9 * profile["peak_float_gops"] > 0, profile)
    table = nnhal("bench", GLYPHS / "glyphs-float.tflite", *options).stdout
    expect("conv_2d_f32" in table and "GOP/s of floats" in table, table)


TESTS = [glyphs_are_read, text_says_label_time_and_device, the_cat_is_a_cat,
         every_classifier_is_right_or_says_what_it_assumes, only_probabilities_are_per_cent,
         a_model_says_how_it_wants_its_picture, info_tells_what_is_in_a_model,
         many_values_are_told_on_demand, detections_are_in_the_json,
         arrays_go_in_and_come_out, a_model_runs_without_inputs, sounds_are_classified,
         same_inputs_give_same_bytes,
         the_second_run_comes_from_the_cache,
         a_model_that_is_replaced_is_kept_as_what_it_was, cache_shows_checks_and_clears_a_folder,
         wrong_usage_is_told,
         output_that_is_lost_is_told, a_missing_host_is_told, serve_listens_where_socket_says, help_is_given,
         promises_of_the_environment_are_kept, a_part_of_the_reference_breaks_the_promise,
         every_part_is_told, measured_figures_are_kept,
         what_is_left_out_is_named, devices_and_bench_speak_json, bench_profiles_steps]


def main():
    global NNHAL
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nnhal", required=True, type=Path)
    parser.add_argument("name", nargs="*")
    options = parser.parse_args()
    NNHAL = options.nnhal.resolve()
    n_failed = 0
    for test in TESTS:
        if options.name and test.__name__ not in options.name:
            continue
        try:
            test()
        except AssertionError as error:
            print(f"{test.__name__}: {error}")
            n_failed += 1
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
