#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates everything that follows from the .hal files. See hal/README.md.

    halgen.py update                    writes what is checked in
    halgen.py check                     whether what is checked in is up to date
    halgen.py make KIND OUTPUT [FILE...] writes one thing; KIND is types, hal,
                                        codec-h, codec-c, messages-h, messages-c,
                                        page, proxy, stub, host-h or host-c
    halgen.py seeds FOLDER LIST [FILE...] writes fuzz seeds, and the list of their names

FILEs are .hal files in the order in which they know each other; those of this
folder if none are given.
"""

import sys
from pathlib import Path

from gen import dispatch, header, page, rules, seeds, tables
from gen.parse import parse
from gen.text import HalError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FILES = ["types.hal", "wire.hal", "IDevice.hal", "IPreparedModel.hal", "IExecution.hal",
         "IBuffer.hal", "IBurstContext.hal", "IBurstCallback.hal"]
ESSAY = "IDevice.hal"
MAKERS = {
    "types": header.types_header,
    "hal": lambda linked: header.hal_header(linked, ESSAY),
    "codec-h": tables.codec_header,
    "codec-c": tables.codec_source,
    "messages-h": tables.messages_header,
    "messages-c": tables.messages_source,
    "page": page.page,
    "proxy": dispatch.proxy_methods,
    "stub": dispatch.stub_methods,
    "host-h": dispatch.host_header,
    "host-c": dispatch.host_methods,
}
CHECKED_IN = {
    "types": ROOT / "include/nnhal/types.h",
    "hal": ROOT / "src/hal/hal.h",
    "page": ROOT / "doc/hal.md",
    "proxy": ROOT / "src/hal/proxy-methods.c",
    "stub": ROOT / "src/hal/stub-methods.c",
    "host-h": ROOT / "src/host/methods.h",
    "host-c": ROOT / "src/host/dispatch.c",
}


def load(paths):
    files = []
    for path in paths or [HERE / name for name in FILES]:
        text = Path(path).read_text(encoding="utf-8")
        files.append(parse(Path(path).name if not paths else str(path), text))
    return rules.link(files)


def update(linked):
    for kind, path in CHECKED_IN.items():
        path.write_text(MAKERS[kind](linked), encoding="utf-8")
    return 0


def check(linked):
    stale = [path for kind, path in CHECKED_IN.items()
             if not path.exists() or path.read_text(encoding="utf-8") != MAKERS[kind](linked)]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: not what the .hal files say: hal/halgen.py update")
    return 1 if stale else 0


def main(arguments):
    try:
        if arguments == ["update"]:
            return update(load([]))
        if arguments == ["check"]:
            return check(load([]))
        if len(arguments) >= 3 and arguments[0] == "make" and arguments[1] in MAKERS:
            text = MAKERS[arguments[1]](load(arguments[3:]))
            Path(arguments[2]).write_text(text, encoding="utf-8")
            return 0
        if len(arguments) >= 3 and arguments[0] == "seeds":
            names = seeds.write(load(arguments[3:]), Path(arguments[1]))
            Path(arguments[2]).write_text("\n".join(names) + "\n", encoding="utf-8")
            return 0
    except HalError as error:
        print(error, file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
