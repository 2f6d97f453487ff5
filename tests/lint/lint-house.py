#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the house holds to: unique tags, names that a backtrace explains, no circles, the field's words.

    lint-house.py                       every rule
    lint-house.py --rule tags           that rule alone; may be given more than once
    lint-house.py --list                prints what is found, with counts, and never fails
    lint-house.py --self-test           each rule finds what is wrong in a small spoilt tree

tags            no two structs, unions or enums of src have one tag
names           no function of src has a name that says nothing in a backtrace
cycles          no files of a folder of src call each other in a circle
include-cycles  no files of a folder of src include each other in a circle
words           no banned word in code, documents and tests
spelling        names and texts are spelt as NNAPI spells them: quantize, initialize, color
ghosts          names in comments of src exist
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

import ctree
import house_words
import tree

CODE = (".c", ".h", ".cc", ".cpp", ".def", ".hal", ".py", ".sh", ".build", ".txt")


def sources():
    return ctree.load(tree.ROOT, "src")


def tags():
    for tag, places in ctree.duplicate_tags(sources()):
        first = "{}:{}".format(*places[0])
        for path, line in places[1:]:
            yield path, line, f"the tag {tag} is defined at {first}, too"


def names():
    for source in sources():
        for function in source.functions:
            if function.name in house_words.EMPTY_NAMES:
                yield source.path, function.first, f"{function.name}(): a name without its noun"


def circles(edges_of):
    for folder in ctree.by_folder(sources()).values():
        edges = edges_of(folder)
        for circle in ctree.circles(edges):
            members = " ".join(node.removeprefix("src/") for node in circle)
            path = next(source.path for source in folder if ctree.stem_of(source.path) == circle[0])
            yield path, 1, f"a circle of {len(circle)} files: {members}"


def cycles():
    return circles(ctree.call_edges)


def include_cycles():
    return circles(ctree.include_edges)


def patterns_in_texts(patterns):
    for path in tree.files(*house_words.TEXTS):
        if path in house_words.EXEMPT_FILES:
            continue
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            judged = house_words.ALLOWED.sub("", line)
            for pattern, advice in patterns:
                found = pattern.search(judged)
                if found:
                    yield path, number, f'"{found[0]}": {advice}'


def words():
    return patterns_in_texts(house_words.BANNED)


def spelling():
    return patterns_in_texts(house_words.SPELLINGS)


def without_comments(path):
    text = tree.read(path)
    if not path.endswith((".c", ".h", ".cc", ".cpp", ".def")):
        return text
    return ctree.LEXEME.sub(lambda found: "" if found[0].startswith("/") else found[0], text)


def file_paths():
    """Every file of the tree, and those that a meson.build makes or names."""
    for path in tree.files():
        yield path
        if path.endswith("meson.build"):
            folder = path.removesuffix("meson.build")
            yield from (folder + name for name in re.findall(r"'([\w./-]+\.\w+)'", tree.read(path)))


class Known:
    """What a comment may name: the identifiers of the tree's code, and files by any end of a path."""

    def __init__(self):
        self.words = {word for path in tree.files(*CODE)
                      for word in ctree.NAME.findall(without_comments(path))} | house_words.FOREIGN
        self.ends = {path[place:] for path in file_paths()
                     for place in [0, *(found.end() for found in re.finditer("/", path))]}

    def name(self, word):
        """Also of names that a comment cuts: _free() behind nn_x_new(), nn_x_* for all of them."""
        if word in self.words or house_words.PLACEHOLDER.fullmatch(word):
            return True
        return (word.endswith("_") and any(known.startswith(word) for known in self.words)
                or word.startswith("_") and any(known.endswith(word) for known in self.words))

    def file(self, name, source):
        is_member = name.endswith((".c", ".h")) and re.search(rf"\b{re.escape(name)}\b", source.code)
        return bool(name in self.ends or is_member)


NAMED = re.compile(r"\b((?:nn|nnhal)_\w+|[A-Za-z_]\w*(?=\(\)))")
FILE = re.compile(r"(?<![\w<./*-])(\w[\w./-]*\.(?:c|h|cc|py|def|hal))\b(?![\w/*-])")


def ghosts_of(source, known):
    for start, comment in source.comments:
        for number, line in enumerate(comment.splitlines(), start):
            for name in NAMED.findall(line):
                if not known.name(name):
                    yield source.path, number, f"{name}: nothing has this name"
            for name in FILE.findall(line):
                if not known.file(name, source):
                    yield source.path, number, f"{name}: no such file"


def ghosts():
    known = Known()
    for source in sources():
        yield from ghosts_of(source, known)


RULES = {"tags": tags, "names": names, "cycles": cycles, "include-cycles": include_cycles,
         "words": words, "spelling": spelling, "ghosts": ghosts}

# A file for each rule that breaks it, and no other rule.
SPOILT = {
    "tags": {"src/a/x.c": "struct nn_x {\n    int y;\n};\n", "src/b/x.c": "struct nn_x {\n    int z;\n};\n"},
    "names": {"src/a/x.c": "static int\nexecute(void)\n{\n    return 0;\n}\n"},
    "cycles": {"src/a/x.c": "int nn_x(void)\n{\n    return nn_y();\n}\n",
               "src/a/b/y.c": "int nn_y(void)\n{\n    return nn_x();\n}\n"},
    "include-cycles": {"src/a/x.h": '#include "y.h"\n', "src/a/y.h": '#include "a/x.h"\n'},
    "words": {"README.md": "It serves " + "who" + "ever asks.\n"},
    "spelling": {"src/a/x.c": "int nn_quanti" + "se_all; /* NNHAL_OPTIMISE_AFTER */\n"},
    "ghosts": {"src/a/x.c": "/* See nn_no_such_thing() in gone.h. */\nint nn_x;\n"},
}
SOUND = {"src/a/x.h": '/* nn_x() - see a/y.h */\n#include "y.h"\nint nn_x(void);\n',
         "src/a/x.c": '#include "x.h"\nint nn_x(void)\n{\n    return nn_y();\n}\n',
         "src/a/y.h": "struct nn_y;\nint nn_y(void);\n",
         "src/a/y.c": '#include "y.h"\nstruct nn_y {\n    int n;\n};\n\nint nn_y(void)\n{\n    return 0;\n}\n',
         "README.md": "It serves those that ask.\n"}


def findings_in(files):
    """The rules that find something in a tree of these files."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GIT_CEILING_DIRECTORIES"] = str(Path(folder).parent)  # no tree around it
        tree.ROOT = Path(folder)
        for path, text in files.items():
            (tree.ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (tree.ROOT / path).write_text(text)
        return {name for name, rule in RULES.items() if list(rule())}


def self_test():
    failed = [f"a sound tree: {name}" for name in findings_in(SOUND)]
    for rule, files in SPOILT.items():
        found = findings_in(files)
        if found != {rule}:
            failed.append(f"a tree that breaks {rule}: found {sorted(found)}")
    print("\n".join(failed) or f"{len(SPOILT)} rules fail where they should")
    sys.exit(1 if failed else 0)


def list_all(chosen):
    for name in chosen:
        found = list(RULES[name]())
        print(f"-- {name}: {len(found)}")
        for path, line, sentence in found:
            print(f"{path}:{line}: {sentence}")


def main():
    parser = argparse.ArgumentParser(description="What the house holds to.")
    parser.add_argument("--rule", action="append", choices=RULES, help="this rule alone")
    parser.add_argument("--list", action="store_true", help="print, never fail")
    parser.add_argument("--self-test", action="store_true", help="whether the rules find anything")
    options = parser.parse_args()
    chosen = options.rule or list(RULES)
    if options.self_test:
        self_test()
    elif options.list:
        list_all(chosen)
    else:
        tree.run(lambda: (finding for name in chosen for finding in RULES[name]()))


if __name__ == "__main__":
    main()
