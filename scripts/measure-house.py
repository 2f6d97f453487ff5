#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the shape of src: sizes, functions, names, tags, comments, circles of files.

    scripts/measure-house.py                  a table of folders and what lies behind its numbers
    scripts/measure-house.py --root OTHER     the same of another checkout, of any layout
    scripts/measure-house.py --json           the same as JSON, to compare two trees

A folder is the first one below src, or src/drivers/<name>. A circle is a strongly
connected set of files of one folder, where a .c and the .h beside it are one file:
by calls (a file depends on the one whose .c defines what it calls) and by includes.
Comments are counted as lines that hold one, of all lines that are not blank.
"""

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "tests/lint"))

import ctree  # noqa: E402

LONG, MANY = 60, 6  # what lines and parameters of a function are aimed to stay within


def sizes(sources):
    in_c = [source for source in sources if source.path.endswith(".c")]
    return {"files": len(sources), "lines": sum(source.n_lines() for source in sources),
            "code": sum(source.n_code() for source in sources),
            "comment_percent": comment_percent(sources), "comment_percent_c": comment_percent(in_c)}


def comment_percent(sources):
    filled = sum(source.n_filled() for source in sources)
    return round(100 * sum(source.n_comment() for source in sources) / filled, 1) if filled else 0


def place(source, function):
    return f"{function.name} ({source.path}:{function.first})"


def functions(sources):
    """Counts and lengths of functions; who is long, and who takes many parameters."""
    pairs = [(source, function) for source in sources for function in source.functions]
    lengths = [function.n_lines for _, function in pairs]
    longest = max(pairs, key=lambda pair: pair[1].n_lines, default=None)
    many = [(len(function.parameters), place(source, function)) for source, function in pairs
            if len(function.parameters) > MANY]
    return {"functions": len(pairs), "length_median": ctree.median(lengths),
            "length_p90": ctree.percentile(lengths, 0.9), "length_max": max(lengths, default=0),
            "longest": place(*longest) if longest else "",
            "long": [place(*pair) for pair in pairs if pair[1].n_lines > LONG],
            "parameters_max": max((len(function.parameters) for _, function in pairs), default=0),
            "many_parameters": sorted(many, reverse=True)}


def names(sources):
    """One-word names of static functions, beside all of these and beside all functions."""
    everything = [function for source in sources for function in source.functions]
    statics = [function.name for function in everything if function.is_static]
    one_word = [name for name in statics if "_" not in name]
    return {"statics": len(statics), "one_word": len(one_word),
            "one_word_percent": round(100 * len(one_word) / len(statics), 1) if statics else 0,
            "one_word_percent_of_all": round(100 * len(one_word) / len(everything), 1)
            if everything else 0}


def measure(sources):
    return {**sizes(sources), **functions(sources), **names(sources),
            "duplicate_tags": ctree.duplicate_tags(sources),
            "call_circles": ctree.circles(ctree.call_edges(sources)),
            "include_circles": ctree.circles(ctree.include_edges(sources))}


def total(sources, folders):
    """The whole tree; circles are those of its folders, since layers are lint-layers' affair."""
    found = measure(sources)
    for kind in ("call_circles", "include_circles"):
        found[kind] = [circle for folder in folders.values() for circle in folder[kind]]
    return found


COLUMNS = (("files", "files"), ("lines", "lines"), ("code", "code"), ("cmt%", "comment_percent"),
           (".c%", "comment_percent_c"), ("funcs", "functions"), ("med", "length_median"),
           ("p90", "length_p90"), ("max", "length_max"), (">60", "long"), ("par", "parameters_max"),
           (">6", "many_parameters"), ("1word", "one_word"), ("1word%", "one_word_percent"),
           ("tags", "duplicate_tags"))


def cell(value):
    return str(len(value) if isinstance(value, list) else value)


def circle_sizes(circles):
    return "+".join(str(len(circle)) for circle in circles) or "-"


def print_table(rows):
    print(f"{'folder':15}" + "".join(f"{title:>8}" for title, _ in COLUMNS)
          + f" {'calls':>10} {'includes':>10}")
    for name, row in rows:
        print(f"{name:15}" + "".join(f"{cell(row[key]):>8}" for _, key in COLUMNS)
              + f" {circle_sizes(row['call_circles']):>10} {circle_sizes(row['include_circles']):>10}")


def print_details(found):
    print(f"\nlongest function: {found['length_max']} lines, {found['longest']}")
    print(f"one-word names of statics: {found['one_word']} of {found['statics']}, "
          f"{found['one_word_percent_of_all']} % of all functions")
    print(f"\nfunctions over {LONG} lines: {len(found['long'])}")
    print("".join(f"  {name}\n" for name in found["long"]), end="")
    print(f"\nfunctions of more than {MANY} parameters: {len(found['many_parameters'])}")
    print("".join(f"  {n} {name}\n" for n, name in found["many_parameters"]), end="")
    print(f"\ntags that two places define: {len(found['duplicate_tags'])}")
    for tag, places in found["duplicate_tags"]:
        print(f"  {tag}: " + ", ".join(f"{path}:{line}" for path, line in places))
    for kind in ("call", "include"):
        print(f"\n{kind} circles: {len(found[kind + '_circles'])}")
        for circle in found[kind + "_circles"]:
            print(f"  {len(circle)} " + " ".join(node.removeprefix("src/") for node in circle))


def main():
    parser = argparse.ArgumentParser(description="Measures the shape of src.")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="a checkout")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    sources = ctree.load(options.root, "src")
    if not sources:
        sys.exit(f"{options.root}: no .c or .h file below src")
    folders = {name: measure(found) for name, found in sorted(ctree.by_folder(sources).items())}
    whole = total(sources, folders)
    if options.json:
        print(json.dumps({"total": whole, "folders": folders}, indent=1))
        return
    print_table([*folders.items(), ("total", whole)])
    print_details(whole)


if __name__ == "__main__":
    main()
