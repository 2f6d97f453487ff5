# SPDX-License-Identifier: Apache-2.0
"""Tree to the functions that lead each method to what implements it.

They are printed in full and checked in, so that grep, ctags and a debugger see
them: the table of hal.h, the proxy's and the stub's functions, and the host's
table with the declarations of the bodies behind it.
"""

from .header import NOTICE, WIDTH

HEAD = ["/* SPDX-License-Identifier: Apache-2.0 */", NOTICE, "/* clang-format off */"]


def packed(lines, line, indent, parts, end):
    """Adds parts to line, as many to a line as fit, further lines with this indent."""
    empty = line
    for number, part in enumerate(parts):
        text = part + (end if number == len(parts) - 1 else ",")
        glue = "" if line == empty else " "
        if len(line) + len(glue) + len(text) > WIDTH and line != empty:
            lines.append(line)
            line, glue = indent, ""
        line += glue + text
        empty = None
    return [*lines, line]


def wrapped(opening, parts, end):
    """A list in brackets as clang-format breaks it: behind the bracket, where all fits there."""
    if len(opening) + max(map(len, parts)) + len(end) <= WIDTH:
        return packed([], opening, " " * len(opening), parts, end)
    indent = " " * (len(opening) - len(opening.lstrip()) + 4)
    return packed([opening], indent, indent, parts, end)


def parameters(name, first="struct nn_hal *hal", is_call=False):
    out = [first, f"const struct nn_hal_{name}_args *args",
           f"struct nn_hal_{name}_reply *reply"]
    return out if is_call else [*out, "struct nn_arena *arena"]


def names(members):
    return [m.name for _, m in members]


def ops_struct(linked):
    out = ["struct nn_hal_ops {"]
    for name in names(linked.methods):
        out += wrapped(f"    uint32_t (*{name})(", parameters(name), ");")
    return out + ["    /* Ends the session: everything in it is freed; calls in progress end",
                  "     * first. Frees hal. */",
                  "    void (*close)(struct nn_hal *hal);", "};"]


def inline_calls(linked):
    out = ["/* clang-format off */"]
    for name in names(linked.methods):
        out += wrapped(f"static inline uint32_t nn_hal_{name}(", parameters(name), ")")
        out += ["{", f"    return hal->ops->{name}(hal, args, reply, arena);", "}", ""]
    return [*out[:-1], "/* clang-format on */", ""]


def ops_table(name, prefix, linked, close):
    width = f"const struct nn_hal_ops {name} = {{"
    return [width, *(f"    .{n} = {prefix}_{n}," for n in names(linked.methods)),
            f"    .close = {close},", "};"]


def proxy_methods(linked):
    """src/hal/proxy-methods.c."""
    out = [*HEAD, '#include "hal/dispatch.h"', ""]
    for name in names(linked.methods):
        out += wrapped(f"static uint32_t proxy_{name}(", parameters(name), ")")
        out += ["{", f"    return nn_hal_proxy_call(hal, NN_HAL_METHOD_{name.upper()}, args, reply, "
                     "arena);", "}", ""]
        if len(out[-3]) > WIDTH:
            out[-3:-2] = wrapped("    return nn_hal_proxy_call(", [
                "hal", f"NN_HAL_METHOD_{name.upper()}", "args", "reply", "arena"], ");")
    out += ops_table("nn_hal_proxy_ops", "proxy", linked, "nn_hal_proxy_close")
    out += ["", "void nn_hal_proxy_deliver(const struct nn_hal_listener *listener, "
                "uint32_t number, const void *event)",
            "{", "    switch (number) {"]
    out[-3:-2] = wrapped("void nn_hal_proxy_deliver(",
                         ["const struct nn_hal_listener *listener", "uint32_t number",
                          "const void *event"], ")")
    for name in names(linked.events):
        out += [f"    case NN_HAL_EVENT_{name.upper()}:", f"        if (listener->{name})",
                f"            listener->{name}(listener->ctx, event);", "        break;"]
    return "\n".join([*out, "    default:", "        break;", "    }", "}"]) + "\n"


def stub_methods(linked):
    """src/hal/stub-methods.c."""
    out = [*HEAD, '#include "hal/dispatch.h"', "",
           *wrapped("uint32_t nn_hal_stub_dispatch(",
                    ["struct nn_hal *hal", "uint32_t number", "const void *args", "void *reply",
                     "struct nn_arena *arena"], ")"),
           "{", "    switch (number) {"]
    for name in names(linked.methods):
        out += [f"    case NN_HAL_METHOD_{name.upper()}:",
                f"        return nn_hal_{name}(hal, args, reply, arena);"]
    return "\n".join([*out, "    default:", "        return NNHAL_GENERAL_FAILURE;", "    }",
                      "}"]) + "\n"


HOST_ESSAY = """\
/* methods.h - the bodies of the HAL's methods
 *
 * Each stands in the file of its noun. dispatch.c has the table that leads to
 * them: it enters the session, clears the reply, makes the call, and leaves. */
#ifndef NN_HOST_METHODS_H
#define NN_HOST_METHODS_H

#include "host/call.h"

#include "hal/hal.h"
"""


def host_header(linked):
    """src/host/methods.h."""
    out = [*HEAD, *HOST_ESSAY.splitlines(), ""]
    for name in names(linked.methods):
        out += wrapped(f"uint32_t nn_host_{name}(",
                       parameters(name, "struct nn_call *call", True), ");")
    return "\n".join([*out, "", "extern const struct nn_hal_ops nn_host_session_ops;", "",
                      "/* nn_host_session_close() - the end of the table's sessions: cancels, waits until",
                      " * all calls have left, and frees hal. */",
                      "void nn_host_session_close(struct nn_hal *hal);", "",
                      "#endif"]) + "\n"


def deadline(method):
    """The call's, if it has one: the thread that serves it waits for its turn no longer."""
    has_one = any(item.name == "deadline_ns" for item in method.args.fields)
    return "args->deadline_ns" if has_one else "NNHAL_NO_TIME"


def host_methods(linked):
    """src/host/dispatch.c."""
    out = [*HEAD, '#include "host/methods.h"', "",
           "#include <string.h>", ""]
    for _, method in linked.methods:
        name = method.name
        out += wrapped(f"static uint32_t session_{name}(", parameters(name), ")")
        out += ["{", "    struct nn_call call;", "    uint32_t status;", "",
                "    memset(reply, 0, sizeof(*reply));",
                f"    if (!nn_call_begin(hal, arena, {deadline(method)}, &call))",
                "        return NNHAL_DEAD_OBJECT;",
                f"    status = nn_host_{name}(&call, args, reply);",
                "    reply->message = nn_call_end(&call);", "    return status;", "}", ""]
    out += ops_table("nn_host_session_ops", "session", linked, "nn_host_session_close")
    return "\n".join(out) + "\n"
