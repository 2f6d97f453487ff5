#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether nnhal-cts names the faults of a driver, and finds none where there are none.

    test-cts.py CTS DRIVERS TEST-DRIVERS NULL-DRIVER

Each fault is planted in a driver that is the CPU driver else (partial/faults.c).
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CTS, DRIVERS, TEST_DRIVERS, NULL = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
PARTIAL = TEST_DRIVERS / 'libnnhal-driver-partial-0.so'
FULL = 400  # checks at least

# fault: the section that has to name it
FAULTS = {'shape': 'operations', 'wrong': 'operations', 'drift': 'reuse', 'stale': 'state', 'race': 'state',
          'overrun': 'paths', 'scribble': 'paths', 'small': 'shapes', 'deadline': 'deadlines',
          'cancel': 'cancellation', 'leak': 'leaks', 'keep': 'leaks', 'key': 'cache', 'trust': 'faults',
          'greedy': 'faults', 'deep': 'deadlines', 'half': 'table', 'untyped': 'table'}

# what is no fault: sections that must not take it for one
HARMLESS = {'untidy': ['faults'], 'lean': ['table', 'operations', 'faults'], 'strict': ['faults']}


def run(driver, *options, rule=''):
    """(exit status, what failed, counts, errors)"""
    done = subprocess.run([CTS, '--driver', driver, '--json', *options], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, env={**os.environ, 'NN_TEST_PARTIAL': rule}, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    failed = ['%(section)s: %(check)s: %(failed)s' % line for line in lines if 'failed' in line]
    return done.returncode, failed, lines[-1], done.stderr


class Kit(unittest.TestCase):
    def passes(self, driver):
        status, failed, counts, errors = run(driver)
        self.assertEqual((status, failed[:10]), (0, []), errors)
        self.assertEqual(counts['n_failed'], 0)
        self.assertGreaterEqual(counts['n_checks'], FULL)
        return counts

    def test_cpu(self):
        counts = self.passes(DRIVERS / 'libnnhal-driver-cpu.so')
        self.assertGreaterEqual(counts['n_passed'], FULL)

    def test_sample(self):
        counts = self.passes(DRIVERS / 'libnnhal-driver-sample.so')
        self.assertGreater(counts['n_passed'], 20)
        self.assertGreater(counts['n_unsupported'], FULL)

    def test_null(self):
        counts = self.passes(NULL)
        self.assertGreater(counts['n_passed'], 5)
        self.assertGreater(counts['n_unsupported'], FULL)

    def test_one_section(self):
        """What the table lacks is said where it is asked for, and counted where it is said."""
        _, failed, counts, _ = run_section('domains', 'untyped')
        self.assertEqual([line for line in failed if not line.startswith('domains')], [])
        self.assertEqual(len(failed), counts['n_failed'])

    def test_no_driver(self):
        """A module that is none fails the check of the table, also where another section is asked for."""
        with tempfile.TemporaryDirectory() as folder:
            module = Path(folder) / 'libnnhal-driver-none.so'
            module.touch()
            status, failed, counts, errors = run(module, '--section', 'reuse')
        self.assertEqual((status, counts['n_checks'], counts['n_failed']), (1, 1, 1), errors)
        self.assertIn('the module is loaded', failed[0])

    def test_hang_ends_soon(self):
        """Nothing that a driver computes ends: two sections tell, the rest is given up."""
        status, failed, _, errors = run(PARTIAL, '--patience', '4', rule='0:fault=hang')
        self.assertEqual(status, 1, errors)
        self.assertIn('did not end within 4 s', failed[0])
        self.assertIn('later sections given up', failed[-1])
        self.assertLess(len(failed), 12)

    def test_stopped(self):
        """Ended by the user, in a check that hangs, the program ends by the signal and leaves nothing."""
        with tempfile.TemporaryDirectory() as folder:
            kit = subprocess.Popen([CTS, '--driver', PARTIAL, '--json'], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, 'NN_TEST_PARTIAL': '0:fault=hang', 'TMPDIR': folder})
            kit.stdout.readline()  # the section before the one that hangs
            kit.terminate()
            self.assertEqual((kit.wait(60), os.listdir(folder)), (-signal.SIGTERM, []))
            kit.stdout.close()

    def test_crash_fails_one_model(self):
        """A driver that crashes where MAXIMUM is to be cached fails no other model."""
        status, failed, counts, errors = run_section('cache', 'frail')
        self.assertEqual(status, 1, errors)
        self.assertEqual([line for line in failed if 'MAXIMUM' not in line], [])
        self.assertGreater(counts['n_passed'], 100)


def run_section(section, fault):
    return run(PARTIAL, '--section', section, rule='0:fault=' + fault)


def add_fault(fault, section):
    def test(self):
        status, failed, _, errors = run_section(section, fault)
        self.assertEqual(status, 1, errors)
        self.assertTrue(failed)
        self.assertTrue(all(line.startswith(section + ': ') for line in failed), failed[:10])

    setattr(Kit, 'test_fault_' + fault, test)


def add_harmless(fault, sections):
    def test(self):
        for section in sections:
            status, failed, counts, errors = run_section(section, fault)
            self.assertEqual((status, failed), (0, []), errors)
            self.assertGreater(counts['n_passed'], 0)

    setattr(Kit, 'test_harmless_' + fault, test)


for name, where in FAULTS.items():
    add_fault(name, where)
for name, where in HARMLESS.items():
    add_harmless(name, where)

if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
