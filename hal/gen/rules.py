# SPDX-License-Identifier: Apache-2.0
"""What a tree must hold to, and the meaning of its names.

link() checks the files of one interface together, file by file in the order
given, and returns an Interface: everything by name, every Field with its
target, count, length and limit, every Struct with the least number of bytes
that it takes on the wire. The first defect is raised as a HalError.
"""

from dataclasses import dataclass, field

from . import tree
from .text import HalError

FIRST_LEVEL = 27
LEVEL_PREFIX = "FEATURE_LEVEL_"
FAILURE = "failure"  # what a reply is when the method failed: its sentence alone
SENTENCE_LIMIT = "MAX_SENTENCE_BYTES"
FDS_LIMIT = "MAX_FDS"
STATUS_ENUM = "error_status"
UNION_HEAD_BYTES = 8  # kind and sequence


@dataclass
class Linked:
    files: list
    constants: dict = field(default_factory=dict)
    types: dict = field(default_factory=dict)  # Enum, Struct and Union by name
    methods: list = field(default_factory=list)  # (Interface, Method), by number
    events: list = field(default_factory=list)
    messages: list = field(default_factory=list)  # Structs of methods and events, and FAILURE
    levels: dict = field(default_factory=dict)  # number -> name

    def structs(self):
        """Every struct with a codec, in an order in which each knows those it uses."""
        plain = [t for t in self.types.values() if isinstance(t, tree.Struct) and not t.is_plain]
        return plain + self.messages


class Linker:
    def __init__(self, files):
        self.linked = Linked(files)
        self.path = ""
        self.seen = {}  # constants and enum values, which share the C names of a package
        self.done = []  # names of structs already passed, for "before it is declared"
        self.version = None

    def fail(self, line, sentence):
        raise HalError(self.path, line, sentence)

    # -- first pass: names -------------------------------------------------

    def collect(self, file):
        self.path = file.path
        if self.version is None:
            self.version = (file.major, file.minor)
        elif self.version != (file.major, file.minor):
            self.fail(1, f"version {file.major}.{file.minor}, but the other files have "
                         f"{self.version[0]}.{self.version[1]}")
        for item in file.items:
            if isinstance(item, tree.Constant):
                self.claim(item.line, item.name)
                item.package = file.package
                self.linked.constants[item.name] = item
                if item.name.startswith(LEVEL_PREFIX):
                    self.linked.levels[item.value] = item.name
            elif isinstance(item, (tree.Enum, tree.Struct, tree.Union)):
                self.collect_type(file, item)
            elif isinstance(item, tree.Interface):
                self.collect_members(file, item)

    def claim(self, line, name):
        if name in self.seen:
            self.fail(line, f"'{name}' is declared twice")
        self.seen[name] = line

    def collect_type(self, file, item):
        if item.name in self.linked.types or item.name in tree.BASIC:
            self.fail(item.line, f"'{item.name}' is declared twice")
        self.linked.types[item.name] = item
        if isinstance(item, tree.Enum):
            for value in item.values:
                self.claim(value.line, value.name)
        else:
            item.package = file.package

    def collect_members(self, file, interface):
        for member in interface.members:
            if isinstance(member, tree.Method):
                self.collect_member(interface, member, self.linked.methods, "method")
                for struct in (member.args, member.reply):
                    struct.package = file.package
            elif isinstance(member, tree.Event):
                self.collect_member(interface, member, self.linked.events, "event")
                member.value.package = file.package

    def collect_member(self, interface, member, known, what):
        for _, other in known:
            if other.name == member.name:
                self.fail(member.line, f"{what} '{member.name}' is declared twice")
            if other.number == member.number:
                self.fail(member.line, f"{what} {member.number} is '{other.name}' already")
        if member.number == 0:
            self.fail(member.line, f"{what} 0: numbers begin at 1")
        known.append((interface, member))

    # -- second pass: meaning ----------------------------------------------

    def check(self, file):
        self.path = file.path
        for item in file.items:
            if isinstance(item, tree.Constant):
                self.check_constant(item)
            elif isinstance(item, tree.Enum):
                self.check_enum(item)
            elif isinstance(item, tree.Struct):
                self.check_since(item, FIRST_LEVEL)
                self.check_struct(item, item.since)
                self.done.append(item.name)
            elif isinstance(item, tree.Union):
                self.check_since(item, FIRST_LEVEL)
                self.check_union(item)
            elif isinstance(item, tree.Interface):
                for member in item.members:
                    self.check_member(member)

    def check_constant(self, item):
        if item.is_limit and not 0 < item.value < 1 << 32:
            self.fail(item.line, f"limit '{item.name}' is not between 1 and 2^32 - 1")

    def check_since(self, item, container):
        """Gives item the level of what it is in, unless it names a later one."""
        if item.since is None:
            item.since = container
        if self.linked.levels and item.since not in self.linked.levels:
            self.fail(item.line, f"since {item.since}: no such feature level")
        if item.since < container:
            self.fail(item.line, f"since goes backwards: '{item.name}' is since {item.since}, "
                                 f"what it is in since {container}")

    def check_minor(self, item, at_least):
        if item.minor < at_least:
            self.fail(item.line, f"minor goes backwards: '{item.name}' is of minor {item.minor}, "
                                 f"what comes before it of minor {at_least}")
        if item.minor > self.version[1]:
            self.fail(item.line, f"'{item.name}' is of minor {item.minor}, "
                                 f"the files are of version {self.version[0]}.{self.version[1]}")

    def check_enum(self, item):
        self.check_since(item, FIRST_LEVEL)
        numbers = {}
        for value in item.values:
            self.check_since(value, item.since)
            if value.value in numbers:
                self.fail(value.line, f"value {value.value} is "
                                      f"'{numbers[value.value]}' already")
            numbers[value.value] = value.name
        legal = [v.value for v in item.legal()]
        if not legal:
            self.fail(item.line, f"enum '{item.name}' has no values")
        if not item.is_open and legal != list(range(legal[0], legal[0] + len(legal))):
            self.fail(item.line, f"enum '{item.name}' has gaps: write 'open enum', "
                                 "and judge its values elsewhere")

    def check_struct(self, struct, since):
        names = {}
        minor = 0
        for item in struct.fields:
            if item.name in names:
                self.fail(item.line, f"field '{item.name}' is declared twice")
            self.check_since(item, since)
            self.check_minor(item, minor)
            minor = item.minor
            self.check_type(struct, item)
            self.check_limit(item)
            self.check_array(item, names)
            names[item.name] = item
        for item in struct.fields:
            if item.type == "count" and not any(f.counted_by is item for f in struct.fields):
                self.fail(item.line, f"'{item.name}' counts nothing")
        struct.min_bytes = sum(self.least_bytes(f) for f in struct.fields if f.minor == 0)
        if struct.fields and not struct.min_bytes:
            self.fail(struct.line, f"'{struct.name}' takes no bytes in minor 0")

    def check_type(self, struct, item):
        if item.type in tree.BASIC:
            return
        target = self.linked.types.get(item.type)
        if not target or isinstance(target, tree.Union):
            self.fail(item.line, f"unknown type '{item.type}'")
        if isinstance(target, tree.Struct):
            self.check_recursion(struct, item, target)
            if target.name not in self.done:
                self.fail(item.line, f"'{item.type}' is used before it is declared")
            if target.is_plain:
                self.fail(item.line, f"'{item.type}' is plain: it has no form on the wire")
        item.target = target

    def check_recursion(self, struct, item, target):
        """Walks what target contains, with a stack, in search of struct."""
        stack = [(target, [struct.name, target.name])]
        while stack:
            current, way = stack.pop()
            if current is struct:
                self.fail(item.line, "a type that contains itself: " + " -> ".join(way))
            for inner in current.fields:
                following = self.linked.types.get(inner.type)
                if isinstance(following, tree.Struct) and following.name not in way[1:]:
                    stack.append((following, way + [following.name]))

    def check_limit(self, item):
        if item.type not in tree.LIMITED:
            if item.limit:
                self.fail(item.line, f"'{item.name}': a {item.type} has no limit")
            return
        if not item.limit:
            self.fail(item.line, f"missing limit: '{item.name}' is a {item.type}, "
                                 "write 'max' and the name of a limit")
        limit = self.linked.constants.get(item.limit)
        if not limit or not limit.is_limit:
            self.fail(item.line, f"unknown limit '{item.limit}'")
        item.max = limit.value

    def check_array(self, item, earlier):
        if not item.array:
            if item.type in tree.ARRAYS_ONLY:
                self.fail(item.line, f"'{item.name}': {item.type} stands in arrays only")
            return
        if item.type in tree.NO_ARRAYS:
            self.fail(item.line, f"'{item.name}': no arrays of {item.type}")
        constant = self.linked.constants.get(item.array)
        if constant:
            if isinstance(item.target, tree.Struct):
                self.fail(item.line, f"'{item.name}': an array of structs needs a count")
            item.fixed = constant.value
            item.fixed_package = constant.package
            return
        counted_by = earlier.get(item.array)
        if not counted_by or counted_by.type != "count":
            self.fail(item.line, f"'{item.name}': no count '{item.array}' before it")
        if counted_by.minor != item.minor:
            self.fail(item.line, f"'{item.name}' and its count are of different minors")
        item.counted_by = counted_by
        item.max = counted_by.max

    @staticmethod
    def least_bytes(item):
        if item.counted_by:
            return 0
        if isinstance(item.target, tree.Struct):
            return item.target.min_bytes
        one = 4 if item.target else tree.BASIC[item.type][0]
        return one * (item.fixed or 1)

    def check_union(self, union):
        values = set()
        names = set()
        for member in union.members:
            if member.value in values or member.name in names:
                self.fail(member.line, f"'{member.name}' is declared twice")
            values.add(member.value)
            names.add(member.name)
            size = 0
            for item in member.fields:
                if item.type not in ("u32", "i32", "u64", "f32", "bool", "reserved") or item.array:
                    self.fail(item.line, f"'{item.name}': a union holds plain numbers only")
                width = tree.BASIC[item.type][0]
                if size % width:
                    self.fail(item.line, f"'{item.name}' would leave a gap before it")
                size += width
            if size > union.size - UNION_HEAD_BYTES:
                self.fail(member.line, f"'{member.name}' takes {size} bytes of "
                                       f"{union.size - UNION_HEAD_BYTES}")

    def check_member(self, member):
        if isinstance(member, tree.Prose):
            return
        self.check_since(member, FIRST_LEVEL)
        self.check_minor(member, 0)
        if isinstance(member, tree.Event):
            self.check_message(member, member.value)
            return
        if member.also:
            status = self.linked.types.get(STATUS_ENUM)
            if not status or member.also not in [v.name for v in status.values]:
                self.fail(member.line, f"unknown status '{member.also}'")
        self.check_message(member, member.args)
        member.reply.fields.insert(0, self.sentence(member.reply.line))
        self.check_message(member, member.reply)

    def check_message(self, member, struct):
        struct.since = member.since
        if not struct.fields:
            self.fail(struct.line, f"'{struct.name}' is empty: C has no such struct, "
                                   "write 'reserved;'")
        self.check_struct(struct, member.since)
        n_fds = most_fds(struct)
        limit = self.linked.constants.get(FDS_LIMIT)
        if n_fds > (limit.value if limit else 0):
            self.fail(struct.line, f"'{struct.name}' may carry {n_fds} descriptors, "
                                   f"more than {FDS_LIMIT}")
        self.linked.messages.append(struct)

    @staticmethod
    def sentence(line):
        return tree.Field(line, "string?", "message", SENTENCE_LIMIT, None, None, 0)

    def add_failure(self):
        if not self.linked.methods:
            return
        last = self.linked.files[-1]
        failure = tree.Struct(1, FAILURE, FIRST_LEVEL, [self.sentence(1)], package=last.package,
                              prose=["What comes instead of a reply when the method failed."])
        self.check_struct(failure, FIRST_LEVEL)
        self.linked.messages.append(failure)


def most_fds(struct):
    """How many descriptors a value may carry at most."""
    most = 0
    for item in struct.fields:
        one = 1 if item.type in ("fd", "fd?") else 0
        if isinstance(item.target, tree.Struct):
            one = most_fds(item.target)
        most += one * (item.max if item.counted_by else item.fixed or 1)
    return most


def link(files):
    linker = Linker(files)
    for file in files:
        linker.collect(file)
    for file in files:
        linker.check(file)
    linker.add_failure()
    linker.linked.methods.sort(key=lambda pair: pair[1].number)
    linker.linked.events.sort(key=lambda pair: pair[1].number)
    return linker.linked
