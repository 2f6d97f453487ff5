#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The units of systemd have no limit of starts, which would let one user end a service for all."""

import tree

NEEDED = {
    "systemd/nnhal@.service.in": ("Unit", "StartLimitIntervalSec=0"),
    "systemd/nnhal@.socket": ("Socket", "TriggerLimitIntervalSec=0"),
}


def sections(path):
    """Yields (section, line) of each setting."""
    section = None
    for line in tree.read(path).splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            yield section, line


def lint():
    for path, setting in NEEDED.items():
        if setting not in sections(path):
            yield path, 1, "[%s] lacks %s" % setting


tree.run(lint)
