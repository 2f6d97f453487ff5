#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file is built: named by a meson.build or a meson list above it."""

import re
from pathlib import Path
from posixpath import normpath

import tree


def lint():
    named = set()
    for build in tree.files("meson.build"):
        folder = Path(build).parent
        code = re.sub(r"(?m)^\s*#.*$", "", tree.read(build))
        for name in re.findall(r"'([^'\n]+)'", code):
            named.add(normpath(folder / name))
            named.add(str(folder / (name + ".c")))
            named.add(str(folder / ("test-" + name + ".c")))
            named.add(str(folder / ("bench-" + name + ".c")))
            named.add(str(folder / ("prop-" + name + ".c")))
    for path in tree.files(".c", ".cc"):
        if path not in named and not path.startswith(("src/drivers/sample/", "hal/")):
            yield path, 1, "no meson.build names this file: is it built?"


tree.run(lint)
