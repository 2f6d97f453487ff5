#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Millions of executions by every path, while other clients come and are killed.

    soak.py BUILD PROGRAM [--executions N] [--rounds N] [--seed N] [--only MODE:DEVICE:PATH]

In each round applications of two users compute in the three modes, with both drivers, by every path
and with caches, N / rounds executions together; others are killed in the middle. The services
live through all rounds. In the last third of them their own memory, as the median of the rounds, is
larger than in the third before by at most 1 % of what they have resident: blocks that live lie in
other pages after each round, which alone makes 3 % of the own memory. Descriptors and threads come
back to what a new service holds, and the slowest of 100 computations does not become slower. No
private child outlives its application. --only makes a part of it: one kind of application (may be
given more than once).
"""

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

USERS = (64001, 64002)
MODES = ("embedded", "private", "service")
DEVICES = ("sample", "cpu")
PATHS = ("all", "burst", "fenced", "buffer", "cached")
AT_ONCE = 2
KILLED = 10         # of each round
SETTLED = 10        # seconds, in which threads without work end
GROWTH = 0.01       # of a service's resident memory
FLAT = 1.01         # of an application's own memory,
YOUNG_KIB = 1024    # and so much more, because it has not run for long
POOLED = (24, 64)   # descriptors, threads that come and go: of pools, of memories that are kept
SLOWER = 2          # that the 99th of 100 may become, each half's in its quietest moment
LONG_HALF = 4       # rounds, which have a quiet moment
KEPT = (4, 1)       # descriptors, threads that a service keeps once it has had a client


def demote(user):
    def become():
        if os.geteuid() == 0:
            os.setgid(user)
            os.setuid(user)
    return become


def held(pid):
    """Descriptors, threads, own KiB and resident KiB of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    own, resident = (int(status[name].split()[0]) for name in ("RssAnon", "VmRSS"))
    return (len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task")), own, resident)


def host_of(pid):
    """The process that a service runs its driver in."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else pid


class Soak:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.random = random.Random(options.seed)
        self.services = {}
        self.begun = {}     # service: what it held at first
        self.slow = {}      # kind: the 99th of 100 of each round, in its quietest tenth
        self.bad = []

    def complain(self, text):
        print("BAD " + text, flush=True)
        self.bad.append(text)

    def environment(self, mode, user):
        state = Path(self.folder) / f"state-{user}"
        return dict(os.environ, NNHAL_MODE=mode, NNHAL_SOCKET_PATH=self.folder,
                    NNHAL_HOST=f"{self.options.build}/nnhal-host",
                    NNHAL_DRIVER_PATH=f"{self.options.build}/nnhal-drivers",
                    NNHAL_STATE_PATH=str(state))

    def serve(self, device):
        # What an allocator keeps for threads that come and go would take millions of calls to
        # become flat.
        environment = dict(self.environment("service", 0), MALLOC_ARENA_MAX="1")
        service = subprocess.Popen([environment["NNHAL_HOST"], device], env=environment,
                                   stdin=subprocess.DEVNULL)
        self.services[device] = service
        until = time.monotonic() + 60
        while not (Path(self.folder) / f"{device}.sock").exists():
            if service.poll() is not None or time.monotonic() > until:
                sys.exit(f"the service {device} does not start")
            time.sleep(0.02)
        self.begun[device] = held(host_of(service.pid))

    def start(self, kind, user, n):
        mode, device, path = kind
        command = [self.options.program, f"nnhal-{device}", "all" if path == "cached" else path,
                   str(n), str(self.random.randrange(1, 1 << 30))]
        if path == "cached":
            command.append(f"{self.folder}/cache-{user}")
        return subprocess.Popen(command, env=self.environment(mode, user), text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                preexec_fn=demote(user))

    def judge(self, kind, process):
        """What an application printed: flat, and as fast as before."""
        name = ":".join(kind)
        text, _ = process.communicate()
        if process.returncode:
            self.complain(f"{name} ended with {process.returncode}")
            return
        tenths = [[int(word) for word in line.split()] for line in text.splitlines()]
        early, late = tenths[2:5], tenths[7:]
        for i, what in enumerate(("descriptors", "threads")):
            if min(t[i] for t in late) > max(t[i] for t in early) + POOLED[i]:
                self.complain(f"{name}: {what}: {[t[i] for t in tenths]}")
        if min(t[2] for t in late) > max(t[2] for t in early) * FLAT + YOUNG_KIB:
            self.complain(f"{name}: memory: {[t[2] for t in tenths]} KiB")
        self.slow.setdefault(name, []).append(min(t[4] for t in tenths))

    def kill_some(self, kinds):
        """Applications that die in the middle of anything."""
        kind = self.random.choice(kinds)
        process = self.start(kind, self.random.choice(USERS), 10 ** 9)
        time.sleep(self.random.uniform(0.02, 0.3))
        process.kill()
        process.communicate()

    def run_round(self, kinds, n):
        running = []
        for i, kind in enumerate(kinds):
            if len(running) == AT_ONCE:
                self.judge(*running.pop(0))
            running.append((kind, self.start(kind, USERS[i % 2], n)))
            if i % max(1, len(kinds) // KILLED) == 0:
                self.kill_some(kinds)
        for one in running:
            self.judge(*one)

    def settle(self, seconds):
        """What services hold when the threads of their pools have gone, or so long after."""
        until = time.monotonic() + seconds
        while True:
            for device, service in self.services.items():
                if service.poll() is not None:
                    sys.exit(f"the service {device} has ended")
            now = {device: held(host_of(service.pid)) for device, service in self.services.items()}
            if time.monotonic() > until or all(now[d][1] <= self.begun[d][1] + KEPT[1] for d in now):
                return now
            time.sleep(0.05)

    def left(self):
        """Processes of this soak that are no services: private children without their parent."""
        mark = f"NNHAL_SOCKET_PATH={self.folder}\0".encode()
        known = {service.pid for service in self.services.values()}
        known |= {host_of(pid) for pid in known}
        found = []
        for entry in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in entry.read_bytes() and int(entry.parent.name) not in known:
                    found.append(int(entry.parent.name))
        return found

    def expect_none_left(self):
        until = time.monotonic() + SETTLED
        while self.left() and time.monotonic() < until:
            time.sleep(0.05)
        for pid in self.left():
            self.complain(f"process {pid} is left: {Path(f'/proc/{pid}/cmdline').read_bytes()}")

    def run(self, kinds):
        each = self.options.executions // self.options.rounds // len(kinds)
        rows = {device: [] for device in self.services}
        for number in range(self.options.rounds):
            began = time.monotonic()
            self.run_round(kinds, each)
            seconds = time.monotonic() - began
            is_last = number == self.options.rounds - 1
            for device, now in self.settle(SETTLED if is_last else self.options.settle).items():
                rows[device].append(now)
            print(f"round {number + 1}: {each * len(kinds)} executions in {seconds:.0f} s; "
                  + "; ".join(f"{d}: {r[-1][0]} descriptors, {r[-1][1]} threads, {r[-1][2]} KiB"
                              for d, r in rows.items()), flush=True)
        self.expect_none_left()
        self.compare(rows)

    def compare(self, rows):
        half, third = self.options.rounds // 2, max(1, self.options.rounds // 3)
        for device, row in rows.items():
            first, last = self.begun[device], row[-1]
            if any(last[i] > first[i] + KEPT[i] for i in range(2)):
                self.complain(f"service {device}: descriptors, threads: {first}, then {last}")
            before, after = (statistics.median(h[2] for h in rounds)
                             for rounds in (row[-2 * third:-third], row[-third:]))
            print(f"service {device}: {before:.0f} KiB of its own in the third before the last, "
                  f"{after:.0f} in the last, {last[3]} resident")
            if after - before > last[3] * GROWTH + self.options.slack_kib:
                self.complain(f"service {device}: memory: {[h[2] for h in row]} KiB")
        for name, slow in sorted(self.slow.items()):
            early, late = min(slow[:half], default=0), min(slow[half:], default=0)
            print(f"{name}: the 99th of 100 took {early / 1000:.0f} us in the first half, "
                  f"{late / 1000:.0f} us in the second")
            if half >= LONG_HALF and late > early * SLOWER:
                self.complain(f"{name}: the 99th of 100: {slow} ns")


def choose(only):
    kinds = [(mode, device, path) for mode in MODES for device in DEVICES for path in PATHS]
    return [k for k in kinds if not only or ":".join(k) in only]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("program", type=Path)
    parser.add_argument("--executions", type=int, default=10 ** 7)
    parser.add_argument("--rounds", type=int, default=40, help="2 or more")
    parser.add_argument("--slack-kib", type=int, default=0)
    parser.add_argument("--settle", type=float, default=SETTLED, help="seconds, after a round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    options.build = options.build.resolve()
    kinds = choose(options.only)
    if not kinds:
        parser.error("no such kind")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        os.chmod(folder, 0o755)
        for user in USERS:
            for name in (f"cache-{user}", f"state-{user}"):
                (Path(folder) / name).mkdir()
                if os.geteuid() == 0:
                    os.chown(Path(folder) / name, user, user)
        soak = Soak(options, folder)
        stack.callback(lambda: [s.terminate() or s.wait() for s in soak.services.values()])
        for device in sorted({k[1] for k in kinds if k[0] == "service"}):
            soak.serve(device)
        soak.run(kinds)
    print(f"{len(soak.bad)} complaints")
    return 1 if soak.bad else 0


if __name__ == "__main__":
    sys.exit(main())
