# SPDX-License-Identifier: Apache-2.0
"""Text as lines of a manual page."""

import re
import textwrap


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


def guard(line):
    """A line of text that roff does not take for a request; backslashes stay."""
    line = line.replace("\\", "\\e")
    return "\\&" + line if line[:1] in (".", "'") else line


def paragraph(text):
    """Lines of mdoc of at most 96 characters; each sentence begins one."""
    for line in lines_of(text):
        if line.startswith(".Ql "):
            yield line
            continue
        for sentence in re.split(r"(?<=[.?!]) ", line):
            yield from map(guard, textwrap.wrap(sentence, 96, break_on_hyphens=False,
                                                break_long_words=False))


def _argument(word):
    is_many = word.endswith("...")
    word = word.removesuffix("...")
    optional = re.fullmatch(r"\[(\w+)\]", word)
    behind = re.fullmatch(r"(\w+)\[(\W)(\w+)\]", word)
    if optional:
        return f".Op Ar {optional[1]}" + " ..." * is_many
    if behind:
        return f".Ar {behind[1]} Ns Op {behind[2]} Ns Ar {behind[3]}"
    return f".Ar {word}" + " ..." * is_many


def arguments(text):
    """Lines of a synopsis for "[OPTION]... FILE", or "--one FILE | --two NAME"."""
    words = text.split()
    while words:
        if words[0].startswith("--"):
            yield "." + " ".join(f"Fl {word[1:]}" if word.startswith("-") else word if word == "|"
                                 else f"Ar {word}" for word in words)
            return
        yield _argument(words.pop(0))
