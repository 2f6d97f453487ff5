#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A build for 32-bit ARM is refused when it is set up, with the reason."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

if not shutil.which("arm-linux-gnueabihf-gcc"):
    print("arm-linux-gnueabihf-gcc is missing: scripts/install-deps.sh cross installs it")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run(["meson", "setup", folder, "--cross-file", ROOT / "tests/cross/armhf.ini"],
                          cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(done.stdout[-600:])
sys.exit(0 if done.returncode == 1 and "nnhal needs a 64-bit machine" in done.stdout else 1)
