#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which layer may include which: ARCHITECTURE.md, "Layers"."""

import re

import tree

MAY_INCLUDE = {
    "base": {"base"},
    "shm": {"base", "shm"},
    "ipc": {"base", "shm", "ipc"},
    "model": {"base", "model"},
    "codec": {"base", "model", "codec"},
    "compiler": {"base", "model", "compiler"},
    "cache": {"base", "shm", "model", "cache"},
    "hal": {"base", "shm", "ipc", "model", "codec", "hal"},
    "host": {"base", "shm", "ipc", "model", "codec", "cache", "hal", "host"},
    "runtime": {"base", "shm", "ipc", "model", "codec", "compiler", "cache", "hal", "host", "runtime"},
    "service": {"base", "shm", "ipc", "model", "codec", "cache", "hal", "host", "service"},
    "lib": {"base", "shm", "cache", "host", "lib"},
    "drivers/cpu": {"base", "model", "codec", "compiler", "drivers/cpu"},
    "drivers/null": set(),
    "drivers/sample": set(),
    "tflite": {"tflite"},
    "tools": {"tools"},
}
SYSTEM_CALLS = re.compile(r"(?<![\w.>])(recvmsg|sendmsg|mmap|mmap64|memfd_create|openat|futex)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def layer_of(path):
    inside = path.removeprefix("src/")
    return next((name for name in MAY_INCLUDE if inside.startswith(name + "/")), None)


def lint():
    for path in tree.files(".c", ".h", ".cc", ".cpp"):
        layer = layer_of(path) if path.startswith("src/") else None
        if not layer:
            continue
        folder = path.rsplit("/", 1)[0]
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            found = INCLUDE.match(line)
            if found and (tree.ROOT / folder / found[1]).is_file():
                continue  # its own folder
            target = layer_of("src/" + found[1]) if found else None
            if target and target not in MAY_INCLUDE[layer]:
                yield path, number, f"layer {layer} may not include {target}: {found[1]}"
            if layer == "drivers/cpu" and found and found[1].startswith("drivers/") and not target:
                yield path, number, f"no such layer: {found[1]}"
            code = line.split("//")[0].split("/*")[0]
            call = SYSTEM_CALLS.search(code)
            if call and not line.lstrip().startswith("*") and path not in (
                    "src/base/sys.c", "src/base/sys.h") and layer not in ("tools", "tflite"):
                yield path, number, f"{call[1]}() is called in src/base/sys.c only"


tree.run(lint)
