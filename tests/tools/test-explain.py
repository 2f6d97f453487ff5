#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What nnhal explain says of models that devices share: as text, as JSON and as a graph.

    test-explain.py [NAME...]

The devices are drivers/partial's, which take what rules say; operation 10 of the model is SOFTMAX.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["NNHAL_SOURCE_ROOT"])
BUILD = Path(os.environ["NNHAL_BUILD_ROOT"])
sys.path.insert(0, str(ROOT / "tests" / "support"))
import service  # noqa: E402

MODEL = ROOT / "models" / "glyphs" / "glyphs-float.tflite"
INT8 = ROOT / "models" / "glyphs" / "glyphs-int8.tflite"
SHARED = "0:not=SOFTMAX;1:only=SOFTMAX"
N_OPERATIONS = 11
FIRST, LAST = list(range(N_OPERATIONS - 1)), [N_OPERATIONS - 1]


def run(environment, *arguments, command="explain"):
    return subprocess.run([BUILD / "nnhal", command, *map(str, arguments)], env=environment, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)


class Explain(unittest.TestCase):
    def explain(self, rules, *arguments, mode="embedded", status=0, **variables):
        """What is printed where partial-0 and partial-1 follow rules."""
        with service.partial(BUILD, mode, rules) as environment:
            done = run(dict(environment, **variables), *arguments)
        self.assertEqual(done.returncode, status, done)
        self.assertEqual(bool(done.stderr), status != 0, done)
        return done.stdout

    def told(self, rules, *arguments, **how):
        return json.loads(self.explain(rules, *arguments, "--json", **how))

    def verdicts(self, rules, model=MODEL, **how):
        """Of each device: what it said, of which operations, and why."""
        return {device["device"]: [(v["verdict"], v["operations"], v.get("why")) for v in device["verdicts"]]
                for device in self.told(rules, model, **how)["devices"]}

    # -- text ---------------------------------------------------------------------------------

    def test_parts_and_devices_are_printed(self):
        text = self.explain(SHARED, MODEL)
        for line in (r"^.*glyphs-float.tflite: 11 operations in 2 parts$",
                     r"^part 1, wave 1, on partial-0, embedded, pid \d+$",
                     r"^  10 operations \(0-9\): SUB, CONV_2D x3, MAX_POOL_2D x3, RESHAPE, FULLY_CONNECTED x2$",
                     r"^part 2, wave 2, on partial-1, embedded, pid \d+$", r"^  1 operation \(10\): SOFTMAX$",
                     r"^  expected +\d+\.\d{3} ms: compute .*, launch .*, move .* for 184 bytes$",
                     r"^partial-1, judged by what it declares$", r"^  takes 1 operation \(10\)$",
                     r"^  does not support 10 operations \(0-9\): SUB, CONV_2D x3,",
                     r"^  was not asked, for others take 11 operations \(0-10\)$"):
            self.assertRegex(text, re.compile(line, re.M))
        self.assertNotIn("took", text)

    def test_several_ranges_stand_in_one_line(self):
        text = self.explain("0:not=CONV_2D+SOFTMAX;1:only=CONV_2D+SOFTMAX", MODEL)
        self.assertIn("  does not support 4 operations (1, 3, 5, 10): CONV_2D x3, SOFTMAX\n", text)
        self.assertIn("  takes 7 operations (0, 2, 4, 6-9)\n", text)

    # -- JSON ----------------------------------------------------------------------------------

    def test_all_of_the_plan_is_in_the_json(self):
        for mode in "embedded", "private", "service":
            told = self.told(SHARED, MODEL, mode=mode)
            parts = told["parts"]
            self.assertEqual([(p["part"], p["device"], p["mode"], p["wave"], p["operations"]) for p in parts],
                             [(1, "partial-0", mode, 1, FIRST), (2, "partial-1", mode, 2, LAST)])
            self.assertEqual(told["moves"], [{"from": 1, "to": 2, "bytes": 184}])
            self.assertEqual(parts[1]["expected"]["move_bytes"], 184)
            total = sum(p["expected"]["total_ms"] for p in parts)
            self.assertAlmostEqual(told["expected_ms"], total, places=5)
            self.assertEqual([o["name"] for o in told["operations"]].count("CONV_2D"), 3)
            self.assertEqual([o["of"] for o in told["operations"]], FIRST + LAST)
            self.assertEqual(told["parts_before_merging"], 2)
            self.assertEqual({d["judged_by"] for d in told["devices"]}, {"declared"})
            self.assertNotIn("measured", parts[0])

    def test_an_operation_of_the_file_that_became_several_names_them(self):
        told = self.told("*:time=0.5", BUILD / "tests" / "tflite" / "small-ops.tflite")
        self.assertEqual([(o["name"], o["of"]) for o in told["operations"]],
                         [("SQUARED_DIFFERENCE", 0)] * 2 + [("LEAKY_RELU", 1), ("COS", 2)] + [("UNPACK", 3)] * 3)

    def test_values_that_move_between_the_same_parts_are_counted_together(self):
        # UNPACK is a SPLIT into two and a RESHAPE of each.
        model = BUILD / "tests" / "tflite" / "small-ops.tflite"
        told = self.told("0:not=RESHAPE;1:only=RESHAPE", model)
        parts = told["parts"]
        self.assertEqual([part["operations"] for part in parts], [[0, 1, 2, 3, 4], [5, 6]])
        self.assertEqual(told["moves"], [{"from": 1, "to": 2, "bytes": parts[1]["expected"]["move_bytes"]}])
        self.assertEqual(len(self.graph(self.explain("0:not=RESHAPE;1:only=RESHAPE", model, "--dot"))[1]), 1)

    def test_measured_figures_are_named(self):
        with tempfile.TemporaryDirectory() as state, \
                service.partial(BUILD, "embedded", "*:time=0.5") as environment:
            environment["NNHAL_STATE_PATH"] = state
            subprocess.run([BUILD / "nnhal", "devices", "--calibrate"], env=environment, check=True,
                           stdout=subprocess.DEVNULL, timeout=300)
            told = json.loads(run(environment, MODEL, "--json").stdout)
            self.assertIn("measured", [d["judged_by"] for d in told["devices"]])
            self.assertIn("judged by what was measured", run(environment, MODEL).stdout)

    # -- verdicts ------------------------------------------------------------------------------

    def test_who_takes_what_is_told(self):
        whole = "told to take all but SOFTMAX", "told to take SOFTMAX alone"
        for mode in "embedded", "private", "service":
            self.assertEqual(self.verdicts(SHARED, mode=mode),
                             {"partial-0": [("taken", FIRST, None), ("unsupported", LAST, whole[0])],
                              "partial-1": [("unsupported", FIRST, whole[1]), ("taken", LAST, None)],
                              "nnapi-reference": [("unasked", FIRST + LAST, None)]})
        self.assertRegex(self.explain(SHARED, MODEL),
                         r"  does not support 1 operation \(10\): SOFTMAX\n    because told to take all but SOFTMAX\n")

    def test_one_device_is_asked_where_it_was_named(self):
        with service.partial(BUILD, "embedded", SHARED) as environment:
            done = run(environment, MODEL, "--json", "--device", "nnapi-reference")
        self.assertEqual([d["device"] for d in json.loads(done.stdout)["devices"]], ["nnapi-reference"])

    def test_what_is_newer_than_a_device_is_told(self):
        verdicts = {verdict: numbers for verdict, numbers, _ in self.verdicts("0:level=29", INT8)["partial-0"]}
        self.assertIn(1, verdicts["too_old"])  # signed codes came with level 30
        self.assertRegex(self.explain("0:level=29", INT8), r"  is older than \d+ operations \(.*\): .*CONV_2D x3")

    def test_a_device_that_does_not_answer_is_told(self):
        rules = "0:fail=supported;1:time=0.5"
        (verdict, numbers, why), = self.verdicts(rules)["partial-0"]
        self.assertEqual((verdict, numbers), ("unreached", FIRST + LAST))
        self.assertIn("told not to answer", why)
        self.assertRegex(self.explain(rules, MODEL),
                         r"  did not answer for 11 operations \(0-10\): .*\n    because .*told not to answer")

    def test_a_device_that_fails_to_prepare_is_told(self):
        rules = "0:lie=1,time=0.1;1:time=0.5"
        (verdict, numbers, why), = self.verdicts(rules)["partial-0"]
        self.assertEqual((verdict, numbers), ("refused", FIRST + LAST))
        self.assertIn("these operations are too many together", why)
        self.assertRegex(self.explain(rules, MODEL),
                         r"  failed to prepare 11 operations \(0-10\): .*\n    because .*too many together")

    # -- executions ----------------------------------------------------------------------------

    def test_each_part_is_measured(self):
        told = self.told(SHARED, MODEL, "--runs", 20)
        self.assertEqual(told["runs"], 20)
        self.assertGreater(told["median_ms"], 0)
        for part in told["parts"]:
            self.assertEqual(part["measured"]["computations"], 20)
            self.assertGreaterEqual(part["measured"]["total_ms"], part["measured"]["compute_ms"])
        text = self.explain(SHARED, MODEL, "--runs", 20)
        self.assertEqual(len(re.findall(r"^  took +\d+\.\d{3} ms: compute .*, launch .*, move ", text, re.M)), 2)
        self.assertRegex(text, re.compile(r"^  took +\d+\.\d{3} ms, the median of 20$", re.M))

    def test_a_model_that_one_device_computes_is_measured(self):
        told = self.told("*:time=0.5", MODEL, "--runs", 3)
        self.assertEqual([part["measured"]["computations"] for part in told["parts"]], [3])
        self.assertNotIn("compute_ms", told["parts"][0]["measured"])
        told = self.told("*:time=0.5", MODEL, "--runs", 3, "--device", "partial-1")
        self.assertGreater(told["parts"][0]["measured"]["compute_ms"], 0)

    def test_who_computed_in_place_of_another_is_told(self):
        rules = SHARED + ",fail=execute"
        part = self.told(rules, MODEL, "--runs", 1, NNHAL_MODE="auto")["parts"][1]
        self.assertEqual((part["device"], part["computed_on"]), ("partial-1", "nnapi-reference"))
        self.assertIn("told not to execute", part["failure"])
        self.assertRegex(self.explain(rules, MODEL, "--runs", 1, NNHAL_MODE="auto"),
                         r"  computed on nnapi-reference, .*because partial-1 failed: .*told not to execute")

    def test_a_plan_that_breaks_a_promise_is_printed_and_fails(self):
        told = self.told("*:not=SOFTMAX", MODEL, "--runs", 1, status=4)
        self.assertEqual(told["parts"][1]["device"], "nnapi-reference")
        self.assertTrue(told["parts"][1]["why"].startswith("no driver takes operation 10"), told)

    # -- a graph -------------------------------------------------------------------------------

    WORD = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[\w.]+|->|[][{}=,;])')

    def graph(self, text):
        """The boxes and edges of a graph with the attributes of each: every word of the text is read."""
        words, at = [], 0
        while text[at:].strip():
            word = self.WORD.match(text, at)
            self.assertIsNotNone(word, text[at:at + 40])
            words.append(word[1])
            at = word.end()
        self.assertEqual((words[0], words[2], words[-1]), ("digraph", "{", "}"))
        boxes, edges = {}, {}
        for statement in " ".join(words[3:-1]).split(" ;")[:-1]:
            where, _, attributes = statement.strip().partition(" [")
            pairs = dict(re.findall(r'(\w+) = ("(?:[^"\\]|\\.)*"|\w+)', attributes))
            kind = edges if "->" in where else boxes
            kind[tuple(where.split(" -> "))] = pairs
        return boxes, edges

    def test_the_graph_has_parts_and_what_moves(self):
        text = self.explain("0:not=CONV_2D;1:only=CONV_2D", MODEL, "--dot")
        boxes, edges = self.graph(text)
        parts = [f"part{i}" for i in range(1, 8)]
        self.assertEqual(set(boxes), {("node",), *((part,) for part in parts)})
        self.assertEqual(set(edges), set(zip(parts, parts[1:])))
        self.assertEqual(edges["part1", "part2"], {"label": '"4096 bytes"'})
        self.assertTrue(boxes["part7",]["label"].startswith(
            r'"part 7: partial-0\nMAX_POOL_2D\nRESHAPE\nFULLY_CONNECTED x2\nSOFTMAX\nexpected '), boxes)
        colors = [boxes[part,]["fillcolor"] for part in parts]
        self.assertEqual(len(set(colors)), 2)
        self.assertEqual(colors[0::2], colors[:1] * 4)
        self.assertIn("took", self.explain(SHARED, MODEL, "--dot", "--runs", 1))

    def test_names_are_quoted_in_the_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / 'a"; b [\\'
            shutil.copy(MODEL, model)
            boxes, edges = self.graph(self.explain(SHARED, model, "--dot"))
        self.assertEqual((len(boxes), len(edges)), (3, 1))
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg"], input=self.explain(SHARED, MODEL, "--dot"), text=True, check=True,
                           stdout=subprocess.DEVNULL, timeout=60)

    # -- strangers -----------------------------------------------------------------------------

    def test_sentences_of_drivers_steer_no_terminal(self):
        wild = "say=\x1b[31m\x9b\r\"wild\\"
        for rules in f"0:fail=supported,{wild};1:time=0.5", f"0:lie=1,time=0.1,{wild};1:time=0.5":
            for how in (), ("--json",), ("--dot",):
                said = self.explain(rules, MODEL, *how)
                self.assertFalse(set(said) & {"\x1b", "\x9b", "\r"}, said)
                self.assertTrue("[31m" in said or how == ("--dot",), said)
        rules = f"0:not=SOFTMAX;1:only=SOFTMAX,fail=execute,{wild}"
        for how in (), ("--json",):
            said = self.explain(rules, MODEL, "--runs", 1, *how, NNHAL_MODE="auto")
            self.assertIn("?[31m", said)
            self.assertNotIn("\x1b", said)
        with service.partial(BUILD, "embedded", rules) as environment:
            for command in "run", "bench":
                said = run(dict(environment, NNHAL_MODE="auto"), MODEL, command=command).stdout
                self.assertIn("because partial-1 failed: ", said)
                self.assertIn("?[31m", said)
                self.assertNotIn("\x1b", said)
        with service.partial(BUILD, "embedded", f"*:fail=execute,{wild}") as environment:
            done = run(environment, MODEL, "--runs", 1)
        self.assertEqual(done.returncode, 4)
        self.assertIn("?[31m", done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_what_cannot_be_explained_is_refused(self):
        for status, says, *arguments in (
                (1, "No such file", "/nonexistent.tflite"), (1, "identifier", ROOT / "README.md"),
                (2, "it wants MODEL.tflite"), (2, "two ways", MODEL, "--dot", "--json"),
                (2, "--runs", MODEL, "--runs", "many"), (2, "is too much", MODEL, "b"),
                (3, "no device", MODEL, "--device", "x"), (4, "cannot be compiled", MODEL, "--device", "partial-1")):
            with service.partial(BUILD, "embedded", SHARED) as environment:
                done = run(environment, *arguments)
            self.assertEqual(done.returncode, status, done)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
