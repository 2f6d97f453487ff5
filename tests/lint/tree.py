# SPDX-License-Identifier: Apache-2.0
"""The files of the tree, for the lints, and how a lint reports.

A lint yields (path, line, sentence) for each defect; run() prints them and
exits with 1 if there was any.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])


def files(*suffixes):
    """Paths relative to ROOT of every file git knows or would add, by suffix."""
    try:
        listed = subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others",
             "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")
                  if p.is_file() and not p.relative_to(ROOT).parts[0].startswith((".", "build"))]
    return sorted(p for p in set(listed)
                  if (not suffixes or p.endswith(suffixes)) and (ROOT / p).is_file())


def read(path):
    return (ROOT / path).read_text(errors="replace")


def run(lint):
    n = 0
    for path, line, sentence in lint():
        print(f"{path}:{line}: {sentence}")
        n += 1
    sys.exit(1 if n else 0)
