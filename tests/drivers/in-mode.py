#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program over partial-0 and partial-1 in a mode, with rules that hold to its end.

    in-mode.py BUILD MODE RULES PROGRAM
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import service  # noqa: E402


def main():
    build, mode, rules, program = sys.argv[1:]
    with service.partial(build, mode, rules) as environment:
        # What else there is has no part in it, but where a test says so.
        environment.pop("NNHAL_DEVICES", None)
        return subprocess.run([program], env=environment, check=False).returncode


sys.exit(main())
