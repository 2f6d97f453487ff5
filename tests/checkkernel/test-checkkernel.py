#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""checkkernel finds each fault that it is there to find, tells how to see it again, and is used right.

    test-checkkernel.py CHECKKERNEL SPOILT

SPOILT is the same program with a table of rows that are wrong on purpose (spoilt.c).
"""

import re
import subprocess
import sys

# What the line of each spoilt row must say.
FAULTS = {
    "wrong_tail": "output 0 differs in",
    "reads_behind": "touches byte 1 behind input 0",
    "reads_before": "touches byte 1 before input 0",
    "writes_behind": "byte 1 behind output 0",
    "writes_input": "touches byte 0 in input 0",
    "aligned": "output 0 differs in 1 of",
    "control_word": "changes the floating-point control word in run()",
    "scratch": "behind the scratch of worker|behind the workers' scratch",
    "one_range": "output 0 differs in",
    "epilogue": "leaves out the epilogue of element",
    "in_place": "output 0 differs in .* in place of",
    "takes_nothing": "takes none of 1600 cases",
    "last_product": "output 0 differs in",
}
CONTROL_WORD_NEEDS = "x86_64"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def line_of(output, row):
    return next((line for line in output.splitlines() if f" spoilt_{row}__c:" in line), "")


def check(is_so, what, output):
    if not is_so:
        sys.exit(f"{what}\n{output}")


def check_faults(spoilt, has_control_word):
    status, output = run(spoilt, "spoilt_")
    check(status == 1, "spoilt rows pass", output)
    for row in ("nothing", "nothing_fused"):
        check(line_of(output, row).startswith("ok "), "a row without fault fails", output)
    check("skipped  spoilt_no_generator__c: its operation has no shape generator" in output,
          "a row without generator is not told", output)
    for row, words in FAULTS.items():
        if row == "control_word" and not has_control_word:
            continue
        line = line_of(output, row)
        check(line.startswith("FAILED ") and re.search(words, line),
              f"{row} does not fail with {words!r}", output)
        if row == "takes_nothing":
            continue
        seed = re.search(r"again with --seed (\d+) --rounds 1$", line)
        check(seed, f"{row} tells no seed", line)
        again = run(spoilt, "--seed", seed.group(1), "--rounds", "1", f"spoilt_{row}__c")
        check(again[0] == 1 and line_of(again[1], row) == line, f"{row} fails in another way again",
              line + "\n" + again[1])


def check_command(checkkernel):
    for arguments in (["--isa", "z80"], ["--rounds", "0"], ["--seed", "x"], ["--what"], ["a", "b"]):
        status, output = run(checkkernel, *arguments)
        check(status == 2 and "usage:" in output, f"{arguments} is taken", output)
    status, output = run(checkkernel, "no_row_has_this_name")
    check(status == 1 and "0 rows ok, 0 failed, 0 skipped" in output, "no row is enough", output)
    status, output = run(checkkernel, "--isa", "c", "--rounds", "2", "relu?_f32__*")
    rows = re.findall(r"^ok       (\S+): 2 cases$", output, re.M)
    check(status == 0 and rows == ["relu1_f32__c", "relu6_f32__c"], "a pattern and a set", output)
    status, output = run(checkkernel, "--bench", "--isa", "c", "relu_f32__c")
    check(status == 0 and re.search(r"relu_f32__c +[\d.]+ us +[\d.]+ GB/s +\d+ % +1?[\d.]+ x plain C",
                                    output), "a benchmark", output)


def main(checkkernel, spoilt):
    check_command(checkkernel)
    check_faults(spoilt, run("uname", "-m")[1].strip() == CONTROL_WORD_NEEDS)


main(*sys.argv[1:])
