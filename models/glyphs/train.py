#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the classifier of characters and says how good it is on fonts it never saw.

    models/glyphs/train.py [--epochs N] [--per-character N] [--out FILE.npz]

Needs Debian's python3-torch, python3-numpy, python3-pil and as many font
packages as there are. The weights are written with batch normalization folded
into the convolutions; export.py turns them into .tflite files.
"""

import argparse
import time

import numpy as np
import torch
from torch import nn

import glyphs


class Net(nn.Module):
    """Three 3x3 convolutions, each halved by a pool, and two dense layers."""

    def __init__(self, widths=(16, 32, 64), hidden=96):
        super().__init__()
        layers, last = [], 1
        for width in widths:
            layers.append(nn.Sequential(nn.Conv2d(last, width, 3, padding=1, bias=False),
                                        nn.BatchNorm2d(width)))
            last = width
        self.convolutions = nn.ModuleList(layers)
        self.dense = nn.ModuleList([nn.Linear(last * (glyphs.SIZE // 8) ** 2, hidden),
                                    nn.Linear(hidden, len(glyphs.CLASSES))])

    def forward(self, x):
        for layer in self.convolutions:
            x = nn.functional.max_pool2d(torch.relu(layer(x)), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)  # as the exported model: NHWC
        x = torch.relu(self.dense[0](x))
        return self.dense[1](nn.functional.dropout(x, 0.3, self.training))

    def folded(self):
        """{name: array}: filters [Co, H, W, Ci] and biases [Co], as .tflite wants them."""
        weights = {}
        for number, (convolution, norm) in enumerate(self.convolutions):
            scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            filters = convolution.weight * scale[:, None, None, None]
            weights[f"conv{number}.filter"] = filters.permute(0, 2, 3, 1)
            weights[f"conv{number}.bias"] = norm.bias - norm.running_mean * scale
        for number, layer in enumerate(self.dense):
            weights[f"dense{number}.filter"] = layer.weight
            weights[f"dense{number}.bias"] = layer.bias
        return {name: value.detach().numpy().copy() for name, value in weights.items()}


def accuracy(net, pictures, classes):
    net.eval()
    with torch.no_grad():
        found = torch.cat([net(batch).argmax(1) for batch in pictures.split(1024)])
    return (found == classes).float().mean().item(), found


def tensors(pictures, classes):
    return torch.from_numpy(pictures)[:, None], torch.from_numpy(classes)


def confusions(found, classes, n=8):
    pairs = {}
    for a, b in zip(classes.tolist(), found.tolist()):
        if a != b:
            pair = f"{glyphs.CLASSES[a][0]} as {glyphs.CLASSES[b][0]}"
            pairs[pair] = pairs.get(pair, 0) + 1
    return ", ".join(f"{p} {k}" for p, k in sorted(pairs.items(), key=lambda x: -x[1])[:n])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--per-character", type=int, default=4)
    parser.add_argument("--out", default="glyphs.npz")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    training, held_out = glyphs.split(glyphs.font_files())
    print(f"{len(training)} faces to train on, {len(held_out)} held out", flush=True)
    x, y = tensors(*glyphs.data_set(training, options.per_character, seed=1))
    tests = {"plain": tensors(*glyphs.data_set(held_out, 1, seed=2, strength=0)),
             "distorted": tensors(*glyphs.data_set(held_out, 2, seed=3))}
    net = Net()
    n_steps = options.epochs * (len(x) // 128)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=n_steps + 1)
    for epoch in range(options.epochs):
        net.train()
        began, total = time.monotonic(), 0.0
        order = torch.randperm(len(x))
        for start in range(0, len(x) - 127, 128):
            chosen = order[start:start + 128]
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x[chosen]), y[chosen], label_smoothing=0.02)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / (len(x) // 128):.3f}, "
              f"{time.monotonic() - began:.0f} s", flush=True)
    for name, (pictures, classes) in tests.items():
        rate, found = accuracy(net, pictures, classes)
        print(f"held-out fonts, {name}: {100 * rate:.2f} % of {len(classes)}; "
              f"most often wrong: {confusions(found, classes)}")
    np.savez(options.out, **net.folded())


if __name__ == "__main__":
    main()
