#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow Lite's calls, made by tflite-client, on three real models.

    tflite-client.py --client tflite-client --mode MODE

Outputs are held to the same tolerance as in golden-models.py. Without
$NNHAL_SHARED (default: ../shared) the models are those of this repository (recorded.py).
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import recorded

HERE = Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("golden_models", HERE / "golden-models.py")
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)

# One with constants at offsets that are multiples of 4 only, one int8 per channel, one float.
MODELS = ["mobilenet_v1_0.25_128_quant", "kws_ref_int8", "resnet8_float"]


def check(client, environment, folder):
    meta = json.loads((folder / "meta.json").read_text())
    number = meta["sets"][0]["set"]
    inputs = [folder / f"in{number}_{i}.bin" for i in range(len(meta["inputs"]))]
    recorded = meta.get("max_abs_diff_tflite_optimized_vs_golden") or [0] * len(meta["outputs"])
    with tempfile.TemporaryDirectory() as temporary:
        done = subprocess.run([client, folder / "model.tflite", temporary, *inputs],
                              env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode:
            yield f"exit status {done.returncode}: {done.stderr.strip()}"
            return
        for i, output in enumerate(meta["outputs"]):
            wanted = (folder / f"golden{number}_{i}.bin").read_bytes()
            got = (Path(temporary) / f"out{i}").read_bytes()
            worst, allowed = golden.difference(got, wanted, output["type"])
            if not worst <= (recorded[i] if allowed is None else allowed):
                yield f"output {i} differs by {worst:g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--client", required=True)
    parser.add_argument("--mode", default="embedded")
    options = parser.parse_args()
    bad = 0
    with recorded.models(recorded.GLYPHS) as models, \
            golden.service.way(recorded.BUILD, options.mode, "cpu") as environment:
        folders = recorded.folders(models, MODELS if recorded.is_shared() else [])
        for folder in folders:
            for complaint in check(options.client, environment, folder):
                print(f"{folder.name}: {complaint}")
                bad += 1
    return 1 if bad or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
