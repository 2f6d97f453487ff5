# SPDX-License-Identifier: Apache-2.0
"""The tables of lint-house.py: words that are not used here, and names from elsewhere."""

import re

TEXTS = (".c", ".h", ".cc", ".def", ".hal", ".py", ".sh", ".md", ".build", ".txt", ".1", ".7",
         ".service", ".socket", ".conf", ".yml", "Makefile")

# These hold old names, or tables of words.
EXEMPT_FILES = {"tests/lint/house_words.py", "doc/renamed.md", "doc/glossary.md", "LICENSE",
                "CHANGELOG.md"}

# Names that keep working, and a key of foreign data: what is left of a line without them is judged.
ALLOWED = re.compile(r"NNHAL_OPTIMISE_AFTER|NNHAL_STAGE_OPTIMISED|nnhal_optimise|\(\*optimise\)"
                     r"|max_abs_diff_tflite_optimised_vs_golden"
                     r'|"nobody"|=nobody\b|else nobody\b|^\.Li nobody$')  # the user

# Names that say nothing in a backtrace; statics carry their noun.
EMPTY_NAMES = {"run", "do", "it", "execute", "load", "take"}


def word(text):
    """A word or phrase in prose, in any case."""
    return re.compile(rf"\b{text}\b", re.I)


def spelling(stem):
    """A stem in identifiers and in prose, wherever it stands in a word."""
    return re.compile(stem, re.I)


PLAIN = "name the subject, in plain technical English"
US = "spelt as NNAPI does, with z"
BANNED = [(word(text), PLAIN) for text in (
    "whoever", "whatever", "nobody", "somebody", "anybody", "who is overtaken")]
SPELLINGS = [
    *((spelling(stem + "is(?=e[drs]?(?![a-z])|ing|ation|able)"), US) for stem in (
        "quant", "normal", "optim", "initial", "serial", "synchron", "vector", "special",
        "recogn", "util", "minim", "maxim", "final", "general", "organ", "parallel", "token",
        "categor", "summar", "custom", "prior", "material", "real", "local", "standard",
        "random", "author", "linear", "equal", "stabil", "virtual")),
    (spelling("behaviour|colour|neighbour|favour|honour"), "spelt without u"),
    (spelling(r"\bcentre|_centre|\bgrey|_grey"), "center, gray"),
    (spelling("licence|catalogue|artefact|whilst|amongst|analyse"), "spelt as in the United States"),
]

# What comments may name though no code here has it: examples, and functions of systems.
PLACEHOLDER = re.compile(r"nn(hal)?_x(_\w+)?")
FOREIGN = {"exec", "execve", "fork", "vfork", "clone", "malloc", "realloc", "free", "abort", "signal",
           "sigaction", "ptrace", "sendfile", "splice", "select", "epoll_wait", "setuid", "statx"}
