#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package as a program uses it: results, copies, errors, threads, lifetimes.

    test-package.py --way embedded|private|service [NAME...]

Without numpy it is skipped, and says so.
"""

import argparse
import copy
import gc
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path

ROOT = Path(os.environ["NNHAL_SOURCE_ROOT"])
BUILD = Path(os.environ["NNHAL_BUILD_ROOT"])
GLYPHS = ROOT / "models" / "glyphs"
MADE = BUILD / "tests" / "tflite"
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "support")]
try:
    import numpy
except ImportError:
    print("SKIPPED: this Python has no numpy: install python3-numpy")
    sys.exit(77)
import service  # noqa: E402

WAY = None
nnhal = None  # imported when the environment is set


def glyphs(kind="int8", **options):
    return nnhal.load(GLYPHS / f"glyphs-{kind}.tflite").compile("cpu", **options)


def noise(tensor, seed=1):
    numbers = numpy.random.default_rng(seed).uniform(0, 1, tensor.shape)
    return tensor.quantize(numbers)


def resident_pages():
    return int(Path("/proc/self/statm").read_text().split()[1])


class Package(unittest.TestCase):
    def test_has_the_version_of_the_tree(self):
        project = (ROOT / "meson.build").read_text()
        self.assertIn(f"version: '{nnhal.__version__}',", project)


class Devices(unittest.TestCase):
    def test_are_listed(self):
        cpu = next(d for d in nnhal.devices() if d.name == "nnhal-cpu")
        self.assertEqual((cpu.type, cpu.way), ("cpu", WAY))
        self.assertGreaterEqual(cpu.feature_level, 31)
        if WAY == "embedded":
            self.assertEqual(cpu.pid, os.getpid())
        else:
            self.assertNotIn(cpu.pid, (0, os.getpid()))

    def test_count_what_they_compute(self):
        compilation = glyphs()
        before = compilation.device.counts["computed"]
        compilation.run(noise(compilation.inputs[0]))
        self.assertEqual(compilation.device.counts["computed"], before + 1)

    def test_that_are_not_there_are_named(self):
        with self.assertRaisesRegex(ValueError, "no device 'gpu'; there are: .*nnhal-cpu"):
            nnhal.load(GLYPHS / "glyphs-int8.tflite").compile("gpu")

    def test_are_not_chosen_from_an_empty_list(self):
        model = nnhal.load(GLYPHS / "glyphs-int8.tflite")
        with self.assertRaisesRegex(ValueError, "list of devices is empty"):
            model.compile([])
        with self.assertRaisesRegex(TypeError, "not 3"):
            model.compile(3)


class Files(unittest.TestCase):
    def test_that_are_not_there(self):
        with self.assertRaises(FileNotFoundError) as caught:
            nnhal.load("/nowhere/model.tflite")
        self.assertEqual(caught.exception.filename, "/nowhere/model.tflite")

    def test_that_are_damaged(self):
        with self.assertRaisesRegex(ValueError, "bad-size.tflite: .+"):
            nnhal.load(MADE / "bad-size.tflite")

    def test_with_unknown_operations(self):
        with self.assertRaisesRegex(NotImplementedError, "unmapped.tflite: .+"):
            nnhal.load(MADE / "unmapped.tflite")

    def test_with_integers_of_64_bits(self):
        model = nnhal.load(MADE / "extension.tflite")
        least = model.outputs[3]
        self.assertEqual((least.name, least.dtype, least.shape), ("least", numpy.int64, (2, 4)))
        reals = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4) % 5
        found = model.compile().run(reals, numpy.ones((2, 3), numpy.int32))[3]
        self.assertEqual(found.dtype, numpy.int64)
        self.assertEqual(found.tolist(), reals.argmin(1).tolist())

    def test_tell_their_tensors(self):
        model = nnhal.load(GLYPHS / "glyphs-int8.tflite")
        (picture,), (probabilities,) = model.inputs, model.outputs
        self.assertEqual((picture.name, picture.dtype, picture.shape),
                         ("picture", numpy.int8, (1, 32, 32, 1)))
        self.assertEqual(probabilities.shape, (1, 46))
        self.assertEqual(picture.quantize([0, 1, 2, -1]).tolist(), [-128, 127, 127, -128])
        self.assertEqual(picture.dequantize(numpy.int8([-128])).tolist(), [0])
        with self.assertRaisesRegex(ValueError, "NaN"):
            picture.quantize(float("nan"))
        with self.assertRaisesRegex(TypeError, "int8, not uint8"):
            picture.dequantize(numpy.uint8([200]))


class Runs(unittest.TestCase):
    def test_equal_those_of_the_program(self):
        for kind in ("float", "int8"):
            compilation = glyphs(kind)
            given = noise(compilation.inputs[0])
            with tempfile.TemporaryDirectory() as folder:
                given.tofile(f"{folder}/in")
                subprocess.run([BUILD / "nnhal", "run", GLYPHS / f"glyphs-{kind}.tflite",
                                "--device", "nnhal-cpu", "--input", f"{folder}/in",
                                "--output", f"{folder}/out"], check=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                wanted = Path(f"{folder}/out").read_bytes()
            for inputs in ((given,), ({"picture": given},), (numpy.asfortranarray(given),)):
                found, = compilation.run(*inputs)
                self.assertEqual(found.shape, (1, 46))
                self.assertEqual(found.tobytes(), wanted)

    def test_refuse_what_does_not_fit(self):
        compilation = glyphs()
        given = noise(compilation.inputs[0])
        with self.assertRaisesRegex(TypeError, "'picture' is int8, not float64: quantize"):
            compilation.run(given.astype(float))
        with self.assertRaisesRegex(ValueError, r"has the shape \(1, 32, 32, 1\), not \(32, 32\)"):
            compilation.run(given.reshape(32, 32))
        with self.assertRaisesRegex(ValueError, "has 1 inputs, not 2"):
            compilation.run(given, given)
        with self.assertRaisesRegex(ValueError, "no input 'image'; it has: 'picture'"):
            compilation.run({"image": given})
        with self.assertRaisesRegex(ValueError, "'picture' is missing"):
            compilation.run({})

    def test_fail_with_errors_that_other_processes_can_read(self):
        with self.assertRaises(nnhal.Error) as caught:
            glyphs(timeout=60).run(numpy.int8([1]).repeat(1024).reshape(1, 32, 32, 1), timeout=0)
        read = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(read), read.code, read.name),
                         (str(caught.exception), caught.exception.code, caught.exception.name))

    def test_need_their_compilation_and_no_copy_of_it(self):
        compilation = glyphs()
        given = noise(compilation.inputs[0])
        wanted, = compilation.run(given)
        other = copy.copy(compilation)
        del compilation
        gc.collect()
        numpy.testing.assert_array_equal(other.run(given)[0], wanted)

    def test_may_go_on_when_the_program_ends(self):
        program = textwrap.dedent("""
            import sys, threading, time, nnhal
            compilation = nnhal.load(sys.argv[1]).compile("cpu")
            x = compilation.inputs[0].quantize(0.5).repeat(1024).reshape(1, 32, 32, 1)
            def work():
                while True:
                    compilation.run(x)
            for _ in range(3):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.1)
            """)
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", program, GLYPHS / "glyphs-int8.tflite"],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_find_shapes_out(self):
        compilation = nnhal.load(MADE / "open-shapes.tflite").compile("cpu")
        for n in (1, 3, 30000):  # the last one needs more than the first guess
            x = numpy.arange(4 * n, dtype=numpy.float32).reshape(n, 4)
            z, = compilation.run(x, numpy.ones(4, numpy.float32))
            numpy.testing.assert_array_equal(z, x + 1)
        with self.assertRaisesRegex(ValueError, "'x' is known only after a run"):
            compilation.stream()

    def test_end_by_their_deadline(self):
        model = nnhal.load(GLYPHS / "glyphs-int8.tflite")
        with self.assertRaises(nnhal.Error) as caught:
            model.compile(timeout=1)
        self.assertEqual(caught.exception.name, "BAD_DATA")
        self.assertIn("one listed device", str(caught.exception))
        compilation = glyphs()
        self.assertEqual(len(compilation.run(noise(compilation.inputs[0]), timeout=60)), 1)
        with self.assertRaises(nnhal.Error) as caught:
            compilation.run(noise(compilation.inputs[0]), timeout=0)
        self.assertIn("MISSED_DEADLINE", caught.exception.name)

    def test_share_a_compilation(self):
        compilation = glyphs()
        givens = [noise(compilation.inputs[0], seed) for seed in range(8)]
        wanted = [compilation.run(given)[0] for given in givens]
        wrong = []

        def work(given, right):
            for _ in range(20):
                if not numpy.array_equal(compilation.run(given)[0], right):
                    wrong.append(given)

        threads = [threading.Thread(target=work, args=pair) for pair in zip(givens, wanted)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_leave_nothing(self):
        compilation = glyphs()
        given = noise(compilation.inputs[0])

        def work():
            for _ in range(500):
                compilation.run(given)
            for _ in range(20):
                glyphs().stream().run()
            gc.collect()

        work()
        n_fds = len(os.listdir("/proc/self/fd"))
        grown = []
        for _ in range(3):
            before = resident_pages()
            work()
            grown.append(resident_pages() - before)
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), n_fds + 1)
        self.assertLess(min(grown), 64, grown)

    def test_survive_their_driver(self):
        if WAY != "private":
            self.skipTest("only a private driver is this program's to kill")
        compilation = glyphs()
        given = noise(compilation.inputs[0])
        wanted, = compilation.run(given)
        with compilation.stream() as stream:
            stream.run(given)
            self.assertGreater(compilation.device.pid, 1)
            os.kill(compilation.device.pid, signal.SIGKILL)
            numpy.testing.assert_array_equal(stream.run(given)[0], wanted)
            numpy.testing.assert_array_equal(compilation.run(given)[0], wanted)


class Plans(unittest.TestCase):
    def test_name_devices_and_operations(self):
        plan = glyphs().plan
        self.assertEqual([part.device.name for part in plan.parts], ["nnhal-cpu"])
        self.assertEqual(plan.parts[0].operations, tuple(range(len(plan.parts[0].operations))))
        self.assertGreater(plan.expected, 0)


class Caches(unittest.TestCase):
    def test_are_hit_the_second_time(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "cache"
            first = glyphs(cache=cache)
            self.assertEqual(first.cache.outcome, "compiled", first.cache.why)
            until = time.monotonic() + 40
            second = glyphs(cache=cache)
            while second.cache.outcome != "hit" and time.monotonic() < until:
                time.sleep(0.1)  # it is kept in the background
                second = glyphs(cache=cache)
            self.assertEqual(second.cache.outcome, "hit", second.cache.why)
            given = noise(first.inputs[0])
            numpy.testing.assert_array_equal(first.run(given)[0], second.run(given)[0])
        self.assertEqual(glyphs().cache, ("none", ""))

    def test_are_not_for_a_file_that_took_the_place_of_the_one_that_was_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = shutil.copy(GLYPHS / "glyphs-int8.tflite", folder)
            model = nnhal.load(path)
            os.replace(shutil.copy(GLYPHS / "glyphs-float.tflite", Path(folder) / "new"), path)
            with self.assertRaisesRegex(OSError, "changed after it was loaded"):
                model.compile("cpu", cache=Path(folder) / "cache")
            self.assertEqual(model.compile("cpu").inputs[0].dtype, numpy.int8)


class Streams(unittest.TestCase):
    def test_copy_nothing(self):
        compilation = glyphs()
        with compilation.stream() as stream:
            stream.inputs[0][...] = noise(compilation.inputs[0])
            stream.run()
            copied = nnhal.copied_bytes()
            for seed in range(5):
                given = noise(compilation.inputs[0], seed)
                stream.inputs[0][...] = given
                stream.run()
                found = stream.outputs[0].copy()
                self.assertEqual(nnhal.copied_bytes(), copied)
                numpy.testing.assert_array_equal(found, compilation.run(given)[0])
                if WAY != "embedded":
                    self.assertGreater(nnhal.copied_bytes(), copied)
                copied = nnhal.copied_bytes()

    def test_take_checked_inputs(self):
        compilation = glyphs()
        given = noise(compilation.inputs[0])
        with compilation.stream(timeout=60) as stream:
            for _ in range(3):
                numpy.testing.assert_array_equal(stream.run(given)[0], compilation.run(given)[0])
            with self.assertRaisesRegex(TypeError, "quantize"):
                stream.run(given.astype(float))

    def test_that_are_closed_say_so(self):
        stream = glyphs().stream()
        stream.close()
        stream.close()
        stream.outputs[0].sum()  # arrays stay
        with self.assertRaisesRegex(ValueError, "closed"):
            stream.run()

    def test_outlive_their_compilation(self):
        compilation = glyphs()
        given = noise(compilation.inputs[0])
        wanted, = compilation.run(given)
        stream = compilation.stream()
        del compilation
        gc.collect()
        stream.inputs[0][...] = given
        stream.run()
        numpy.testing.assert_array_equal(stream.outputs[0], wanted)

    def test_are_timed(self):
        timings = glyphs().bench(seconds=0.05)
        self.assertGreater(timings.n, 0)
        self.assertTrue(0 < timings.min <= timings.median <= timings.p90 <= timings.p99)


class Readme(unittest.TestCase):
    def test_classifies_a_picture(self):
        try:
            import PIL  # noqa: F401
        except ImportError:
            print("SKIPPED: README's program needs PIL: install python3-pil")
            return
        text = (ROOT / "python" / "README.md").read_text()
        program = text.split("```python\n")[1].split("```")[0]
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"^A, by nnhal-cpu \({WAY}\)\n$")


def main():
    global WAY, nnhal
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--way", default="embedded")
    parser.add_argument("name", nargs="*")
    options = parser.parse_args()
    WAY = options.way
    with service.way(BUILD, WAY, "cpu") as environment:
        os.environ.update(environment)
        import nnhal as package
        nnhal = package
        program = unittest.main(argv=[sys.argv[0], *options.name], exit=False)
    sys.exit(0 if program.result.wasSuccessful() else 1)


main()
