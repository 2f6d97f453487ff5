#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nnhal's subcommands and the README's program, as a person runs them:
text, JSON, exit statuses. Arguments: build folder."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1))
TIMEOUT_S = 60


class Tools(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        module = BUILD / "src/drivers/sample/libnnhal-driver-sample.so"
        (Path(self.folder.name) / module.name).symlink_to(module)

    def run_tool(self, *command, **environment):
        env = {name: value for name, value in os.environ.items() if not name.startswith("NNHAL_")}
        env |= {"NNHAL_DRIVER_PATH": self.folder.name, "NNHAL_SOCKET_PATH": "",
                "NNHAL_MODE": "embedded"}
        env |= environment
        return subprocess.run([BUILD / command[0], *command[1:]], env=env, capture_output=True,
                              text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)

    def devices(self, *options, **environment):
        result = self.run_tool("nnhal", "devices", "--json", *options, **environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_devices_json(self):
        sample = next(d for d in self.devices() if d["name"] == "nnhal-sample")
        self.assertEqual(sample["mode"], "embedded")
        self.assertTrue(sample["path"].endswith("/libnnhal-driver-sample.so"))
        self.assertGreater(sample["pid"], 0)
        self.assertEqual(set(sample),
                         {"name", "type", "feature_level", "version", "mode", "pid", "path"})

    def test_reference_is_last_or_absent(self):
        names = [device["name"] for device in self.devices()]
        self.assertEqual(names.index("nnhal-sample"), 0)
        self.assertNotIn("nnapi-reference", names[:-1])

    def test_devices_text(self):
        result = self.run_tool("nnhal", "devices")
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.startswith("NAME"))
        self.assertRegex(result.stdout, r"(?m)^nnhal-sample .* embedded ")
        self.assertEqual(result.stderr, "")

    def test_service_mode_without_services_has_no_drivers(self):
        result = self.run_tool("nnhal", "devices", "--mode", "service")
        self.assertNotIn("nnhal-sample", result.stdout)

    def test_usage(self):
        for command, status, where in (
                (["nnhal"], 2, "stderr"),
                (["nnhal", "--help"], 0, "stdout"),
                (["nnhal", "nonsense"], 2, "stderr"),
                (["nnhal", "devices", "--help"], 0, "stdout"),
                (["nnhal", "devices", "--nonsense"], 2, "stderr"),
                (["nnhal", "devices", "--mode", "nonsense"], 2, "stderr"),
                (["nnhal", "devices", "extra"], 2, "stderr")):
            with self.subTest(command=command):
                result = self.run_tool(*command)
                self.assertEqual(result.returncode, status)
                self.assertNotEqual(getattr(result, where), "")

    def test_serve_says_what_is_missing(self):
        result = self.run_tool("nnhal", "serve", "sample", NNHAL_HOST="/nonexistent/nnhal-host")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nonexistent/nnhal-host", result.stderr)

    def test_example(self):
        result = self.run_tool("examples/relu")
        self.assertEqual(result.returncode, 0, result.stderr)
        numbers, where = result.stdout.splitlines()
        self.assertEqual(numbers, "11 0 0 156")
        self.assertRegex(where, r"computed by nnhal-sample: embedded, process \d+, /.*sample\.so")

    def test_example_without_devices(self):
        empty = tempfile.TemporaryDirectory()
        self.addCleanup(empty.cleanup)
        result = self.run_tool("examples/relu", NNHAL_DRIVER_PATH=empty.name)
        if result.returncode == 0:
            self.assertIn("nnapi-reference", result.stdout)
        else:
            self.assertIn("no device", result.stderr)


unittest.main(verbosity=0)
