#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the tests: each of some small changes of the source must make one of them fail.

    scripts/run-mutants.py [--count N] [--seed N] [TARGET...]
    scripts/run-mutants.py --self-test

Takes a copy of the tree below build-mutants; the tree itself is not touched. N mutants (300) are drawn
by the seed (1), as many of each target (all, if none is named), and of each kind of change. Each is
built, and judged by the tests of its folder that TARGETS names, which have 20 s together, or 4 times
what they take on the source as it is where that is more. A mutant is killed if a test fails or does not
end. One that the compiler refuses counts for nothing, and the next one is drawn.

Prints each mutant, and the survivors as differences, with the reason where REVIEWED has it. The last
line is "N mutants that can be noticed, N killed: N %"; exit status 1 below 85 %.
"""

import argparse
import difflib
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import mutations

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build-mutants"
TREE = WORK / "tree"
BUILD = TREE / "build"  # as far from the sources as in the tree, for compilers with a cache
REVIEWED = ROOT / "scripts/mutants-reviewed.txt"
ENOUGH = 85  # percent
LIMIT_S = 20

# A mutant may kill, mount and remove what it should not: it sees no process but its own, nothing that
# it mounts shows outside, and its temporary files end with it.
CAGE = ["unshare", *([] if os.getuid() == 0 else ["--user", "--map-current-user"]), "--mount", "--pid",
        "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "--",
        "sh", "-c", "mount -t tmpfs tmpfs /tmp; mount -t tmpfs tmpfs /dev/shm; exec \"$@\"", "sh"]

# What is changed, and which programs judge it, the quickest first.
TARGETS = {
    "ring": (["src/shm/ring.c", "src/shm/evflag.c"], ["test-shm-ring-hostile", "test-shm-ring"]),
    "packet": (["src/ipc/packet.c"], ["test-ipc-packet", "test-ipc-peer", "test-ipc-conn"]),
    "session": (["src/service/session.c", "src/host/session.c"],
                ["test-host-session", "test-service-session", "test-service-hostile",
                 "test-service-service", "test-service-burst", "test-service-memories"]),
    "admission": (["src/host/memory/admission.c", "src/host/memory/buffer.c"],
                  ["test-host-copies", "test-host-allocate", "test-host-driver-buffers",
                   "test-host-requests", "test-host-buffers", "test-host-buffers-held",
                   "test-host-buffer-races"]),
    "cache": (["src/cache/store.c", "src/cache/store-rows.c", "src/cache/store-evict.c",
               "src/cache/store-files.c", "src/cache/folder.c", "src/cache/token-map.c",
               "src/cache/entry-file.c"],
              ["test-cache-entry-file", "test-cache-folder", "test-cache-store-memory",
               "test-cache-token-map", "test-cache-store", "prop-cache-store",
               "test-cache-damage"]),
    "sandbox": (["src/service/sandbox.c", "src/service/seccomp-filter.c", "src/service/landlock.c",
                 "src/service/grants.c", "src/service/root.c"],
                ["test-service-grants", "test-service-root", "test-service-walls",
                 "test-service-sandbox"]),
    "quota": (["src/service/quota.c", "src/host/quota.c"],
              ["test-service-quota", "test-host-quota", "test-host-memory"]),
}


@dataclass
class Target:
    name: str
    order: list  # of mutations
    tests: list  # of meson's descriptions
    programs: list
    limit_s: float = LIMIT_S
    n_killed: int = 0
    survivors: list = field(default_factory=list)

    def n_judged(self):
        return self.n_killed + len(self.survivors)


def say(text):
    print(text, flush=True)


# -- the copy -----------------------------------------------------------------------------------------


def copy_tree():
    """Copies what git does not ignore, if it differs, so that what is built stays."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, copy = ROOT / name, TREE / name
        if not source.is_file() or copy.is_file() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)


def set_up():
    copy_tree()
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["meson", "setup", BUILD, "-Dtests=true", "-Dwerror=true"], cwd=TREE, check=True,
                       stdout=subprocess.DEVNULL)


@functools.cache
def source_of(file):
    """As it was copied; first read before it is changed."""
    return (TREE / file).read_text()


def build(programs):
    done = subprocess.run(["ninja", "-C", BUILD, *programs], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode == 0, done.stdout


def introspect(what):
    return json.loads((BUILD / f"meson-info/intro-{what}.json").read_text())


def load_target(name, seed):
    files, wanted = TARGETS[name]
    found = [m for file in files for m in mutations.find(file, source_of(file))]
    known = {target["id"]: target["filename"] for target in introspect("targets")}
    by_program = {}
    for test in introspect("tests"):
        if not any(suite.endswith("slow") for suite in test["suite"]):
            by_program.setdefault(Path(test["cmd"][0]).name, test)
    tests = [by_program[program] for program in wanted]
    needed = {path for test in tests for i in test["depends"] for path in known[i]}
    programs = sorted(os.path.relpath(path, BUILD) for path in needed)
    return Target(name, mutations.choose(found, random.Random(f"{seed} {name}")), tests, programs)


# -- judging ------------------------------------------------------------------------------------------


def run_test(test, until):
    """What became of a test: "", "failed", "did not end"."""
    process = subprocess.Popen([*CAGE, *test["cmd"]], env={**os.environ, **test["env"]}, cwd=BUILD,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        code = process.wait(max(until - time.monotonic(), 0.1))
        return "" if code in (0, 77) else "failed"
    except subprocess.TimeoutExpired:
        return "did not end"
    finally:
        process.kill()  # and all that it started, by its namespace
        process.wait()


def judge(target):
    """Which test noticed, and how; None: none did."""
    until = time.monotonic() + target.limit_s
    for test in target.tests:
        outcome = run_test(test, until)
        if outcome:
            return f"{Path(test['cmd'][0]).name} {outcome}"
    return None


def check_source(target):
    """The source as it is passes, and says how long that takes."""
    is_built, text = build(target.programs)
    if not is_built:
        sys.exit(f"{target.name}: the tree does not build\n{text[-3000:]}")
    began = time.monotonic()
    target.limit_s = 600
    if found := judge(target):
        sys.exit(f"{target.name}: without a change {found}")
    took = time.monotonic() - began
    target.limit_s = max(LIMIT_S, 4 * took)
    say(f"{target.name}: {len(target.order)} mutations; the tests take {took:.1f} s, "
        f"mutants have {target.limit_s:.0f} s")


def difference(mutation):
    source = source_of(mutation.file)
    lines = [text.splitlines(keepends=True) for text in (source, mutation.apply(source))]
    return "".join(difflib.unified_diff(*lines, mutation.file, mutation.file, n=2))


def try_mutation(target, mutation):
    """Whether it compiled, and was judged."""
    place = TREE / mutation.file
    source = source_of(mutation.file)
    place.write_text(mutation.apply(source))
    try:
        if not build(target.programs)[0]:
            return False
        began = time.monotonic()
        found = judge(target)
        took = time.monotonic() - began
    finally:
        place.write_text(source)
    what = f"{target.name}: {mutation.file}:{mutation.line}, {mutation.kind}"
    if found:
        target.n_killed += 1
        say(f"{what}: {found} after {took:.1f} s")
    else:
        target.survivors.append(mutation)
        say(f"{what}: SURVIVED\n{difference(mutation)}{reason_of(mutation)}")
    return True


def reason_of(mutation):
    """Why no test can notice it, where a person has looked: "FILE | LINE | IT CHANGED | REASON"."""
    source = source_of(mutation.file)
    lines = [text.splitlines()[mutation.line - 1].strip() for text in (source, mutation.apply(source))]
    for entry in REVIEWED.read_text().splitlines():
        parts = [part.strip() for part in entry.split(" | ")]
        if len(parts) == 4 and parts[:3] == [mutation.file, *lines]:
            return f"  looked at: {parts[3]}\n"
    return ""


# -- all of it ----------------------------------------------------------------------------------------


def run(names, count, seed):
    set_up()
    targets = [load_target(name, seed) for name in names]
    n_refused = 0
    for target in targets:
        check_source(target)
    while count > 0 and any(target.order for target in targets):
        for target in targets:
            is_judged = False
            while count > 0 and target.order and not is_judged:
                is_judged = try_mutation(target, target.order.pop(0))
                n_refused += not is_judged
            count -= is_judged
    return targets, n_refused


def report(targets, n_refused):
    for target in targets:
        say(f"{target.name}: {target.n_judged()} mutants, {target.n_killed} killed")
    n = sum(target.n_judged() for target in targets)
    n_killed = sum(target.n_killed for target in targets)
    n_seen = sum(bool(reason_of(m)) for target in targets for m in target.survivors)
    percent = 100 * n_killed / max(n - n_seen, 1)
    say(f"{n} mutants, {n_killed} killed, {n - n_killed} survived, of which {n_seen} cannot be noticed, as "
        f"{REVIEWED.name} says; the compiler refused {n_refused} more")
    say(f"{n - n_seen} mutants that can be noticed, {n_killed} killed: {percent:.1f} %")
    return 0 if percent >= ENOUGH else 1


SAMPLE = """/* a < b */
enum { N = 3 };
static int sample(int a, int b)
{
    assert(a < b);
    if (a <= b && b > 4)
        count(a + 1, "1 < 2");
    return open(a, 010);
}
"""


def self_test():
    """Of a sample, exactly these changes are found."""
    found = {(m.kind, m.line, SAMPLE[m.start:m.end], m.text) for m in mutations.find("x.c", SAMPLE)}
    wanted = {("relation", 6, "<=", "<"), ("relation", 6, ">", ">="), ("joint", 6, "&&", "||"),
              ("constant", 6, "4", "5"), ("condition", 6, "(a <= b && b > 4)", "(!(a <= b && b > 4))"),
              ("off by one", 7, "+", "-"), ("constant", 7, "1", "2"),
              ("constant", 8, "010", "9"),
              ("statement", 7, 'count(a + 1, "1 < 2");', ";")}
    for one in found ^ wanted:
        say(f"{'missed' if one in wanted else 'too much'}: {one}")
    orders = [[m.start for m in mutations.choose(mutations.find("x.c", SAMPLE), random.Random("7"))]
              for _ in range(2)]
    return int(found != wanted or orders[0] != orders[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("target", nargs="*", choices=[*TARGETS, []])
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    os.environ.setdefault("NNHAL_SHARED", str(ROOT.parent / "shared"))
    return report(*run(options.target or list(TARGETS), options.count, options.seed))


if __name__ == "__main__":
    sys.exit(main())
