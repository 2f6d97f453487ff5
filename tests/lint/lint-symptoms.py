#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What doc/admin/when.md quotes is said by the sources, and the variables that documents name exist.

    lint-symptoms.py                judges doc/admin and doc/app
    lint-symptoms.py --self-test    a sentence and a variable that do not exist are found
"""

import re
import sys

import tree

SYMPTOMS = "doc/admin/when.md"
QUOTED = re.compile(r"`([^`]+)`")
VARIABLE = re.compile(r"NNHAL_[A-Z_]+[A-Z]\b")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
COMMANDS = re.compile(r"nnhal \w+$")


def said():
    """The sources without comments, string literals that stand behind each other joined."""
    texts = [re.sub(r'"\s*\n\s*"', "", COMMENT.sub("", tree.read(path)))
             for path in tree.files(".c") if path.startswith("src/")]
    return "\n".join(texts)


def judge_symptoms(text, sources):
    for number, line in enumerate(text.splitlines(), 1):
        symptom = line.split("|")[1] if line.startswith("| ") else ""
        for sentence in QUOTED.findall(symptom):
            for piece in map(str.strip, sentence.split("...")):
                if piece and not COMMANDS.match(piece) and piece not in sources:
                    yield number, f'nothing says "{piece}"'


def judge_variables(text, known):
    for number, line in enumerate(text.splitlines(), 1):
        for name in VARIABLE.findall(line):
            if name not in known:
                yield number, f"there is no variable or constant {name}"


def known_names():
    return set(VARIABLE.findall("\n".join(tree.read(path) for path in tree.files(".def", ".h")
                                          if path.startswith(("src/", "include/")))))


def lint():
    sources, known = said(), known_names()
    for line, sentence in judge_symptoms(tree.read(SYMPTOMS), sources):
        yield SYMPTOMS, line, sentence
    for path in tree.files(".md"):
        if path.startswith(("doc/admin/", "doc/app/")):
            for line, sentence in judge_variables(tree.read(path), known):
                yield path, line, sentence


def self_test():
    table = "| `...: its process died; starting it again` | a | b |\n"
    sources, known = said(), known_names()
    failed = list(judge_symptoms(table, sources)) + list(judge_variables("NNHAL_LOG=info", known))
    spoilt = [list(judge_symptoms(table.replace("starting", "stopping"), sources)),
              list(judge_variables("NNHAL_LOGS=info", known))]
    print("a spoilt text passes" if failed or not all(spoilt) else "spoilt texts fail")
    sys.exit(1 if failed or not all(spoilt) else 0)


if sys.argv[1:] == ["--self-test"]:
    self_test()
tree.run(lint)
