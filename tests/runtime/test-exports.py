#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libneuralnetworks.so exports: exactly exported.list, under the right
version nodes, and each of it declared in a public header. Each function of
Android's API that returns a result code has a test in which it does not
return NO_ERROR."""

import re
import subprocess
import sys
from pathlib import Path

LIBRARY, SOURCE = Path(sys.argv[1]), Path(sys.argv[2])
HEADERS = ("include/android/NeuralNetworks.h", "include/android/hardware_buffer.h",
           "include/android/sharedmem.h",
           "include/android/NeuralNetworksExtensions.h",
           "include/android/NeuralNetworksSupportLibraryImpl.h", "include/nnhal/ext.h")


def exported():
    lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", LIBRARY],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[2] for line in lines if line.split()[1] != "A"}
    # Sanitizers add symbols without a node of ours.
    return {name for name in names if "@@" in name}


def declared():
    names = set()
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", "", (SOURCE / header).read_text(), flags=re.S)
        text = re.sub(r"\(\s*\*\s*\w+\)\s*\(", "", text)  # members are no functions
        names |= set(re.findall(r"\b((?:SL_)?ANeuralNetworks\w+|AHardwareBuffer_\w+|ASharedMemory_\w+|nnhal_\w+)\s*\(", text))
    return names


def refused():
    """Names of functions of which a test asserts a failure."""
    text = "\n".join(path.read_text() for path in (SOURCE / "tests").rglob("test-*.c"))
    macro = r"\b(?:NULLED|BAD_DATA|BAD_STATE|FAILS)\(\s*(\w+)\(|\bIS\(\s*\w+,\s*(\w+)\("
    compared = r"(\w+)\((?:[^;()]|\([^;()]*\))*\),\s*ANEURALNETWORKS_(?!NO_ERROR)"
    return {name for names in re.findall(macro, text) for name in names} | set(
        re.findall(compared, text))


def fallible():
    """Names of Android's functions that return a result code."""
    names = set()
    for header in ("NeuralNetworks.h", "NeuralNetworksExtensions.h"):
        text = (SOURCE / "include/android" / header).read_text()
        names |= set(re.findall(r"^int (ANeuralNetworks\w+)\(", text, flags=re.M))
    return names


def main():
    listed = set((SOURCE / "tests/runtime/exported.list").read_text().split())
    found = exported()
    failed = False
    for what, names in (("exported, not in exported.list", found - listed),
                        ("in exported.list, not exported", listed - found),
                        ("never refused in a test", fallible() - refused())):
        for name in sorted(names):
            print(f"{what}: {name}")
            failed = True
    for name in sorted({entry.split("@@")[0] for entry in listed} ^ declared()):
        print(f"in a header or exported, not both: {name}")
        failed = True
    return 1 if failed else 0


sys.exit(main())
