#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every stage of a compilation gives the same bits.

    stages-models.py --nnhal build/nnhal --nnt build/nnt [MODEL...]

Every model of $NNHAL_SHARED/models runs on its first recorded inputs compiled whole, compiled
quickly, optimized while it is repeated, and from the cache that this has left; the bytes of
the outputs are compared. Then a sample of $NNHAL_SHARED/vectors runs quick, and optimized
after its first execution. Without $NNHAL_SHARED (default: ../shared) models of this repository
(recorded.py) and the oracle's vectors do.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import recorded

QUICK = {"NNHAL_DEFER": "on", "NNHAL_OPTIMIZE_AFTER": "0"}
SWAPPED = {"NNHAL_DEFER": "on", "NNHAL_OPTIMIZE_AFTER": "1"}
VECTORS = ["add", "conv_2d", "depthwise_conv_2d", "fully_connected", "reshape", "softmax"]


def run(nnhal, folder, meta, environment, *options):
    """The bytes of all outputs."""
    with tempfile.TemporaryDirectory() as temporary:
        outputs = [Path(temporary) / f"out{i}" for i in range(len(meta["outputs"]))]
        command = [nnhal, "run", folder / "model.tflite", "--device", "nnhal-cpu", *options]
        for i in range(len(meta["inputs"])):
            command += ["--input", folder / f"in{meta['sets'][0]['set']}_{i}.bin"]
        for path in outputs:
            command += ["--output", path]
        env = dict(os.environ, NNHAL_MODE="embedded", **environment)
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=env, check=False)
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or ["failed"])[-1]
        return [path.read_bytes() for path in outputs]


def differing(nnhal, folder):
    """What is wrong with the stages of a model, beside the whole compilation."""
    meta = json.loads((folder / "meta.json").read_text())
    with tempfile.TemporaryDirectory() as cache:
        wanted = run(nnhal, folder, meta, {"NNHAL_DEFER": "off", "NNHAL_OPTIMIZE_AFTER": "0"})
        stages = {
            "quick": run(nnhal, folder, meta, QUICK),
            "swapped": run(nnhal, folder, meta, SWAPPED, "--repeat", "8", "--cache", cache),
            "from the cache": run(nnhal, folder, meta, {}, "--cache", cache),
        }
    return [f"{name}: {outputs if isinstance(outputs, str) else 'other bits'}"
            for name, outputs in stages.items() if outputs != wanted]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nnhal", required=True)
    parser.add_argument("--nnt", required=True)
    parser.add_argument("model", nargs="*")
    options = parser.parse_args()
    n_bad = 0
    with recorded.models() as models:
        folders = recorded.folders(models, options.model)
        for folder in folders:
            wrong = differing(options.nnhal, folder)
            if wrong:
                print(f"{folder.name}: {', '.join(wrong)}", flush=True)
            n_bad += bool(wrong)
    print(f"{len(folders) - n_bad} of {len(folders)} models have the same bits in every stage")
    files = [recorded.SHARED.parent / "vectors" / f"{name}.nnt" for name in VECTORS]
    if not recorded.is_shared():
        files = [recorded.BUILD / "conformance.nnt"]
    for environment in (QUICK, SWAPPED):
        done = subprocess.run([options.nnt, "--mode", "embedded", "--device", "nnhal-cpu", *files],
                              env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        print(environment, (done.stdout.strip().splitlines() or ["nothing"])[-1])
        n_bad += done.returncode != 0
    return 1 if n_bad or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
