# SPDX-License-Identifier: Apache-2.0
"""What the scripts that write documents do with their arguments: update, check."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def outdated(documents):
    """Yields a sentence for each document, {path: text}, that is not what it should be."""
    for path, text in documents.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield f"{path.relative_to(ROOT)}: out of date: scripts/{Path(sys.argv[0]).name} update"


def run(usage, make_documents, find_faults):
    """Writes or checks the documents, as the arguments say; faults are of what they are made of.
    Returns the exit status."""
    if sys.argv[1:] not in (["update"], ["check"]):
        print(usage, file=sys.stderr)
        return 2
    faults = list(find_faults())
    if sys.argv[1:] == ["check"]:
        faults += [] if faults else outdated(make_documents())
    if faults:
        print("\n".join(faults))
        return 1
    if sys.argv[1:] == ["update"]:
        for path, text in make_documents().items():
            path.write_text(text, encoding="utf-8")
    return 0
