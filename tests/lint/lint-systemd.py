#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The units of systemd have no limit of starts, which would let one user end a service for all; the
service tells when it is ready, and is exposed to 2.5 at most (systemd-analyze security)."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import tree

SERVICE = "systemd/nnhal@.service.in"
USERS_SERVICE = "systemd/user/nnhal@.service.in"
NEEDED = [
    (SERVICE, "Unit", "StartLimitIntervalSec=0"),
    (SERVICE, "Service", "Type=notify"),
    ("systemd/nnhal@.socket", "Socket", "TriggerLimitIntervalSec=0"),
    (USERS_SERVICE, "Unit", "StartLimitIntervalSec=0"),
    (USERS_SERVICE, "Service", "Type=notify"),
    ("systemd/user/nnhal@.socket", "Socket", "TriggerLimitIntervalSec=0"),
    ("systemd/user/nnhal@.socket", "Socket", "SocketMode=0600"),
]
MOST_EXPOSED = "25"  # tenths


def sections(path):
    """Yields (section, line) of each setting."""
    section = None
    for line in tree.read(path).splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            yield section, line


def exposure():
    """The complaint about a service that is exposed too much, or None."""
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is not installed: the exposure of the service was not checked")
        return None
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / "nnhal@cpu.service"
        unit.write_text(tree.read(SERVICE).replace("@libexecdir@", "/usr/libexec"))
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                               f"--threshold={MOST_EXPOSED}", unit],
                              capture_output=True, text=True)
    if "Overall exposure" not in done.stdout:
        print("systemd-analyze is too old: the exposure of the service was not checked")
        return None
    return done.stdout.splitlines()[-1] if done.returncode else None


def lint():
    for path, section, setting in NEEDED:
        if (section, setting) not in sections(path):
            yield path, 1, f"[{section}] lacks {setting}"
    complaint = exposure()
    if complaint:
        yield SERVICE, 1, complaint


tree.run(lint)
