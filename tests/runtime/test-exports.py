#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libneuralnetworks.so exports: exactly exported.list, under the right
version nodes, and each of it declared in a public header."""

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


def main():
    listed = set((SOURCE / "tests/runtime/exported.list").read_text().split())
    found = exported()
    failed = False
    for what, names in (("exported, not in exported.list", found - listed),
                        ("in exported.list, not exported", listed - found)):
        for name in sorted(names):
            print(f"{what}: {name}")
            failed = True
    for name in sorted({entry.split("@@")[0] for entry in listed} ^ declared()):
        print(f"in a header or exported, not both: {name}")
        failed = True
    return 1 if failed else 0


sys.exit(main())
