#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What shells complete in command lines, in the files that are installed for them."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["NNHAL_BUILD_ROOT"])
FILES = BUILD / "src" / "tools" / "options"
PROGRAMS = {"bash": ["nnhal", "nnhal-cts", "nnhal-host", "nnt"],
            "zsh": ["_nnhal", "_nnhal-cts", "_nnhal-host", "_nnt"],
            "fish": ["nnhal.fish", "nnhal-cts.fish", "nnhal-host.fish", "nnt.fish"]}


COMMANDS = ["bench", "cache", "devices", "explain", "info", "run", "serve"]
# What `nnhal devices` prints; a shell that expands the last of them makes a file.
DEVICES = {"nnhal-one", "nnhal-two", "$(>expanded)"}


def needs(shell):
    if shutil.which(shell):
        return lambda test: test
    why = f"{shell} is not installed: its completions were not tried"
    print(f"SKIPPED in part: {why}", flush=True)
    return unittest.skip(why)


class Completions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("a model.tflite", "b.tflite", "cat.png", "x.nnt", "libnnhal-driver-x.so"):
            (self.folder / name).touch()
        (self.folder / "models").mkdir()
        # Stands in for the program, which would look for drivers.
        stand_in = self.folder / "nnhal"
        rows = "\n".join(f"{name} CPU" for name in sorted(DEVICES))
        stand_in.write_text(f"#!/bin/sh\ncat <<'END'\nNAME TYPE\n{rows}\nEND\n")
        stand_in.chmod(0o755)

    def run_shell(self, *command):
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, check=False,
                              env=dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}", HOME=str(self.folder)))
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        self.assertFalse((self.folder / "expanded").exists(), command)
        return set(done.stdout.splitlines())

    def parses(self, shell):
        for name in PROGRAMS[shell]:
            self.run_shell(shell, "-n", str(FILES / name))

    def bash(self, *words):
        """What bash offers for the last word."""
        quoted = " ".join(f"'{word}'" for word in words)
        return self.run_shell("bash", "--norc", "-c", f"source '{FILES / words[0]}'; COMP_WORDS=({quoted}); "
                              f"COMP_CWORD={len(words) - 1}; _{words[0].replace('-', '_')}; "
                              'printf "%s\\n" "${COMPREPLY[@]}"')

    def zsh(self, *words):
        """What zsh's functions are told of arguments, options and devices."""
        tell = "; ".join(f'{each}() {{ print -rl -- "$@" }}' for each in ("_arguments", "_describe", "compadd"))
        return self.run_shell("zsh", "-fc", f"{tell}; words=({' '.join(words)}); CURRENT=$#words; "
                              f"complete() {{ source '{FILES / f'_{words[0]}'}' }}; complete; _nnhal_devices")

    def fish(self, line):
        offered = self.run_shell("fish", "--no-config", "-c", f"source '{FILES / line.split()[0]}.fish'; "
                                 f"complete -C '{line}'")
        return {each.split("\t")[0] for each in offered}

    @needs("zsh")
    def test_zsh(self):
        self.parses("zsh")
        self.assertLessEqual(DEVICES, self.zsh("nnhal", "run", "x"))
        self.assertIn("1:MODEL:_files -g \"*.tflite\"", self.zsh("nnhal", "run", "x"))
        for words in [("nnhal", name, "x") for name in COMMANDS] + [("nnhal-cts", "x"), ("nnhal-host", "x"), ("nnt", "x")]:
            for spec in self.zsh(*words):
                if re.match(r"[1-9*]:", spec):  # name and kind have nothing that _arguments reads otherwise
                    self.assertRegex(spec, r"^[1-9*]:\w+:[^:]+$")

    @needs("fish")
    def test_fish(self):
        self.parses("fish")
        self.assertEqual(self.fish("nnhal b"), {"bench"})
        self.assertEqual(self.fish("nnhal run --mode p"), {"private"})
        self.assertEqual(self.fish("nnhal run --device "), DEVICES)
        self.assertEqual(self.fish("nnhal run --device nnhal-t"), {"nnhal-two"})
        self.assertEqual(self.fish("nnhal run --rep"), {"--repeat"})
        self.assertEqual(self.fish("nnhal cache v"), {"verify"})

    @needs("bash")
    def test_bash(self):
        self.parses("bash")
        self.assertEqual(self.bash("nnhal", "b"), {"bench"})
        self.assertEqual(self.bash("nnhal", "--v"), {"--version"})
        self.assertEqual(self.bash("nnhal", "run", "--re"), {"--repeat"})
        self.assertEqual(self.bash("nnhal", "run", ""), {"a model.tflite", "b.tflite", "models"})
        self.assertEqual(self.bash("nnhal", "run", "b.tflite", "c"), {"cat.png"})
        self.assertEqual(self.bash("nnhal", "run", "--repeat", "2", "b.tflite", "c"), {"cat.png"})
        self.assertEqual(self.bash("nnhal", "run", "b.tflite", "-m", "p"), {"private"})
        self.assertEqual(self.bash("nnhal", "run", "b.tflite", "--mode", "=", "e"), {"embedded"})
        self.assertEqual(self.bash("nnhal", "run", "-d", ""), DEVICES)
        self.assertEqual(self.bash("nnhal", "run", "-d", "nnhal-t"), {"nnhal-two"})
        self.assertEqual(self.bash("nnhal", "run", "--cache", "m"), {"models"})
        self.assertEqual(self.bash("nnhal", "cache", "v"), {"verify"})
        self.assertEqual(self.bash("nnhal", "cache", "verify", "m"), {"models"})
        self.assertEqual(self.bash("nnhal", "info", "b.tflite", ""), {""})
        self.assertEqual(self.bash("nnt", "--path", "f"), {"fd-offset", "fenced"})
        self.assertEqual(self.bash("nnt", "x"), {"x.nnt"})
        self.assertEqual(self.bash("nnhal-cts", "--driver", "lib"), {"libnnhal-driver-x.so"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
