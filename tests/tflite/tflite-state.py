#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recurrent model whose state stays in the device, by tflite-state.

    tflite-state.py --program tflite-state --mode MODE

1,000 steps with the state in memories of the device must give the bits of 1,000
steps with copies. The model is one of $NNHAL_SHARED (default: ../shared), without it one made here.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import recorded

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
sys.path.insert(0, str(ROOT / "tests" / "support"))
import service  # noqa: E402

N_STEPS = 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--mode", default="embedded")
    options = parser.parse_args()
    model = recorded.SHARED / "dtln_model_1" / "model.tflite"
    if not recorded.is_shared():
        model = recorded.BUILD / "tests" / "tflite" / "state.tflite"
    with service.way(Path(os.environ["NNHAL_BUILD_ROOT"]), options.mode, "cpu") as environment:
        return subprocess.run([options.program, model, "nnhal-cpu", str(N_STEPS)],
                              env=environment, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())
