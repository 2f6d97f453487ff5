# SPDX-License-Identifier: Apache-2.0
"""Models with recorded inputs and golden outputs, for tests in Python.

    with recorded.models() as folder: ...    # folder/NAME/model.tflite, meta.json, inN_I.bin, goldenN_I.bin

They are those of $NNHAL_SHARED/models (default: ../shared). Where it is not there they are models of this
repository and of the build folder, whose golden outputs nnapi-reference computes on inputs made here: a line says
so.
"""

import array
import contextlib
import json
import os
import random
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(os.environ.get("NNHAL_SOURCE_ROOT") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("NNHAL_BUILD_ROOT") or ROOT / "build")
SHARED = Path(os.environ.get("NNHAL_SHARED", ROOT.parent / "shared")) / "models"

GLYPHS = [ROOT / "models" / "glyphs" / f"glyphs-{kind}.tflite" for kind in ("int8", "float")]
MADE = GLYPHS + [BUILD / "tests" / "tflite" / f"{name}.tflite"
                 for name in ("extension", "quantized-lstm", "small-ops", "sparse", "state")]
N_SETS = 2
CODES = {"FLOAT32": "f", "INT32": "i", "UINT8": "B", "INT8": "b", "INT16": "h", "BOOL": "B", "INT64": "q"}


def is_shared():
    return SHARED.is_dir()


def random_values(rng, tensor):
    code = CODES[tensor["type"]]
    n = 1
    for dim in tensor["shape"]:
        n *= dim
    if code == "f":
        return array.array(code, [rng.uniform(-1, 1) for _ in range(n)])
    return array.array(code, [rng.randint(0, 100) for _ in range(n)])


def record(model, folder):
    """Makes the files of one model."""
    nnhal, environment = BUILD / "nnhal", dict(os.environ, NNHAL_MODE="embedded")
    told = json.loads(subprocess.run([nnhal, "info", "--json", model], check=True, capture_output=True,
                                     stdin=subprocess.DEVNULL, env=environment).stdout)
    meta = {side: [{"type": tensor["type"].upper(), "shape": tensor["dimensions"]} for tensor in told[side]]
            for side in ("inputs", "outputs")}
    meta["sets"] = [{"set": number} for number in range(N_SETS)]
    folder.mkdir()
    (folder / "model.tflite").symlink_to(model)
    (folder / "meta.json").write_text(json.dumps(meta))
    for number in range(N_SETS):
        rng, command = random.Random(number), [nnhal, "run", model, "--device", "nnapi-reference"]
        for i, tensor in enumerate(meta["inputs"]):
            path = folder / f"in{number}_{i}.bin"
            path.write_bytes(random_values(rng, tensor).tobytes())
            command += ["--input", path]
        for i in range(len(meta["outputs"])):
            command += ["--output", folder / f"golden{number}_{i}.bin"]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)


def folders(models, names):
    """Those of the named models, of all where none is named."""
    return sorted(p.parent for p in models.glob("*/meta.json") if not names or p.parent.name in names)


@contextlib.contextmanager
def models(made=MADE):
    """made: which of this repository's where there are no others."""
    if is_shared():
        yield SHARED
        return
    print(f"SKIPPED: no {SHARED}, so models of this repository alone, beside nnapi-reference (set NNHAL_SHARED)")
    with tempfile.TemporaryDirectory() as name:
        for model in made:
            record(model, Path(name) / model.stem)
        yield Path(name)
