# SPDX-License-Identifier: Apache-2.0
"""What nnhal promises beside its peers, and what a run of scripts/bench-peers.py kept of it.

Each promise is one line: its name, how many of its cases hold, and the cases that do not. The program
that measured ends with the code of the first promise that fell.
"""

import math
import statistics
from pathlib import Path

HAS_VNNI = "avx512_vnni" in Path("/proc/cpuinfo").read_text()
SHORTEST_MS = 0.02
# Of the faster peer's time: geometric means of classes, with one thread and with two.
CLASSES = (("uint8, over 1 ms", (0.35, 0.40) if HAS_VNNI else (0.70, 0.75)),
           ("int8, over 1 ms", (0.55, 0.60) if HAS_VNNI else (0.70, 0.75)),
           ("float, over 1 ms", (0.85, 0.90) if HAS_VNNI else (0.95, 0.95)),
           (f"between {SHORTEST_MS} and 1 ms", (0.65, 0.75) if HAS_VNNI else (0.75, 0.80)),
           (f"all above {SHORTEST_MS} ms", (0.55, 0.60) if HAS_VNNI else (0.75, 0.80)))
MODEL_RATIO, SHORT_MS = 1.03, 0.0004
GAIN, GAIN_FROM_MS = 1.75, 2
BUSY = 2.2
FIRST_MS, FIRST_BELOW_MS = 1, 0.1
OPERATION_MS = 0.02
DELEGATE_RATIO, DELEGATE_MS = 1.03, 0.005
CODES = {"classes": 10, "models": 11, "threads": 12, "contention": 13, "first": 14, "compile": 15,
         "delegate": 16}


def geometric_mean(values):
    return math.exp(statistics.mean(math.log(v) for v in values)) if values else None


def groups_of(rows):
    """{class: [ratios]} of rows (name, kind, nnhal's time, the faster peer's time)."""
    def ratios(test):
        return [time / rival for _, kind, time, rival in rows if rival and test(kind, time)]

    tests = [lambda k, t: k == "uint8" and t > 1, lambda k, t: k == "int8" and t > 1,
             lambda k, t: k == "float" and t > 1, lambda _, t: SHORTEST_MS <= t <= 1,
             lambda _, t: t >= SHORTEST_MS]
    return {title: ratios(test) for (title, _), test in zip(CLASSES, tests)}


class Promises:
    """Cases by promise: (text, what was measured, what is allowed)."""

    def __init__(self):
        self.cases = {name: [] for name in CODES}

    def add(self, promise, text, value, limit):
        if value is not None and limit is not None:
            self.cases[promise].append((text, value, limit))

    def add_ratios(self, rows, threads):
        for title, limits in CLASSES:
            self.add("classes", f"{title}, {threads} thread(s)",
                     geometric_mean(groups_of(rows)[title]), limits[threads - 1])
        for name, _, time, rival in rows:
            if rival:
                limit = rival * MODEL_RATIO if time >= SHORTEST_MS else rival + SHORT_MS
                self.add("models", f"{name}, {threads} thread(s)", time, limit)

    def add_gain(self, name, one, two):
        if one and two and one > GAIN_FROM_MS:
            self.add("threads", name, two, one / GAIN)

    def add_contention(self, name, quiet, busy):
        self.add("contention", name, busy, quiet and quiet * BUSY)

    def add_first(self, name, nnhal, median, rival):
        self.add("first", name, nnhal, FIRST_MS if median < FIRST_BELOW_MS else rival)

    def add_compile(self, name, nnhal, rival, bytes_ms, n_operations):
        limit = 1 + 2 * bytes_ms + OPERATION_MS * n_operations
        self.add("compile", name, nnhal, min(limit, rival / 2) if rival else limit)

    def add_delegate(self, name, nnhal, delegate, copies_ms):
        self.add("delegate", name, delegate, nnhal * DELEGATE_RATIO + copies_ms + DELEGATE_MS)

    def fallen(self, promise):
        return [(text, value, limit) for text, value, limit in self.cases[promise] if value > limit]

    def lines(self):
        yield "### Promises\n"
        yield "| promise | kept | measured above the limit |"
        yield "|---|---|---|"
        for name, cases in self.cases.items():
            bad = sorted(self.fallen(name), key=lambda case: case[2] / case[1])
            told = "; ".join(f"{text}: {value:.4g} ({limit:.4g})" for text, value, limit in bad[:12])
            more = f"; and {len(bad) - 12} more" if len(bad) > 12 else ""
            yield f"| {name} | {len(cases) - len(bad)} of {len(cases)} | {told}{more} |"
        yield ""

    def code(self):
        return next((code for name, code in CODES.items() if self.fallen(name)), 0)
