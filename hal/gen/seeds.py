# SPDX-License-Identifier: Apache-2.0
"""Tree to packets: fuzz seeds, and a second opinion on the codec.

The encoder here shares nothing with the one in C but the declaration, so what
it writes must decode there, and encode to the same bytes again.

A seed is what fuzz/hal-decode.c reads: one byte that chooses the type, one with
the number of descriptors, then the message.
"""

import random
import struct as packing

from . import tree

ABSENT = 0xFFFFFFFF
FORMATS = {"u8": "<B", "u16": "<H", "u32": "<I", "i32": "<i", "u64": "<Q", "i64": "<q",
           "f32": "<f", "id": "<Q"}
KINDS = ("least", "few", "many")
MOST = {"least": 0, "few": 2, "many": 9}


class Encoder:
    """Encodes one made-up value; counts the descriptors that it uses."""

    def __init__(self, kind, seed):
        self.kind = kind
        self.random = random.Random(f"{kind} {seed}")
        self.n_fds = 0

    def struct(self, struct):
        """As minor 0 has it: without the fields that are younger."""
        counts = {}
        out = b""
        for item in struct.fields:
            if item.minor:
                continue
            if item.type == "count":
                counts[item.name] = self.random.randint(0, min(item.max, MOST[self.kind]))
                out += packing.pack("<I", counts[item.name])
            else:
                n = counts[item.counted_by.name] if item.counted_by else item.fixed or 1
                for _ in range(n):
                    out += self.one(item)
        return out

    def one(self, item):
        if isinstance(item.target, tree.Struct):
            return self.struct(item.target)
        if isinstance(item.target, tree.Enum):
            legal = item.target.legal()
            chosen = legal[0] if self.kind == "least" else self.random.choice(legal)
            return packing.pack("<I", chosen.value)
        if item.type in ("string", "string?", "bytes"):
            return self.sized(item)
        if item.type in ("fd", "fd?"):
            return self.fd(item)
        if item.type == "reserved":
            return packing.pack("<I", 0)
        if item.type == "bool":
            return packing.pack("<I", 0 if self.kind == "least" else self.random.randint(0, 1))
        return packing.pack(FORMATS[item.type], self.number(item.type))

    def number(self, kind):
        if self.kind == "least":
            return 0
        if kind == "f32":
            return self.random.choice((0.5, 1.0, -3.25))
        bits = {"u8": 8, "u16": 16, "u64": 63, "i64": 63, "id": 16}.get(kind, 31)
        return self.random.choice((1, self.random.getrandbits(4), self.random.getrandbits(bits)))

    def sized(self, item):
        if item.type == "string?" and (self.kind == "least" or self.random.random() < 0.3):
            return packing.pack("<I", ABSENT)
        n = self.random.randint(0, min(item.max, 3 * MOST[self.kind]))
        alphabet = "abcdefghij.-_" if item.type != "bytes" else None
        content = (self.random.randbytes(n) if alphabet is None else
                   "".join(self.random.choice(alphabet) for _ in range(n)).encode())
        return packing.pack("<I", n) + content

    def fd(self, item):
        if item.type == "fd?" and (self.kind == "least" or self.random.random() < 0.3):
            return packing.pack("<I", ABSENT)
        self.n_fds += 1
        return packing.pack("<I", self.n_fds - 1)


def write(linked, folder):
    """Three seeds for each type. Returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for index, struct in enumerate(linked.structs()):
        for kind in KINDS:
            encoder = Encoder(kind, struct.name)
            message = encoder.struct(struct)
            names.append(f"{struct.name}-{kind}")
            (folder / names[-1]).write_bytes(bytes((index, encoder.n_fds)) + message)
    return names
