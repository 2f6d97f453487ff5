#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random models, their results computed by the oracle, run through nnt.

    prop.py --nnt build/nnt [--seed N] [--count N] [--op NAME]... [--long]

Each model is named OPERATION_SEED_NUMBER and depends on that name alone:
--op NAME --seed SEED --from NUMBER --count 1 makes one again; --keep FILE keeps
the .nnt file.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)

import case  # noqa: E402
import nnt  # noqa: E402

for module in sorted(f[:-3] for f in os.listdir(FOLDER) if f.startswith('ops_') and f.endswith('.py')):
    importlib.import_module(module)


def make(name, seed, number):
    one = case.Case(name, '%s_%d_%d' % (name, seed, number))
    return case.GENERATORS[name](one, name)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--nnt', help='the runner; without it models are only made')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--from', type=int, default=0, dest='first')
    parser.add_argument('--count', type=int, default=20, help='models per operation')
    parser.add_argument('--op', action='append', help='only these operations')
    parser.add_argument('--part', help='I/N: only the I-th of N parts of the operations')
    parser.add_argument('--long', action='store_true', help='50 times as many')
    parser.add_argument('--seeds', nargs=2, metavar=('FOLDER', 'LIST'),
                        help='write each model into a file in FOLDER, and their names into LIST')
    parser.add_argument('--keep', help='the .nnt file to write')
    parser.add_argument('rest', nargs='*', help='further arguments of nnt, after --')
    return parser.parse_args()


def chosen(options):
    missing = set(nnt.OPERATIONS) - set(case.GENERATORS)
    if missing:
        sys.exit('no generator for ' + ', '.join(sorted(missing)))
    names = options.op or sorted(case.GENERATORS)
    if options.part:
        part, parts = (int(n) for n in options.part.split('/'))
        names = names[part - 1::parts]
    return names


def write_seeds(folder, list_path, models):
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, model.name + '.nnt') for model in models]
    for path, model in zip(paths, models):
        nnt.write(path, [model])
    with open(list_path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(paths) + '\n')


def main():
    options = arguments()
    n = options.count * (50 if options.long else 1)
    numbers = range(options.first, options.first + n)
    models = [make(name, options.seed, i) for name in chosen(options) for i in numbers]
    if options.seeds:
        write_seeds(*options.seeds, models)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or os.path.join(folder, 'oracle.nnt')
        nnt.write(path, models)
        if not options.nnt:
            if not options.keep:
                print('%d models' % len(models))
            return 0
        return subprocess.run([options.nnt, *options.rest, path], stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == '__main__':
    sys.exit(main())
