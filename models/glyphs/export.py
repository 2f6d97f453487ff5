#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes glyphs-float.tflite, glyphs-int8.tflite, labels.txt and pictures/.

    models/glyphs/export.py FILE.npz [--out FOLDER]

The weights come from train.py. The int8 model is quantized after training:
activations per tensor from the ranges seen on distorted pictures of the
training fonts, filters of convolutions per channel, those of dense layers per
tensor, biases int32. flatc (Debian's flatbuffers-compiler) makes the files
from JSON with src/tflite/schema.fbs.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageFont

import glyphs

SCHEMA = Path(__file__).resolve().parents[2] / "src" / "tflite" / "schema.fbs"
N_CONVOLUTIONS = 3
PICTURES = ["7", "A", "e", "R", "2", "G", "K", "W", "4", "n", "q", "S"]


def convolve(x, filters, bias):
    """3x3, stride 1, zero padding: x [N, H, W, Ci] with filters [Co, 3, 3, Ci]."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    columns = np.concatenate([padded[:, i:i + x.shape[1], j:j + x.shape[2]]
                              for i in range(3) for j in range(3)], axis=3)
    return columns @ filters.reshape(len(filters), -1).T + bias


def pool(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def activations(weights, x):
    """Every tensor of the network in order, the input first, the logits last."""
    seen = [x]
    for k in range(N_CONVOLUTIONS):
        x = np.maximum(convolve(x, weights[f"conv{k}.filter"], weights[f"conv{k}.bias"]), 0)
        x = pool(x)
        seen.append(x)
    x = x.reshape(len(x), -1)
    x = np.maximum(x @ weights["dense0.filter"].T + weights["dense0.bias"], 0)
    seen.append(x)
    seen.append(x @ weights["dense1.filter"].T + weights["dense1.bias"])
    return seen


class Writer:
    """Collects tensors, buffers and operators of one subgraph as flatc's JSON."""

    def __init__(self, name):
        self.name = name
        self.buffers, self.tensors, self.operators, self.codes = [{}], [], [], []

    def tensor(self, name, shape, kind, data=None, scale=None, zero_point=0, dimension=0):
        entry = {"name": name, "shape": list(shape), "type": kind, "buffer": 0}
        if data is not None:
            entry["buffer"] = len(self.buffers)
            self.buffers.append({"data": list(np.ascontiguousarray(data).tobytes())})
        if scale is not None:
            scales = [float(s) for s in np.atleast_1d(scale)]
            entry["quantization"] = {"scale": scales, "zero_point": [int(zero_point)] * len(scales),
                                     "quantized_dimension": dimension}
        self.tensors.append(entry)
        return len(self.tensors) - 1

    def operator(self, code, number, inputs, output, options=None, kind=None):
        if (code, number) not in self.codes:
            self.codes.append((code, number))
        entry = {"opcode_index": self.codes.index((code, number)), "inputs": inputs,
                 "outputs": [output]}
        if kind:
            entry |= {"builtin_options_type": kind, "builtin_options": options}
        self.operators.append(entry)

    def write(self, path, inputs, outputs):
        model = {"version": 3, "description": self.name,
                 "operator_codes": [{"deprecated_builtin_code": n, "builtin_code": c, "version": 1}
                                    for c, n in self.codes],
                 "subgraphs": [{"name": "main", "tensors": self.tensors, "inputs": inputs,
                                "outputs": outputs, "operators": self.operators}],
                 "buffers": self.buffers}
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"{path.stem}.json"
            source.write_text(json.dumps(model))
            subprocess.run(["flatc", "--binary", "-o", folder, SCHEMA, source], check=True)
            path.write_bytes(source.with_suffix(".tflite").read_bytes())


def float_model(weights):
    writer = Writer("characters, float32")

    def constant(name):
        return writer.tensor(name, weights[name].shape, "FLOAT32", weights[name].astype("<f4"))

    def value(name, shape, *_):
        return writer.tensor(name, shape, "FLOAT32")

    def paper():
        return writer.tensor("paper", (1,), "FLOAT32", np.ones(1, "<f4"))

    return writer, constant, constant, value, paper


def int8_model(weights, ranges):
    writer = Writer("characters, int8")

    def filters(name):
        w = weights[name]
        per_channel = name.startswith("conv")
        top = np.abs(w.reshape(len(w), -1)).max(axis=1) if per_channel else np.abs(w).max()
        scale = np.float32(top / 127)
        spread = scale.reshape(-1, *[1] * (w.ndim - 1)) if per_channel else scale
        q = np.clip(np.round(w / spread), -127, 127).astype(np.int8)
        filters.scale = scale
        return writer.tensor(name, w.shape, "INT8", q, scale)

    def biases(name):
        scale = np.float32(value.scale * filters.scale)
        q = np.round(weights[name] / scale).astype("<i4")
        return writer.tensor(name, q.shape, "INT32", q, scale)

    def value(name, shape, number):
        if name == "probabilities":
            return writer.tensor(name, shape, "INT8", None, 1 / 256, -128)
        low, high = (0.0, 1.0) if number == 0 else (min(ranges[number][0], 0.0),
                                                    max(ranges[number][1], 0.0))
        scale = np.float32((high - low) / 255)
        value.scale = scale
        return writer.tensor(name, shape, "INT8", None, scale, round(-128 - low / scale))

    def paper():
        return writer.tensor("paper", (1,), "INT8", np.array([127], np.int8), 1 / 255, -128)

    return writer, filters, biases, value, paper


def build(path, writer, filters, biases, value, paper):
    """The picture is light on a scale of 0 to 1, as cameras have it; ink is 1 minus that."""
    size, shape = glyphs.SIZE, (1, glyphs.SIZE, glyphs.SIZE, 1)
    first = value("picture", shape, 0)
    last = value("ink", shape, 0)
    writer.operator("SUB", 41, [paper(), first], last, {}, "SubOptions")
    for k in range(N_CONVOLUTIONS):
        inputs = [last, filters(f"conv{k}.filter"), biases(f"conv{k}.bias")]
        width = writer.tensors[inputs[1]]["shape"][0]
        shape = (1, size, size, width)
        last = value(f"conv{k}", shape, k + 1)
        writer.operator("CONV_2D", 3, inputs, last, {
            "padding": "SAME", "stride_w": 1, "stride_h": 1,
            "fused_activation_function": "RELU"}, "Conv2DOptions")
        size //= 2
        pooled = value(f"pool{k}", (1, size, size, width), k + 1)
        writer.operator("MAX_POOL_2D", 17, [last], pooled, {
            "padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 2,
            "filter_height": 2}, "Pool2DOptions")
        last = pooled
    flat = value("flat", (1, size * size * width), N_CONVOLUTIONS)
    shape = writer.tensor("flat/shape", (2,), "INT32", np.array([1, size * size * width], "<i4"))
    writer.operator("RESHAPE", 22, [last, shape], flat)
    last = flat
    for k in range(2):
        inputs = [last, filters(f"dense{k}.filter"), biases(f"dense{k}.bias")]
        width = writer.tensors[inputs[1]]["shape"][0]
        last = value(f"dense{k}", (1, width), N_CONVOLUTIONS + 1 + k)
        writer.operator("FULLY_CONNECTED", 9, inputs, last, {
            "fused_activation_function": "RELU" if k == 0 else "NONE"}, "FullyConnectedOptions")
    result = value("probabilities", (1, width), -1)
    writer.operator("SOFTMAX", 25, [last], result, {"beta": 1.0}, "SoftmaxOptions")
    writer.write(path, [first], [result])


def write_pictures(folder, fonts):
    """Characters of held-out fonts, 96 pixels, dark on light, a little distorted."""
    import random
    folder.mkdir(exist_ok=True)
    rng = random.Random(11)
    for number, character in enumerate(PICTURES):
        font = ImageFont.truetype(str(fonts[(number * 5 + 3) % len(fonts)]), 48)
        ink = glyphs.distort(glyphs.render(font, character), rng, 0.6)
        image = Image.fromarray((255 - 225 * ink).astype(np.uint8))
        image.resize((96, 96), Image.BICUBIC).save(folder / f"{number:02d}-{character}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weights")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    options = parser.parse_args()
    weights = dict(np.load(options.weights))
    training, held_out = glyphs.split(glyphs.font_files())
    pictures, _ = glyphs.data_set(training[::12], 1, seed=5)
    seen = activations(weights, pictures[:, :, :, None])
    ranges = [(float(x.min()), float(x.max())) for x in seen]
    build(options.out / "glyphs-float.tflite", *float_model(weights))
    build(options.out / "glyphs-int8.tflite", *int8_model(weights, ranges))
    (options.out / "labels.txt").write_text("".join(f"{c[0]}\n" for c in glyphs.CLASSES))
    write_pictures(options.out / "pictures", held_out)
    tested, classes = glyphs.data_set(held_out, 1, seed=2, strength=0)
    found = activations(weights, tested[:, :, :, None])[-1].argmax(axis=1)
    print(f"held-out fonts, plain, as exported: {100 * (found == classes).mean():.2f} %")


if __name__ == "__main__":
    main()
