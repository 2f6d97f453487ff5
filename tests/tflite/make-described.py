#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a .tflite file that describes itself, and spoilt variants of it.

    make-described.py FLATC MODEL_SCHEMA METADATA_SCHEMA FOLDER

FOLDER/described-sound.tflite takes a sound, and FOLDER/described-stereo.tflite one of two channels. FOLDER/described.tflite is a picture of 2 x 2 pixels through one operation, with a normalization,
labels and a calibration; in described-KIND.tflite something of that is missing or damaged.
"""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

LABELS = "night\r\nday\nred \x1b[31m sky\n"
CALIBRATION = "1,2,-1,0.25\n\n0.5,1,0\n"
SUFFIXES = {"model": "tflite", "metadata": "bin"}  # that flatc gives
FILES = {"labels.txt": LABELS, "calibration.csv": CALIBRATION}

METADATA = {
    "name": "made here", "description": "tells night from day", "version": "3",
    "author": "nnhal", "license": "Apache-2.0",
    "subgraph_metadata": [{
        "input_tensor_metadata": [{
            "name": "picture", "description": "of the sky",
            "process_units": [{"options_type": "NormalizationOptions",
                               "options": {"mean": [1, 2, 3], "std": [4]}}],
        }],
        "output_tensor_metadata": [{
            "name": "scores",
            "process_units": [{"options_type": "ScoreCalibrationOptions",
                               "options": {"score_transformation": "INVERSE_LOGISTIC",
                                           "default_score": 0.125}}],
            "associated_files": [
                {"name": "readme.txt", "type": "DESCRIPTIONS"},
                {"name": "labels.txt", "type": "TENSOR_AXIS_LABELS"},
                {"name": "etiketten.txt", "type": "TENSOR_AXIS_LABELS", "locale": "de"},
                {"name": "calibration.csv", "type": "TENSOR_AXIS_SCORE_CALIBRATION"},
            ],
        }],
    }],
}


def model(metadata):
    """A mean over the pixels: [1, 2, 2, 3] -> [1, 3]."""
    axes = [1, 0, 0, 0, 2, 0, 0, 0]
    return {
        "version": 3,
        "operator_codes": [{"deprecated_builtin_code": 40, "builtin_code": "MEAN"}],
        "subgraphs": [{
            "tensors": [
                {"name": "x", "shape": [1, 2, 2, 3], "type": "FLOAT32", "buffer": 0},
                {"name": "axes", "shape": [2], "type": "INT32", "buffer": 1},
                {"name": "y", "shape": [1, 3], "type": "FLOAT32", "buffer": 0},
            ],
            "inputs": [0], "outputs": [2],
            "operators": [{"opcode_index": 0, "inputs": [0, 1], "outputs": [2],
                           "builtin_options_type": "ReducerOptions",
                           "builtin_options": {"keep_dims": False}}],
        }],
        "buffers": [{}, {"data": axes}, {"data": list(metadata)}],
        "metadata": [{"name": "min_runtime_version", "buffer": 0},
                     {"name": "TFLITE_METADATA", "buffer": 2}],
    }


SOUND = {"subgraph_metadata": [{"input_tensor_metadata": [{"name": "sound", "content": {
    "content_properties_type": "AudioProperties", "content_properties": {"sample_rate": 8000, "channels": 1}}}],
    "output_tensor_metadata": [{"name": "scores", "associated_files": [
        {"name": "labels.txt", "type": "TENSOR_AXIS_LABELS"}]}]}]}


def sound_model(metadata):
    """Three samples are three scores."""
    made = model(metadata)
    made["operator_codes"] = [{"deprecated_builtin_code": 0, "builtin_code": "ADD"}]
    made["subgraphs"] = [{
        "tensors": [{"name": name, "shape": [1, 3], "type": "FLOAT32", "buffer": buffer}
                    for name, buffer in (("x", 0), ("zeros", 1), ("y", 0))],
        "inputs": [0], "outputs": [2],
        "operators": [{"opcode_index": 0, "inputs": [0, 1], "outputs": [2], "builtin_options_type": "AddOptions",
                       "builtin_options": {}}]}]
    made["buffers"][1] = {"data": [0] * 12}
    return made


class Maker:
    def __init__(self, flatc, model_schema, metadata_schema, folder):
        self.flatc, self.folder = flatc, Path(folder)
        self.schemas = {"model": model_schema, "metadata": metadata_schema}

    def compiled(self, kind, content):
        source = self.folder / f"described-{kind}.json"
        source.write_text(json.dumps(content))
        subprocess.run([self.flatc, "--binary", "-o", self.folder, self.schemas[kind], source],
                       check=True)
        return (self.folder / f"described-{kind}.{SUFFIXES[kind]}").read_bytes()

    def write(self, name, metadata, files, make=model):
        path = self.folder / f"{name}.tflite"
        path.write_bytes(self.compiled("model", make(metadata)))
        if files:
            with zipfile.ZipFile(path, "a") as archive:
                for inside, text in files.items():
                    archive.writestr(inside, text, zipfile.ZIP_DEFLATED)
        return path


def damage(path):
    """Turns bytes of the archive's first file around."""
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x03\x04") + 30 + len("labels.txt")
    for i in range(at, at + 8):
        content[i] ^= 0xFF
    path.write_bytes(content)


def main(flatc, model_schema, metadata_schema, folder):
    maker = Maker(flatc, model_schema, metadata_schema, folder)
    metadata = maker.compiled("metadata", METADATA)
    maker.write("described", metadata, FILES)
    maker.write("described-sound", maker.compiled("metadata", SOUND), {"labels.txt": LABELS}, sound_model)
    stereo = json.loads(json.dumps(SOUND).replace('"channels": 1', '"channels": 2'))
    maker.write("described-stereo", maker.compiled("metadata", stereo), {}, sound_model)
    maker.write("described-without-files", metadata, {})
    maker.write("described-bad-line", metadata, dict(FILES, **{"calibration.csv": "1,2\n"}))
    maker.write("described-many-lines", metadata, dict(FILES, **{"labels.txt": "\n" * (1 << 17)}))
    maker.write("described-large", metadata, dict(FILES, **{"labels.txt": "x\n" * (5 << 20)}))
    maker.write("described-damaged", metadata[:40] + bytes(len(metadata) - 40), FILES)
    bad_name = json.loads(json.dumps(METADATA).replace("labels.txt", "labels \\u001b]0;"))
    bad_name["name"] = "caf\u00e9 \u0085 X"
    content = maker.compiled("metadata", bad_name).replace(b" X", b" \xff")
    maker.write("described-bad-name", content, FILES)
    many = json.loads(json.dumps(METADATA))
    many["subgraph_metadata"][0]["input_tensor_metadata"][0]["process_units"][0]["options"][
        "mean"] = [1] * 5000
    maker.write("described-many-channels", maker.compiled("metadata", many), FILES)
    bad_norm = json.loads(json.dumps(METADATA))
    bad_norm["subgraph_metadata"][0]["input_tensor_metadata"][0]["process_units"][0]["options"][
        "std"] = [4, 0, 4]
    maker.write("described-bad-norm", maker.compiled("metadata", bad_norm), FILES)
    damage(maker.write("described-bad-archive", metadata, FILES))


main(*sys.argv[1:])
