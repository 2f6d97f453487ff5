# SPDX-License-Identifier: Apache-2.0
"""Text as lines of a manual page."""

import re


def lines_of(text):
    """A line of mdoc for each piece of text and each literal, with the comma behind it."""
    lines = []
    for number, piece in enumerate(text.split("`")):
        if number % 2:
            lines.append(".Ql " + piece)
            continue
        after = re.match(r"[,.;:)]+", piece)
        if lines and after:
            lines[-1] += " " + " ".join(after[0])
            piece = piece[after.end():]
        if piece.strip():
            lines.append(piece.strip())
    return lines
