# SPDX-License-Identifier: Apache-2.0
"""What a .hal file declares.

Every declaration knows its line. prose is the comment before it, note the one
behind it on its line, both as lines of text without the signs around them.
"""

from dataclasses import dataclass, field

# Types that need no declaration: bytes on the wire (their least number), C type.
BASIC = {
    "u8": (1, "uint8_t"),
    "u16": (2, "uint16_t"),
    "u32": (4, "uint32_t"),
    "i32": (4, "int32_t"),
    "u64": (8, "uint64_t"),
    "i64": (8, "int64_t"),
    "f32": (4, "float"),
    "bool": (4, "uint32_t"),
    "count": (4, "uint32_t"),
    "reserved": (4, "uint32_t"),
    "id": (8, "uint64_t"),
    "fd": (4, "int32_t"),
    "fd?": (4, "int32_t"),
    "string": (4, "const char *"),
    "string?": (4, "const char *"),
    "bytes": (4, "struct nnhal_bytes"),
}
LIMITED = ("count", "string", "string?", "bytes")
ARRAYS_ONLY = ("u8",)
NO_ARRAYS = ("count", "reserved", "string", "string?", "bytes")


@dataclass
class Prose:
    """A comment that stands alone."""
    line: int
    text: list


@dataclass
class Constant:
    line: int
    name: str
    value: int
    is_limit: bool
    is_wide: bool  # a u64 in C
    value_text: str
    package: str = ""
    prose: list = field(default_factory=list)
    note: list = field(default_factory=list)


@dataclass
class EnumValue:
    line: int
    name: str
    value: int
    is_end: bool  # one past the last: no value of the enum
    since: int | None
    prose: list = field(default_factory=list)
    note: list = field(default_factory=list)


@dataclass
class Enum:
    line: int
    name: str
    is_open: bool
    since: int | None
    values: list
    prose: list = field(default_factory=list)

    def legal(self):
        return [v for v in self.values if not v.is_end]


@dataclass
class Field:
    line: int
    type: str
    name: str
    limit: str | None  # name of a limit
    array: str | None  # name of a count field or of a constant
    since: int | None
    minor: int
    prose: list = field(default_factory=list)
    note: list = field(default_factory=list)
    # Set by rules: the Enum or Struct that type names; the count's Field; the array's length.
    target: object = None
    counted_by: object = None
    fixed: int = 0
    fixed_package: str = ""
    max: int = 0


@dataclass
class Struct:
    line: int
    name: str
    since: int | None
    fields: list
    prose: list = field(default_factory=list)
    is_plain: bool = False  # C struct and page only, no codec
    package: str = ""
    min_bytes: int = 0

    def c_name(self):
        return f"{self.package}_{self.name}"


@dataclass
class UnionMember:
    line: int
    value: int
    name: str
    fields: list
    prose: list = field(default_factory=list)


@dataclass
class Union:
    """One element of a queue: a kind, and what goes with it, in a fixed size."""
    line: int
    name: str
    since: int | None
    size: int
    members: list
    prose: list = field(default_factory=list)
    package: str = ""


@dataclass
class Method:
    line: int
    number: int
    name: str
    since: int | None
    minor: int
    also: str | None  # a status besides NONE with which the whole reply comes
    args: Struct = None
    reply: Struct = None
    prose: list = field(default_factory=list)


@dataclass
class Event:
    line: int
    number: int
    name: str
    since: int | None
    minor: int
    value: Struct = None
    prose: list = field(default_factory=list)


@dataclass
class Interface:
    line: int
    name: str
    object: str  # how a trace calls one: "device"
    members: list
    prose: list = field(default_factory=list)


@dataclass
class File:
    path: str
    package: str
    major: int
    minor: int
    essay: list
    items: list
