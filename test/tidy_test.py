#!/usr/bin/env python3
"""tidy_test.py - the house rules that no compiler checks: lengths, who may include what, how files begin.

Each rule is one test. A fault is printed as FILE:LINE: what is wrong. The last line is `N passed, N failed`.
"""

import ast
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE_LINES = 600
FUNCTION_LINES = 70
SOURCES = (".h", ".cc", ".py", ".sh")

# Which rooms a room may include, besides itself; docs/design.md section 3. A single header is named where the room it
# stands in may not be seen as a whole. Tests, benches and the mains (vswitch, ctrl) may include everything.
PURE = {"common", "cost_functions"}
# Plain values that every part of the switch may speak of.
SWITCH = {"common/config", "vswitch/limits.h", "vswitch/stats.h", "vswitch/drop_reason.h", "vswitch/telemetry_command.h",
          "vswitch/config/config.h"}
QOS = {"vswitch/qos", "vswitch/qos/buckets", "vswitch/qos/feedback", "vswitch/qos/schedulers", "vswitch/qos/requests",
       "vswitch/qos/guarantees"}
DATAPATH = PURE | SWITCH | QOS | {"cost_functions/protocols", "cost_functions/tracker", "vswitch/esp", "vswitch/ports"}
MAY_INCLUDE = {
    "common": set(),
    "common/config": {"common"},
    "common/wire": {"common", "common/config"},
    "cost_functions": {"common", "common/config"},
    "cost_functions/tracker": PURE,
    "cost_functions/protocols": PURE | {"cost_functions/tracker"},
    "cost_functions/program": PURE | {"common/config"},
    "vswitch/config": PURE | SWITCH | {"cost_functions/protocols", "vswitch/esp/esp_sizes.h",
                                       "vswitch/qos/feedback/registry.h", "vswitch/qos/schedulers/registry.h"},
    "vswitch/qos": PURE | SWITCH | {"vswitch/qos/buckets", "vswitch/qos/feedback", "vswitch/qos/schedulers"},
    "vswitch/qos/buckets": PURE | SWITCH,
    "vswitch/qos/feedback": PURE | SWITCH | {"vswitch/qos/buckets"},
    "vswitch/qos/schedulers": PURE | SWITCH | {"vswitch/qos/buckets", "vswitch/qos/feedback"},
    "vswitch/qos/requests": PURE | SWITCH | {"vswitch/qos/buckets", "vswitch/qos/schedulers"},
    "vswitch/qos/guarantees": PURE | SWITCH,
    "vswitch/ports": PURE | SWITCH,
    "vswitch/esp": PURE | SWITCH,
    "vswitch/datapath": DATAPATH | {"vswitch/datapath/feedback", "vswitch/datapath/requests", "vswitch/datapath/tunnels"},
    "vswitch/datapath/feedback": DATAPATH | {"vswitch/datapath"},
    "vswitch/datapath/requests": DATAPATH | {"vswitch/datapath"},
    "vswitch/datapath/tunnels": DATAPATH | {"vswitch/datapath"},
    "vswitch/agent": PURE | SWITCH | {"common/wire"},
    "ctrl/alloc": PURE, "ctrl/estimate": PURE, "ctrl/billing": PURE,
    "ctrl/pools": PURE | {"ctrl/alloc"},
    "ctrl/config": PURE | {"common/config", "ctrl/alloc", "ctrl/billing", "ctrl/pools"},
    "ctrl/placement": PURE | {"common/config", "ctrl/alloc", "ctrl/billing", "ctrl/config", "ctrl/pools"},
    "ctrl/store": PURE | {"common/wire", "ctrl/billing"},
    "ctrl/what_if": PURE | {"common/config", "vswitch/qos/feedback", "ctrl/alloc", "ctrl/billing", "ctrl/estimate",
                            "ctrl/placement", "ctrl/pools"},
    "ctrl/daemon": PURE | {"common/config", "common/wire", "ctrl/alloc", "ctrl/billing", "ctrl/config", "ctrl/estimate",
                           "ctrl/placement", "ctrl/pools", "ctrl/store"},
    "ctrl/cli": PURE | SWITCH | {"ctrl/alloc", "ctrl/config", "ctrl/placement", "ctrl/what_if"},
    "ctrl/calibrate/fit": PURE | {"common/config"},
    "ctrl/calibrate/load": PURE | {"cost_functions/protocols", "cost_functions/tracker", "ctrl/calibrate/fit/measurement.h",
                                   "ctrl/cli/failure.h"},
    "ctrl/calibrate": PURE | {"common/config", "ctrl/calibrate/fit", "ctrl/calibrate/load", "ctrl/cli"},
}
# Libraries that only some places may see: include pattern -> path prefixes.
LIBRARIES = {
    "DPDK": (re.compile(r"<rte_"), ("cost_functions/program/", "vswitch/ports/", "vswitch/datapath/", "vswitch/esp/",
                                    "vswitch/eal.", "vswitch/topology/", "test/", "bench/")),
    "ZeroMQ": (re.compile(r"<zmq"), ("vswitch/agent/ctrl_link", "vswitch/agent/command_socket", "ctrl/daemon/server",
                                     "ctrl/cli/client.", "test/", "bench/control/")),
    "sockets": (re.compile(r"<(sys/socket|netinet/|arpa/)"), ("vswitch/agent/", "ctrl/", "test/", "bench/")),
}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b|/work/|/root/|/home/|\bdeb\.debian|\bpypi\b")


def listing():
    """The repository's text files, tracked or new, relative to the root; a fuzzer's inputs are no texts of ours."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return sorted(name for name in names
                  if name and "/corpus/" not in name and os.path.isfile(os.path.join(ROOT, name)))


def read(name):
    with open(os.path.join(ROOT, name), errors="replace") as stream:
        return stream.read()


def is_shell(name, text):
    return name.endswith(".sh") or (text.startswith("#!") and "sh" in text.split("\n", 1)[0])


def is_source(name, text):
    return name.endswith(SOURCES) or os.path.basename(name) == "meson.build" or is_shell(name, text)


def blank(match):
    """As many lines and no content."""
    return re.sub(r"[^\n]", " ", match[0])


def without_text(code):
    """C++ with comments, strings and character literals blanked out."""
    return re.sub(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', blank, code,
                  flags=re.DOTALL)


def cpp_functions(code):
    """(first line, lines) of every function body, by its braces; lambdas count within their function."""
    code = re.sub(r"^[ \t]*#.*(?:\\\n.*)*$", blank, without_text(code), flags=re.MULTILINE)
    line, head, stack = 1, "", []
    for position, letter in enumerate(code):
        if letter == "\n":
            line += 1
        if letter == "{":
            initializer = position and (code[position - 1].isalnum() or code[position - 1] in "_>=({,")
            outer = any(kind == "function" for kind, _, _ in stack)
            body = ")" in head and not initializer and not outer and not re.search(r"\b(namespace|enum)\b", head)
            stack.append(("function" if body else "other", line, head if initializer else ""))
            head = "" if not initializer else head
        elif letter == "}" and stack:
            kind, first, head = stack.pop()
            if kind == "function":
                yield first, line - first + 1
        elif letter == ";":
            head = ""
        else:
            head += letter


def python_functions(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def shell_functions(code):
    first = None
    for number, line in enumerate(code.split("\n"), start=1):
        if re.match(r"(function )?[\w-]+ ?\(\) ?[{(]\s*$", line):
            first = number
        elif first and re.match(r"[})]", line):
            yield first, number - first + 1
            first = None


def functions(name, text):
    if name.endswith((".h", ".cc")):
        return cpp_functions(text)
    if name.endswith(".py"):
        return python_functions(text)
    return shell_functions(text) if is_shell(name, text) else ()


def rule_files_are_short(name, text):
    lines = text.count("\n")
    if is_source(name, text) and lines > FILE_LINES:
        yield 1, f"{lines} lines; a file has at most {FILE_LINES}"


def rule_functions_are_short(name, text):
    for line, length in functions(name, text):
        if length > FUNCTION_LINES:
            yield line, f"a function of {length} lines; at most {FUNCTION_LINES}"


def includes(name, text):
    """(line, what is included with its delimiters) of a C++ file."""
    if name.endswith((".h", ".cc")):
        for number, line in enumerate(text.split("\n"), start=1):
            found = re.match(r'\s*#\s*include\s+([<"][^>"]+[>"])', line)
            if found:
                yield number, found[1]


def rule_folders_include_downwards_only(name, text):
    folder = os.path.dirname(name)
    if folder not in MAY_INCLUDE:
        return
    allowed = MAY_INCLUDE[folder] | {folder}
    for line, what in includes(name, text):
        target = what[1:-1]
        inside = os.path.dirname(target)
        if what[0] == '"' and inside not in allowed and target not in allowed:
            yield line, f"{folder} may not include {what}; it may include {', '.join(sorted(allowed))}"


def rule_project_includes_start_at_the_root(name, text):
    for line, what in includes(name, text):
        if what[0] == '"' and not os.path.exists(os.path.join(ROOT, what[1:-1])):
            yield line, f"{what} is no path from the root"


def rule_libraries_stay_in_their_place(name, text):
    for line, what in includes(name, text):
        for library, (pattern, places) in LIBRARIES.items():
            if pattern.match(what) and not name.startswith(places):
                yield line, f"{what}: {library} is seen only by {', '.join(places)}"


def rule_headers_are_included_once(name, text):
    if name.endswith(".h") and "\n#pragma once\n" not in text:
        yield 1, "no `#pragma once`"


def rule_files_say_what_they_are(name, text):
    base = os.path.basename(name)
    first = next((line for line in text.split("\n") if line and not line.startswith("#!")), "")
    if name.endswith(".h") and not first.startswith(f"// {base} - "):
        yield 1, f"the first line must be `// {base} - what it is`"
    if (name.endswith(".py") or is_shell(name, text)) and not re.match(rf'("""|# ){re.escape(base)} - ', first):
        yield 1, f"the first comment must begin with `{base} - what it is`"


def rule_text_is_clean(name, text):
    if not is_source(name, text) and not name.endswith((".md", ".json", ".jsonc", ".txt")):
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if "\t" in line:
            yield number, "a tab"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no newline at the end of the file"


def rule_nothing_is_left_unfinished_or_tied_to_one_machine(name, text):
    if name == "test/tidy_test.py":
        return
    for number, line in enumerate(text.split("\n"), start=1):
        found = UNFINISHED.search(line)
        if found:
            yield number, f"'{found[0]}' must not be here"


def main():
    files = {name: read(name) for name in listing()}
    rules = [(name, rule) for name, rule in sorted(globals().items()) if name.startswith("rule_")]
    failed = 0
    for title, rule in rules:
        faults = [f"{name}:{line}: {what}" for name, text in files.items() for line, what in rule(name, text)]
        print("FAILED" if faults else "ok    ", title.removeprefix("rule_").replace("_", " "))
        print("".join(f"       {fault}\n" for fault in faults), end="")
        failed += bool(faults)
    print(f"{len(rules) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
