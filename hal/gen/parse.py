# SPDX-License-Identifier: Apache-2.0
"""Words to tree: one method per construct, no look further than one word."""

from . import tree
from .text import HalError, words


def comment_lines(text):
    """The lines of a comment without the signs around them."""
    lines = text[2:-2].strip().splitlines()
    out = []
    for line in lines:
        line = line.strip()
        out.append(line[1:].removeprefix(" ") if line.startswith("*") else line)
    return out


class Parser:
    def __init__(self, path, text):
        self.path = path
        self.words = words(path, text)
        self.at = 0

    # -- words -----------------------------------------------------------

    def fail(self, sentence, word=None):
        raise HalError(self.path, (word or self.peek()).line, sentence)

    def peek(self):
        return self.words[self.at]

    def take(self):
        word = self.words[self.at]
        if word.kind != "end":
            self.at += 1
        return word

    def is_next(self, text):
        return self.peek().kind in ("name", "sign") and self.peek().text == text

    def accept(self, text):
        if self.is_next(text):
            self.take()
            return True
        return False

    def expect(self, text):
        if not self.accept(text):
            self.fail(f"expected '{text}' before '{self.peek().text}'")

    def name(self, what):
        word = self.take()
        if word.kind != "name" or word.text.endswith("?"):
            self.fail(f"expected {what} before '{word.text}'", word)
        return word.text

    def number(self, what):
        word = self.take()
        if word.kind != "number":
            self.fail(f"expected {what} before '{word.text}'", word)
        return int(word.text, 0)

    # -- prose -----------------------------------------------------------

    def comment(self):
        """The comment that belongs to what follows, as lines."""
        if self.peek().kind != "comment":
            return []
        return comment_lines(self.take().text)

    def note(self, line):
        """The comment behind a declaration, on the same line."""
        word = self.peek()
        if word.kind == "comment" and word.line == line and not word.is_first:
            self.take()
            return comment_lines(word.text)
        return []

    def stands_alone(self):
        """Whether the comment that comes next is followed by an empty line."""
        word = self.peek()
        following = self.words[self.at + 1]
        return word.kind == "comment" and following.line > word.last_line + 1

    # -- declarations ----------------------------------------------------

    def file(self):
        essay = self.comment()
        self.expect("package")
        package = self.name("the name of the package")
        self.expect(";")
        self.expect("version")
        major = self.number("the major version")
        self.expect(".")
        minor = self.number("the minor version")
        self.expect(";")
        items = []
        while self.peek().kind != "end":
            items.append(self.declaration())
        return tree.File(self.path, package, major, minor, essay, items)

    def declaration(self):
        if self.stands_alone():
            line = self.peek().line
            return tree.Prose(line, self.comment())
        prose = self.comment()
        word = self.peek()
        parsers = {"limit": self.constant, "constant": self.constant, "open": self.enum,
                   "enum": self.enum, "struct": self.struct, "plain": self.struct,
                   "union": self.union, "interface": self.interface}
        if word.kind != "name" or word.text not in parsers:
            self.fail(f"expected a declaration before '{word.text}'")
        found = parsers[word.text]()
        found.prose = prose
        return found

    def constant(self):
        word = self.take()
        name = self.name("the name of a constant")
        self.expect("=")
        value_word = self.peek()
        value = self.number("a number")
        is_wide = self.accept("wide")
        line = self.peek().line
        self.expect(";")
        found = tree.Constant(word.line, name, value, word.text == "limit", is_wide,
                              value_word.text)
        found.note = self.note(line)
        return found

    def since(self):
        return self.number("a feature level") if self.accept("since") else None

    def minor(self):
        return self.number("a minor version") if self.accept("minor") else 0

    def enum(self):
        is_open = self.accept("open")
        line = self.peek().line
        self.expect("enum")
        name = self.name("the name of an enum")
        since = self.since()
        self.expect("{")
        values = []
        while not self.accept("}"):
            values.append(self.enum_value())
        return tree.Enum(line, name, is_open, since, values)

    def enum_value(self):
        prose = self.comment()
        line = self.peek().line
        is_end = self.accept("end")
        name = self.name("the name of a value")
        self.expect("=")
        value = self.number("a number")
        since = self.since()
        self.expect(";")
        return tree.EnumValue(line, name, value, is_end, since, prose, self.note(line))

    def fields(self):
        self.expect("{")
        found = []
        while not self.accept("}"):
            found.append(self.field())
        return found

    def field(self):
        prose = self.comment()
        line = self.peek().line
        word = self.take()
        if word.kind != "name":
            self.fail(f"expected a field before '{word.text}'", word)
        name = "reserved"
        if word.text != "reserved" or not self.is_next(";"):
            name = self.name("the name of a field")
        array = None
        if self.accept("["):
            array = self.name("a count or a constant")
            self.expect("]")
        limit = self.name("the name of a limit") if self.accept("max") else None
        since, minor = self.since(), self.minor()
        last = self.peek().line
        self.expect(";")
        return tree.Field(line, word.text, name, limit, array, since, minor, prose,
                          self.note(last))

    def struct(self):
        is_plain = self.accept("plain")
        line = self.peek().line
        self.expect("struct")
        name = self.name("the name of a struct")
        since = self.since()
        return tree.Struct(line, name, since, self.fields(), is_plain=is_plain)

    def union(self):
        line = self.take().line
        name = self.name("the name of a union")
        since = self.since()
        self.expect("bytes")
        size = self.number("a size")
        self.expect("{")
        members = []
        while not self.accept("}"):
            prose = self.comment()
            member_line = self.peek().line
            value = self.number("the number of a member")
            member = self.name("the name of a member")
            members.append(tree.UnionMember(member_line, value, member, self.fields(), prose))
        return tree.Union(line, name, since, size, members)

    def interface(self):
        line = self.take().line
        name = self.name("the name of an interface")
        what = self.name("what a trace calls its object")
        self.expect("{")
        members = []
        while not self.accept("}"):
            if self.stands_alone():
                members.append(tree.Prose(self.peek().line, self.comment()))
                continue
            prose = self.comment()
            if self.is_next("method"):
                member = self.method()
            elif self.is_next("event"):
                member = self.event()
            else:
                self.fail(f"expected a method or an event before '{self.peek().text}'")
            member.prose = prose
            members.append(member)
        return tree.Interface(line, name, what, members)

    def method(self):
        line = self.take().line
        number = self.number("the number of a method")
        name = self.name("the name of a method")
        found = tree.Method(line, number, name, self.since(), self.minor(), None)
        self.expect("{")
        prose = self.comment()
        args_line = self.peek().line
        self.expect("args")
        found.args = tree.Struct(args_line, name + "_args", None, self.fields(), prose)
        prose = self.comment()
        reply_line = self.peek().line
        self.expect("reply")
        if self.accept("also"):
            found.also = self.name("a status")
        found.reply = tree.Struct(reply_line, name + "_reply", None, self.fields(), prose)
        self.expect("}")
        return found

    def event(self):
        line = self.take().line
        number = self.number("the number of an event")
        name = self.name("the name of an event")
        found = tree.Event(line, number, name, self.since(), self.minor())
        found.value = tree.Struct(line, name + "_event", None, self.fields())
        return found


def parse(path, text):
    return Parser(path, text).file()
