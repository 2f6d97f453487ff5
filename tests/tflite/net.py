# SPDX-License-Identifier: Apache-2.0
"""A network that a script writes as a .tflite file, by flatc."""

import json
import random
import struct
import subprocess
from pathlib import Path

ELEMENTS = {"INT8": "b", "UINT8": "B", "INT16": "h", "INT32": "i", "INT64": "q", "FLOAT32": "f"}


class Net:
    """A network, whose tensors are its outputs unless they are inputs or constants. operators: by name,
    their numbers and versions."""

    def __init__(self, operators, seed=16):
        self.rng, self.numbers = random.Random(seed), operators
        self.names, self.buffers, self.graphs = [], [{}], [self]
        self.tensors, self.operators, self.inputs, self.outputs = [], [], [], []

    def part(self):
        """Another subgraph of the file; returns it and its number."""
        made = Net(self.numbers)
        made.rng, made.names, made.buffers, made.graphs = self.rng, self.names, self.buffers, self.graphs
        self.graphs.append(made)
        return made, len(self.graphs) - 1

    def scale(self, low, high):
        return low * (high / low) ** self.rng.random()

    def tensor(self, shape, type_="INT16", scale=None, axis=0, values=None, zero_point=0,
               name=None):
        """scale: one, a list for channels, or None for none."""
        made = {"name": name or f"t{len(self.tensors)}", "shape": shape, "type": type_, "buffer": 0}
        if scale is not None:
            scales = scale if isinstance(scale, list) else [scale]
            made["quantization"] = {"scale": scales, "zero_point": [zero_point] * len(scales),
                                    "quantized_dimension": axis}
        if values is not None:
            data = struct.pack(f"<{len(values)}{ELEMENTS[type_]}", *values)
            self.buffers.append({"data": list(data)})
            made["buffer"] = len(self.buffers) - 1
        self.tensors.append(made)
        return len(self.tensors) - 1

    def integers(self, *values):
        return self.tensor([len(values)], "INT32", values=values)

    def weights(self, shape, scale, axis=0):
        n = 1
        for dimension in shape:
            n *= dimension
        return self.tensor(shape, "INT8", scale, axis, [self.rng.randint(-127, 127) for _ in range(n)])

    def bias(self, n, type_="INT64"):
        return self.tensor([n], type_, values=[self.rng.randint(-2**23, 2**23) for _ in range(n)])

    def add(self, name, inputs, outputs, kind=None, intermediates=(), **options):
        if name not in self.names:
            self.names.append(name)
        made = {"opcode_index": self.names.index(name), "inputs": inputs, "outputs": outputs}
        if intermediates:
            made["intermediates"] = intermediates
        if kind:
            made.update(builtin_options_type=kind + "Options", builtin_options=options)
        self.operators.append(made)
        self.outputs += outputs

    def composite(self, name, inputs, outputs, part):
        """An operator that the subgraph with this number computes, too."""
        self.add("STABLEHLO_COMPOSITE", inputs, outputs)
        self.operators[-1].update(builtin_options_2_type="StableHLOCompositeOptions",
                                  builtin_options_2={"name": name, "decomposition_subgraph_index": part})

    def graph(self):
        return {"tensors": self.tensors, "inputs": self.inputs, "outputs": self.outputs,
                "operators": self.operators}

    def json(self):
        codes = [{"deprecated_builtin_code": min(self.numbers[name][0], 127), "builtin_code": name,
                  "version": self.numbers[name][1]} for name in self.names]
        return {"version": 3, "operator_codes": codes, "subgraphs": [net.graph() for net in self.graphs],
                "buffers": self.buffers}

    def write(self, flatc, schema, folder, name):
        path = Path(folder) / (name + ".json")
        path.write_text(json.dumps(self.json()), encoding="utf-8")
        subprocess.run([flatc, "--binary", "-o", folder, schema, str(path)], check=True)
