#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of vectors is itself tested: what it must pass, fail, skip and refuse to read."""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import nnt_vectors as v

sys.path.insert(0, os.path.join(os.environ["NNHAL_SOURCE_ROOT"], "tests", "support"))
import service  # noqa: E402

NNT = Path(os.environ["NNHAL_BUILD_ROOT"]) / "nnt"


def add_model(expected=(11.0, 22.0, 33.0, 44.0), name="add", dims=(2, 2), flags=0,
              output_flags=v.EXPECTED):
    """x + y, y being a constant in memory."""
    return v.Model(name, [v.Graph([
        v.Operand(v.TENSOR_FLOAT32, v.INPUT, (2, 2), v.floats(1, 2, 3, 4)),
        v.Operand(v.TENSOR_FLOAT32, v.MEMORY, (2, 2), v.floats(10, 20, 30, 40)),
        v.Operand(v.INT32, v.COPY, (), v.ints(0)),
        v.Operand(v.TENSOR_FLOAT32, v.OUTPUT, dims, v.floats(*expected), output_flags),
    ], [(v.ADD, [0, 1, 2], [3])])], flags)


def quant_model(expected, name="quant", flags=0, tolerance=1):
    """Two unsigned quantized tensors of scale 1/2, zero point 10."""
    quant = {"scale": 0.5, "zero_point": 10}
    return v.Model(name, [v.Graph([
        v.Operand(v.TENSOR_QUANT8, v.INPUT, (3,), bytes([10, 20, 250]), **quant),
        v.Operand(v.TENSOR_QUANT8, v.COPY, (3,), bytes([12, 0, 250]), **quant),
        v.Operand(v.INT32, v.COPY, (), v.ints(0)),
        v.Operand(v.TENSOR_QUANT8, v.OUTPUT, (3,), bytes(expected), v.EXPECTED, **quant),
    ], [(v.ADD, [0, 1, 2], [3])])], flags, tolerance)


def branch_model(condition, expected):
    """IF condition THEN relu(x) ELSE x + x."""
    def branch(operation, *more):
        return v.Graph([v.Operand(v.TENSOR_FLOAT32, v.INPUT, (2,)), *more,
                        v.Operand(v.TENSOR_FLOAT32, v.OUTPUT, (2,))], [operation])

    main = v.Graph([
        v.Operand(v.TENSOR_BOOL8, v.INPUT, (1,), bytes([condition])),
        v.Operand(v.SUBGRAPH, v.REFERENCE, (), v.ints(0)),
        v.Operand(v.SUBGRAPH, v.REFERENCE, (), v.ints(1)),
        v.Operand(v.TENSOR_FLOAT32, v.INPUT, (2,), v.floats(-3, 4)),
        v.Operand(v.TENSOR_FLOAT32, v.OUTPUT, (2,), v.floats(*expected), v.EXPECTED),
    ], [(v.IF, [0, 1, 2, 3], [4])])
    return v.Model(f"if-{condition}", [
        main, branch((v.RELU, [0], [1])),
        branch((v.ADD, [0, 0, 1], [2]), v.Operand(v.INT32, v.COPY, (), v.ints(0)))],
        v.NO_DYNAMIC_OUTPUT)


def endless_model():
    """WHILE n < 1 DO n = relu(n), with n = 0, on floats."""
    scalar = (v.TENSOR_FLOAT32, (1,))
    condition = v.Graph([v.Operand(scalar[0], v.INPUT, scalar[1]),
                         v.Operand(scalar[0], v.COPY, scalar[1], v.floats(1)),
                         v.Operand(v.TENSOR_BOOL8, v.OUTPUT, (1,))], [(v.LESS, [0, 1], [2])])
    body = v.Graph([v.Operand(scalar[0], v.INPUT, scalar[1]),
                    v.Operand(scalar[0], v.OUTPUT, scalar[1])], [(v.RELU, [0], [1])])
    main = v.Graph([
        v.Operand(v.SUBGRAPH, v.REFERENCE, (), v.ints(0)),
        v.Operand(v.SUBGRAPH, v.REFERENCE, (), v.ints(1)),
        v.Operand(scalar[0], v.INPUT, scalar[1], v.floats(0)),
        v.Operand(scalar[0], v.OUTPUT, scalar[1], v.floats(0)),
    ], [(v.WHILE, [0, 1, 2], [3])])
    return v.Model("endless", [main, condition, body],
                   v.EXPECT_FAILURE | v.INFINITE_LOOP | v.NO_DYNAMIC_OUTPUT)


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, raw, name="made.nnt"):
        path = self.folder / name
        path.write_bytes(raw)
        return path

    def run_nnt(self, *args, mode="embedded"):
        done = subprocess.run([NNT, "--mode", mode, *args], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertGreaterEqual(done.returncode, 0, f"ended by a signal\n{done.stderr}")
        return done

    def expect(self, models, passed, failed, skipped, *args):
        """Runs models; the last line must have these counts. Returns the lines before it."""
        raw = models if isinstance(models, bytes) else v.pack(models)
        done = self.run_nnt(*args, self.write(raw))
        lines = done.stdout.splitlines()
        unsupported = ", 0 unsupported" if "--device" in args else ""
        self.assertEqual(lines[-1],
                         f"{passed} passed, {failed} failed, {skipped} skipped{unsupported}",
                         done.stdout + done.stderr)
        self.assertEqual(done.returncode, 1 if failed else 0)
        return lines[:-1]


class Results(Runner):
    def test_a_right_model_passes(self):
        for path in "sync", "async", "burst":
            self.expect([add_model()], 1, 0, 0, "--path", path)

    def test_executions_are_reused_and_beside_each_other(self):
        for path in "sync", "async", "burst", "blob":
            self.expect([add_model(), quant_model([12, 10, 255])], 2, 0, 0, "--path", path,
                        "--reuse", "5", "--threads", "4")
        self.expect([add_model((11, 22, 33.5, 44), "wrong")], 0, 1, 0, "--reuse", "5",
                    "--threads", "4")

    def test_what_a_named_device_cannot_do_is_no_failure(self):
        path = self.write(v.pack([add_model(), quant_model([12, 10, 255]),
                                  add_model((11, 22, 33.5, 44), "wrong")]))
        done = self.run_nnt("--device", "nnhal-sample", path)
        self.assertEqual(done.stdout.splitlines()[-1],
                         "1 passed, 1 failed, 0 skipped, 1 unsupported")
        self.assertEqual(done.returncode, 1)

    def test_one_wrong_expected_value_fails_and_is_named(self):
        lines = self.expect([add_model(), add_model((11, 22, 33.5, 44), "wrong")], 1, 1, 0)
        self.assertIn("wrong: output 0 (operand 3) element 2: got 33, expected 33.5, allowed",
                      lines[0])
        self.assertIn("made.nnt: 1 passed, 1 failed, 0 skipped", lines[1])

    def test_wrong_dimensions_fail(self):
        lines = self.expect([add_model(dims=(4,))], 0, 1, 0)
        self.assertRegex(lines[0], "add: .*")
        lines = self.expect([add_model(dims=(4,))], 0, 1, 0, "--variant", "dynamic-output")
        self.assertRegex(lines[0], "add: .*")

    def test_an_ignored_output_is_not_compared(self):
        self.expect([add_model((0, 0, 0, 0), output_flags=v.IGNORED)], 1, 0, 0)

    def test_codes_may_differ_by_what_the_model_allows(self):
        exact = [12, 10, 255]
        self.expect([quant_model(exact)], 1, 0, 0)
        self.expect([quant_model([13, 10, 255])], 1, 0, 0)
        self.expect([quant_model([14, 10, 255])], 0, 1, 0)
        self.expect([quant_model([14, 10, 255], tolerance=3)], 1, 0, 0)

    def test_relaxed_models_have_more_room(self):
        almost = (11.01, 22, 33, 44)
        self.expect([add_model(almost)], 0, 1, 0)
        self.expect([add_model(almost, flags=v.RELAXED)], 1, 0, 0)

    def test_omitted_operands_and_channel_scales(self):
        self.expect([v.Model("transposed", [v.Graph([
            v.Operand(v.TENSOR_FLOAT32, v.INPUT, (2, 2), v.floats(1, 2, 3, 4)),
            v.Operand(v.TENSOR_INT32, v.NO_VALUE, (2,)),
            v.Operand(v.TENSOR_FLOAT32, v.OUTPUT, (2, 2), v.floats(1, 3, 2, 4), v.EXPECTED),
        ], [(v.TRANSPOSE, [0, 1], [2])])]), v.Model("channels", [v.Graph([
            v.Operand(v.TENSOR_PER_CHANNEL, v.INPUT, (2, 2), bytes([1, 2, 3, 0xfc]),
                      channel_dim=0, scales=(0.5, 2.0)),
            v.Operand(v.TENSOR_FLOAT32, v.OUTPUT, (2, 2), v.floats(0.5, 1, 6, -8), v.EXPECTED),
        ], [(v.DEQUANTIZE, [0], [1])])])], 2, 0, 0)

    def test_subgraphs_are_built_first(self):
        self.expect([branch_model(1, (0, 4)), branch_model(0, (-6, 8))], 2, 0, 0)
        self.expect([branch_model(1, (-6, 8))], 0, 1, 0)

    def test_a_wrong_model_must_be_refused(self):
        wrong = add_model(flags=v.EXPECT_FAILURE, output_flags=0)
        wrong.graphs[0].operands[2] = v.Operand(v.FLOAT32, v.COPY, (), v.floats(0))
        self.expect([wrong], 1, 0, 0)
        right = add_model(flags=v.EXPECT_FAILURE, output_flags=0)
        lines = self.expect([right], 0, 1, 0)
        self.assertIn("no step failed", lines[0])

    def test_a_loop_without_end_is_stopped(self):
        self.expect([endless_model()], 1, 0, 0)


class Variants(Runner):
    def test_open_outputs(self):
        fixed = add_model(name="fixed", flags=v.NO_DYNAMIC_OUTPUT)
        self.expect([add_model(), fixed], 1, 0, 1, "--variant", "dynamic-output")

    def test_open_shapes(self):
        self.expect([add_model(), add_model(name="fixed", flags=v.NO_DYNAMIC_OUTPUT)], 1, 0, 1,
                    "--variant", "open-shapes")
        lines = self.expect([add_model((0, 22, 33, 44))], 0, 1, 0, "--variant", "open-shapes")
        self.assertIn("got 11, expected 0", lines[0])

    def test_signed_codes(self):
        models = [quant_model([12, 10, 255], "coupled", v.QUANT_COUPLING),
                  quant_model([12, 10, 255], "alone"), add_model()]
        self.expect(models, 1, 0, 2, "--variant", "signed")
        models[0] = quant_model([12, 10, 200], "coupled", v.QUANT_COUPLING)
        lines = self.expect(models, 0, 1, 2, "--variant", "signed")
        self.assertIn("got 127, expected 72", lines[0])

    def test_another_device_says_what_is_expected(self):
        wrong = add_model(expected=(11.0, 22.0, 33.0, 45.0))
        reference = ["--device", "nnapi-reference"]
        self.expect([wrong], 0, 1, 0, *reference)
        self.expect([wrong, branch_model(1, (0.0, 4.0))], 2, 0, 0, *reference,
                    "--against", "nnapi-reference")
        # What the named device does not do is counted apart there, too.
        done = self.run_nnt("--device", "nnhal-sample", "--against", "nnapi-reference",
                            self.write(v.pack([add_model(), quant_model([12, 10, 255])])))
        self.assertEqual(done.stdout.splitlines()[-1],
                         "1 passed, 0 failed, 0 skipped, 1 unsupported")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.run_nnt("--against", "none", self.write(v.pack([wrong]))).returncode, 2)

    def test_names_select(self):
        self.expect([add_model(), add_model(name="other")], 1, 0, 0, "--name", "oth")


    def test_a_name_that_no_model_has_is_no_success(self):
        done = self.run_nnt("--name", "nothing", self.write(v.pack([add_model()])))
        self.assertEqual(done.returncode, 2)
        self.assertIn('no model\'s name contains "nothing"', done.stderr)

    def test_the_reference_passes_for_no_driver_that_was_asked_for(self):
        path = self.write(v.pack([add_model()]))
        alone = dict(os.environ, NNHAL_DRIVER_PATH="/nonexistent", NNHAL_SOCKET_PATH="/nonexistent")
        for mode in "embedded", "private", "service":
            for device, passed in ((), 0), (("--device", "nnapi-reference"), 1):
                done = subprocess.run([NNT, "--mode", mode, *device, path], env=alone, timeout=120,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 1 - passed, done.stdout + done.stderr)
                self.assertIn(f"{passed} passed, {1 - passed} failed", done.stdout)

    def test_a_part_of_the_reference_passes_for_no_driver(self):
        path = self.write(v.pack([v.Model("two", [v.Graph([
            v.Operand(v.TENSOR_FLOAT32, v.INPUT, (2,), v.floats(-3, 4)),
            v.Operand(v.INT32, v.COPY, (), v.ints(0)),
            v.Operand(v.TENSOR_FLOAT32, v.INTERNAL, (2,)),
            v.Operand(v.TENSOR_FLOAT32, v.OUTPUT, (2,), v.floats(0, 8), v.EXPECTED),
        ], [(v.ADD, [0, 0, 1], [2]), (v.RELU, [2], [3])])])]))
        rows = (("0:only=ADD;1:only=RELU", 1, ""),
                ("0:only=ADD;1:only=RELU,fail=execute", 0, "because partial-1 failed: "),
                ("*:only=ADD", 0, "no driver takes operation 1"),
                ("*:fail=execute", 0, "nnapi-reference computed the model"))
        for mode in "embedded", "private", "service":
            for rules, passed, complaint in rows:
                with service.partial(NNT.parent, mode, rules) as environment:
                    done = subprocess.run([NNT, "--mode", mode, path], env=environment, timeout=120,
                                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                          check=False)
                self.assertEqual(done.returncode, 1 - passed, done.stdout + done.stderr)
                self.assertIn(f"{passed} passed, {1 - passed} failed", done.stdout)
                self.assertIn(complaint, done.stdout)


class Files(Runner):
    def fail_to_read(self, raw, sentence):
        lines = self.expect(raw, 0, 1, 0)
        self.assertIn(f"the file: {sentence}", lines[0])

    def test_every_truncation_fails(self):
        raw = v.pack([add_model()])
        for n_bytes in sorted({0, 7, 8, 39, 40, len(raw) // 2, len(raw) - 1}):
            self.expect(raw[:n_bytes], 0, 1, 0)
        self.fail_to_read(raw + b"\0", f"has {len(raw) + 1} bytes, its header says {len(raw)}")

    def test_a_wrong_checksum_fails(self):
        raw = bytearray(v.pack([add_model()]))
        raw[-1] ^= 1
        self.fail_to_read(bytes(raw), "is damaged: the checksum is wrong")

    def test_other_files_and_versions_fail(self):
        self.fail_to_read(b"x" * 100, "is not a file of vectors")
        raw = bytearray(v.pack([add_model()]))
        raw[8] = 2
        self.fail_to_read(bytes(raw), "has version 2, this program reads version 1")
        done = self.run_nnt(self.folder / "none.nnt")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the file: cannot be opened", done.stdout)

    def test_models_behind_a_broken_one_are_not_passed_over(self):
        raw = bytearray(v.pack([add_model(), add_model(name="second")]))
        size = int.from_bytes(raw[40:44], "little")
        raw[40 + size:44 + size] = (6).to_bytes(4, "little")
        lines = self.expect(v.seal(bytes(raw)), 1, 1, 0)
        self.assertIn("the file: model 1: its size is not well formed", lines[0])

    def test_damaged_contents_harm_nobody(self):
        good = v.pack([add_model(), branch_model(1, (0, 4)), quant_model([12, 10, 255])])
        chance = random.Random(7)
        paths = []
        for i in range(150):
            raw = bytearray(good)
            for _ in range(chance.randint(1, 3)):
                at = chance.randrange(8, len(raw) // 4) * 4
                raw[at:at + 4] = chance.choice([0, 1, 5, 255, 65536, 2**31, 2**32 - 1]).to_bytes(
                    4, "little")
            paths.append(self.write(v.seal(bytes(raw)), f"damaged-{i}.nnt"))
        done = self.run_nnt(*paths)
        self.assertRegex(done.stdout.splitlines()[-1], r"^\d+ passed, \d+ failed, 0 skipped$")


class CommandLine(Runner):
    def test_json(self):
        path = self.write(v.pack([add_model(), add_model((0, 0, 0, 0), 'a "name"')]))
        done = self.run_nnt("--json", path)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(lines[0]["model"], 'a "name"')
        self.assertIn("output 0", lines[0]["failed"])
        self.assertEqual(lines[1], {"file": str(path), "n_passed": 1, "n_failed": 1,
                                    "n_skipped": 0, "n_unsupported": 0})
        self.assertEqual(lines[2], {"n_passed": 1, "n_failed": 1, "n_skipped": 0,
                                    "n_unsupported": 0})

    def test_a_file_name_cannot_steer_the_terminal(self):
        path = self.write(v.pack([add_model((0, 0, 0, 0))]), "a\x1b[2J\x9b\u20ac\x7f.nnt")
        plain = f"{path.parent}/a?[2J??\u20ac?.nnt"
        done = self.run_nnt(path)
        self.assertIn(f"{plain}: add: output 0", done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertEqual(json.loads(self.run_nnt("--json", path).stdout.splitlines()[0])["file"], plain)

    def test_nor_can_the_name_of_a_model(self):
        done = self.run_nnt(self.write(v.pack([add_model((0, 0, 0, 0), "a\x1b[2J")])))
        self.assertIn(": a?[2J: output 0", done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_nor_can_the_sentence_of_a_driver(self):
        path = self.write(v.pack([add_model()]))
        for mode in "embedded", "private", "service":
            rules = "*:fail=execute,say=no\x1b[2J\u20ac"
            with service.partial(NNT.parent, mode, rules) as environment:
                done = subprocess.run([NNT, "--mode", mode, "--device", "partial-0", path],
                                      env=environment, timeout=120, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, check=False)
            self.assertIn("no?[2J\u20ac", done.stdout)
            self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_what_is_not_understood_is_refused(self):
        for args in (["--path", "never"], ["--variant", "x"], ["--mode", "y"], ["--none"], [],
                     ["--device", "none", "x.nnt"]):
            done = subprocess.run([NNT, *args], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 2, args)
            self.assertNotEqual(done.stderr, "")
        self.assertEqual(self.run_nnt("--help").returncode, 0)

    def test_what_is_no_number_is_refused(self):
        for option, text in (("--reuse", "0"), ("--reuse", "1001"), ("--threads", "four"),
                             ("--split", "2x"), ("--split", "1"), ("--split", "17"),
                             ("--split", "")):
            done = subprocess.run([NNT, option, text, "x.nnt"], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 2, (option, text))
            self.assertRegex(done.stderr, f'^nnt: {option} wants a whole number from [12] to [0-9]+, not "{text}"')


if __name__ == "__main__":
    unittest.main()
