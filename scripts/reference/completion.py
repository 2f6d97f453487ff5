# SPDX-License-Identifier: Apache-2.0
"""What bash, zsh and fish complete in command lines, from the tables of options.

The name of an argument says what can stand there: DEVICE a device that `nnhal devices` lists, DIR a folder,
FILE, PICTURE or DRIVER a file, FILE.nnt and MODEL.tflite files that end so, and choices themselves.
"""

import re
import sys

HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Written by scripts/options.py from src/tools/options.\n"
DEVICES = "nnhal devices 2>/dev/null | sed -n '2,$s/ .*//p'"


def word_of(argument):
    """DRIVER of DRIVER[-CONFIGURATION]."""
    return re.split(r"\W", argument)[0]


def kind_of(argument):
    """device, folder, file, a suffix with its dot, or "" for what no shell can know."""
    stem, dot, suffix = argument.partition(".")
    if dot and stem.isupper():
        return "." + suffix
    return {"DEVICE": "device", "DIR": "folder", "FILE": "file", "PICTURE": "file", "DRIVER": "file"}.get(
        word_of(argument), "")


def arguments_of(table):
    """The name of each argument that is no option, and whether it may be given many times."""
    words = re.sub(r"--\S+ \S+|\||\[OPTION\]\.\.\.", "", table.arguments).split()
    return [(re.sub(r"^\[|\]?(\.\.\.)?$", "", word), word.endswith("...")) for word in words]


def commands_of(program, tables):
    """The tables of a program by command; a program without commands has one, of no name."""
    found = {table.program[len(program):].strip(): table for table in tables
             if table.program == program or table.program.startswith(program + " ")}
    if not found:
        sys.exit(f"{program}: no table in src/tools/options")
    return found


# -- bash -----------------------------------------------------------------------------

# compgen -W would run a $(...) that stands in what another program prints.
BASH_FITTING = """while IFS= read -r word; do [[ $word == "$cur"* ]] && printf '%s\\n' "$word"; done"""
BASH_VALUES = {"device": f"{DEVICES} | {BASH_FITTING}", "folder": 'compgen -d -- "$cur"',
               "file": 'compgen -f -- "$cur"', "": "true"}

BASH = r'''
_@NAME@()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i n=0 before word
    # Of --option=value, "=" is a word.
    [[ $cur == = ]] && cur=
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    compopt -o filenames 2>/dev/null
@BODY@}

complete -F _@NAME@ @PROGRAM@
'''


def bash_words(words):
    return f'compgen -W "{" ".join(words)}" -- "$cur"'


def bash_values(argument, choices=()):
    kind = kind_of(argument)
    if choices:
        return bash_words(choices)
    if kind.startswith("."):
        return f"compgen -f -X '!*{kind}' -- \"$cur\"; compgen -d -- \"$cur\""
    return BASH_VALUES[kind]


def bash_reply(indent, command):
    return f"{indent}mapfile -t COMPREPLY < <({command})"


def bash_command(table, first, indent):
    """What completes the words from number `first` on."""
    with_value = [name for row in table.options() if row.argument for name in row.names()]
    yield f"{indent}case $prev in"
    for row in table.options():
        if row.argument:
            yield f"{indent}{'|'.join(row.names())})"
            yield bash_reply(indent + "    ", bash_values(row.argument, row.choices))
            yield f"{indent}    return ;;"
    yield f"{indent}esac"
    yield f"{indent}if [[ $cur == -* ]]; then"
    yield bash_reply(indent + "    ", bash_words(table.names()))
    yield f"{indent}    return\n{indent}fi"
    yield f"{indent}for ((i = {first}; i < COMP_CWORD; i++)); do"
    yield f"{indent}    before=${{COMP_WORDS[i - 1]}}"
    yield f"{indent}    [[ ${{COMP_WORDS[i]}} == -* || \" {' '.join(with_value)} \" == *\" $before \"* ]] || ((n++))"
    yield f"{indent}done"
    yield f"{indent}case $n in"
    for number, (name, is_many) in enumerate(arguments_of(table)):
        yield f"{indent}{'*' if is_many else number})"
        yield bash_reply(indent + "    ", bash_words(row.name for row in table.words()) if name == "COMMAND"
                         else bash_values(name))
        yield f"{indent}    ;;"
    yield f"{indent}esac"


def bash(program, commands):
    lines = []
    if "" in commands:
        lines += bash_command(commands[""], 1, "    ")
    else:
        lines += ["    if ((COMP_CWORD == 1)); then",
                  bash_reply("        ", bash_words([*commands, "--help", "--version"])),
                  "        return", "    fi", "    case ${COMP_WORDS[1]} in"]
        for name, table in commands.items():
            lines += [f"    {name})", *bash_command(table, 2, "        "), "        ;;"]
        lines.append("    esac")
    body = "".join(line + "\n" for line in lines)
    return HEAD + BASH.replace("@NAME@", program.replace("-", "_")).replace("@BODY@", body).replace(
        "@PROGRAM@", program)


# -- zsh ------------------------------------------------------------------------------

def zsh_text(text):
    """Inside single quotes, with what _arguments and _describe read otherwise."""
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_values(argument, choices=()):
    kind = kind_of(argument)
    if choices:
        return f"({' '.join(choices)})"
    if kind.startswith("."):
        return f'_files -g "*{kind}"'
    return {"device": "_nnhal_devices", "folder": "_files -/", "file": "_files", "": " "}[kind]


def zsh_option(row):
    words = zsh_text(row.words())
    value = f":{row.argument}:{zsh_values(row.argument, row.choices)}" if row.argument else ""
    before = "*" if row.is_many else f"({' '.join(row.names())})"
    return [f"    '{before}{name}[{words}]{value}'" for name in row.names()]


def zsh_command(table):
    lines = [line for row in table.options() for line in zsh_option(row)]
    for number, (name, is_many) in enumerate(arguments_of(table)):
        values = zsh_values(name, [row.name for row in table.words()] if name == "COMMAND" else ())
        lines.append(f"    '{'*' if is_many else number + 1}:{word_of(name)}:{values}'")
    return "_arguments -s \\\n" + " \\\n".join(lines) + "\n"


def zsh(program, commands):
    text = f"#compdef {program}\n{HEAD}\n_nnhal_devices()\n{{\n    compadd -- ${{(f)\"$({DEVICES})\"}}\n}}\n\n"
    if "" in commands:
        return text + zsh_command(commands[""])
    listed = "\n".join(f"    '{name}:{zsh_text(table.summary)}'" for name, table in commands.items())
    text += f"local -a commands\ncommands=(\n{listed}\n)\n"
    text += "if ((CURRENT == 2)); then\n    _describe command commands\n    return\nfi\n"
    text += "shift words\n((CURRENT--))\ncase $words[1] in\n"
    for name, table in commands.items():
        text += f"{name})\n{zsh_command(table)};;\n"
    return text + "esac\n"


# -- fish -----------------------------------------------------------------------------

FISH_DEVICES = DEVICES.replace("$", "\\$")
FISH_VALUES = {"device": f'-f -a "({FISH_DEVICES})"', "folder": "-k -f -a '(__fish_complete_directories)'",
               "file": "-F", "": "-f"}


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_values(argument, choices=()):
    kind = kind_of(argument)
    if choices:
        return f"-f -a '{' '.join(choices)}'"
    if kind.startswith("."):
        return f"-k -f -a '(__fish_complete_suffix {kind})'"
    return FISH_VALUES[kind]


def fish_command(program, name, table):
    when = f"-n '__fish_seen_subcommand_from {name}' " if name else ""
    for row in table.options():
        letter = f"-s {row.letter} " if row.letter else ""
        value = " -r " + fish_values(row.argument, row.choices) if row.argument else ""
        yield f"complete -c {program} {when}{letter}-l {row.name}{value} -d {fish_quote(row.words())}"
    for row in table.words():
        yield f"complete -c {program} {when}-a {row.name} -d {fish_quote(row.sentence)}"
    for name, _ in arguments_of(table):
        if kind_of(name):
            yield f"complete -c {program} {when}{fish_values(name)}"


def fish(program, commands):
    lines = [f"complete -c {program} -f"]
    for name, table in commands.items():
        if name:
            lines.append(f"complete -c {program} -n __fish_use_subcommand -a {name} -d {fish_quote(table.summary)}")
        lines += fish_command(program, name, table)
    return HEAD + "\n".join(lines) + "\n"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def write(shell, program, tables):
    """The text of the file that completes a program in a shell."""
    if shell not in SHELLS:
        sys.exit(f"{shell}: there are completions for {', '.join(SHELLS)}")
    return SHELLS[shell](program, commands_of(program, tables))
