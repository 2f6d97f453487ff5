# SPDX-License-Identifier: Apache-2.0
"""A small, tolerant reader of C for lint-house.py and scripts/measure-house.py.

It blanks comments, strings and preprocessor lines, keeps every newline, and
finds what lies at the top of a file: functions, tags, includes. It expands no
macro: what a macro defines is not seen, as grep does not see it.
"""

import bisect
import re
import statistics
from pathlib import Path

LEXEME = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
DIRECTIVE = re.compile(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*")
INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"')
TAG = re.compile(r"\b(struct|union|enum)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*(?::\s*\w+\s*)?\{")
NAME = re.compile(r"[A-Za-z_]\w*")
CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
CALLEE = re.compile(r"([A-Za-z_]\w*)\s*$")
ATTRIBUTE = re.compile(r"\b(?:__attribute__|__declspec|_Alignas|alignas|NN_TARGET)\s*\(")
NOT_FUNCTIONS = {"if", "for", "while", "switch", "return", "sizeof", "defined"}


def blank(text):
    """Spaces in place of text; its newlines stay."""
    return re.sub(r"[^\n]", " ", text)


def closing(text, start):
    """Where the parenthesis that is open at start closes; the end of text if it never does."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text)


def without_attributes(head):
    """A declaration's head without __attribute__((...)) and its kin, in as many characters."""
    while found := ATTRIBUTE.search(head):
        end = closing(head, found.end() - 1) + 1
        head = head[:found.start()] + blank(head[found.start():end]) + head[end:]
    return head


def split_arguments(text):
    """The parameters between two parentheses; none for nothing and for void."""
    depth, start, parts = 0, 0, []
    for place, sign in enumerate(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    parts = [part.strip() for part in parts + [text[start:]]]
    return [] if parts in ([""], ["void"]) else parts


def declaration_start(head, name):
    """Where a declaration starts: above its name, below any line that a macro's invocation ends."""
    start = head.rfind("\n", 0, name) + 1
    while start > 0:
        above = head.rfind("\n", 0, start - 1) + 1
        line = head[above:start].strip()
        if not line or line.endswith(")"):
            break
        start = above
    return start


class Function:
    """A definition: name, is_static, parameters, its first and last line, and its code."""

    def __init__(self, name, is_static, parameters, lines, code):
        self.name, self.is_static, self.parameters = name, is_static, parameters
        self.first, self.last = lines
        self.code = code
        self.n_lines = self.last - self.first + 1


def top_level(code):
    """(head, place of head, place of brace, place of its end) of every block at the top."""
    depth, start, brace = 0, 0, 0
    for found in re.finditer(r"[{};]", code):
        sign, place = found[0], found.start()
        if sign == "{":
            if depth == 0:
                brace = place
                if re.fullmatch(r"\s*extern\s*(\"\s*\"\s*)?", code[start:place]):
                    start = place + 1
                    continue
            depth += 1
        elif sign == "}":
            at_margin = place == 0 or code[place - 1] == "\n"
            depth = 0 if at_margin else max(depth - 1, 0)
            if depth == 0:
                if brace >= start:
                    yield code[start:brace], start, brace, place
                start = place + 1
        elif depth == 0:
            start = place + 1


def signature(head):
    """(its place in head, name, is_static, parameters) if head is a function's, else None."""
    head = without_attributes(head)
    end = head.rfind(")")
    if end < 0 or "=" in head.split("(")[0] or re.search(r"[^\s\w]", head[end + 1:]):
        return None
    starts = [place for place in range(end) if head[place] == "(" and closing(head, place) == end]
    found = CALLEE.search(head[:starts[0]]) if starts else None
    if not found or found[1] in NOT_FUNCTIONS:
        return None
    start = declaration_start(head, found.start())
    before = head[start:found.start()]
    if not NAME.search(before):
        return None  # an invocation of a macro
    is_static = bool(re.search(r"\bstatic\b", before))
    return start, found[1], is_static, split_arguments(head[starts[0] + 1:end])


class Source:
    """One file of C: what it includes, defines and says in comments."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.comments = []  # (line, text)
        self.without_comments = LEXEME.sub(self._comment_away, text)
        self.code = DIRECTIVE.sub(lambda found: blank(found[0]), self._without_strings())
        self._newlines = [found.start() for found in re.finditer("\n", text)]
        self.includes = [(self.line(found.start()), found[1])
                         for found in INCLUDE.finditer(self.without_comments)]
        self.tags = [(self.line(found.start()), found[1], found[2]) for found in TAG.finditer(self.code)]
        self.functions = list(self._functions())

    def line(self, place):
        return bisect.bisect_left(self._newlines, place) + 1

    def _comment_away(self, found):
        if not found[0].startswith("/"):
            return found[0]
        self.comments.append((found.string.count("\n", 0, found.start()) + 1, found[0]))
        return blank(found[0])

    def _without_strings(self):
        return LEXEME.sub(lambda found: found[0][0] + blank(found[0][1:-1]) + found[0][-1],
                          self.without_comments)

    def _functions(self):
        for head, start, brace, end in top_level(self.code):
            found = signature(head)
            if found:
                lines = self.line(start + found[0]), self.line(end)
                yield Function(*found[1:], lines, self.code[brace:end + 1])

    def n_lines(self):
        return self.text.count("\n")

    def n_filled(self):
        return sum(1 for line in self.text.splitlines() if line.strip())

    def n_code(self):
        """Lines that hold something else than a comment."""
        return sum(1 for line in self.without_comments.splitlines() if line.strip())

    def n_comment(self):
        """Lines that hold a comment, beside code or alone."""
        return len({line + k for line, text in self.comments for k in range(text.count("\n") + 1)})


def load(root, *folders):
    """The .c and .h files below folders of root, by path; generated files of a build aside."""
    paths = sorted(path for folder in folders for path in (Path(root) / folder).rglob("*")
                   if path.suffix in (".c", ".h") and path.is_file())
    return [Source(str(path.relative_to(root)), path.read_text(errors="replace")) for path in paths]


def folder_of(path):
    """The room of a path: the first folder below src, or src/drivers/<name>."""
    parts = path.split("/")
    return "/".join(parts[1:3]) if parts[1] == "drivers" and len(parts) > 3 else parts[1]


def stem_of(path):
    """The node of a file: a .c and the .h beside it are one."""
    return re.sub(r"\.[ch]$", "", path)


def by_folder(sources):
    folders = {}
    for source in sources:
        folders.setdefault(folder_of(source.path), []).append(source)
    return folders


def duplicate_tags(sources):
    """(tag, [(path, line)]) of each tag that two places define."""
    places = {}
    for source in sources:
        for line, _, tag in source.tags:
            places.setdefault(tag, []).append((source.path, line))
    return sorted((tag, found) for tag, found in places.items() if len(found) > 1)


def include_edges(sources):
    """node -> nodes that it includes, among sources; names are sought beside the file, then in src."""
    paths = {source.path for source in sources}
    edges = {stem_of(path): set() for path in paths}
    for source in sources:
        beside = source.path.rsplit("/", 1)[0]
        for _, name in source.includes:
            target = next((path for path in (f"{beside}/{name}", f"src/{name}") if path in paths), None)
            if target and stem_of(target) != stem_of(source.path):
                edges[stem_of(source.path)].add(stem_of(target))
    return edges


def call_edges(sources):
    """node -> nodes whose .c defines a function that it calls by name.

    A call through a pointer makes no edge, so a table of functions cuts a circle.
    """
    definers = {}
    for source in sources:
        for function in source.functions:
            if not function.is_static and source.path.endswith(".c"):
                definers.setdefault(function.name, set()).add(stem_of(source.path))
    edges = {stem_of(source.path): set() for source in sources}
    for source in sources:
        node = stem_of(source.path)
        called = {name for function in source.functions for name in CALL.findall(function.code)}
        for name in called - {function.name for function in source.functions}:
            if len(definers.get(name, ())) == 1:
                edges[node] |= definers[name] - {node}
    return edges


def circles(edges):
    """The strongly connected components of more than one node, the largest first (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(edges[node]):
            if target not in index:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return sorted((circle for circle in found if len(circle) > 1), key=lambda circle: (-len(circle), circle))


def percentile(values, share):
    """The smallest value that share of the values do not exceed; 0 of none."""
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0


def median(values):
    return statistics.median_low(values) if values else 0
