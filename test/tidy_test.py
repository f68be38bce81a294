#!/usr/bin/env python3
"""tidy_test.py - the house rules that no compiler checks: lengths, includes, headers, words, sources, layout.

    tidy_test.py [TREE]      judges this repository, or another git tree by the documents of this one

Each rule is one test. A fault is printed as FILE:LINE: FAULT. The last line is `N passed, N failed`.
"""

import ast
import collections
import functools
import io
import os
import re
import shutil
import subprocess
import sys
import tokenize

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TREE = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ROOT      # the tree that is judged
sys.path.insert(0, os.path.join(ROOT, "test", "support"))

from rules import Unjudged, run  # noqa: E402  (the path above comes first)

FILE_LINES = 600
FUNCTION_LINES = 70
MARKDOWN_COLUMNS = 160      # outside of tables and code
SOURCES = (".h", ".cc", ".py", ".sh", ".js", ".css", ".html")
# How the first comment of a file of the console begins.
COMMENTS = {".js": "// ", ".css": "/* ", ".html": "<!-- "}
PRODUCTION = ("common/", "cost_functions/", "vswitch/", "ctrl/")

# These list words of others: the glossary's own table, keys of earlier commits, a licence.
MAY_SAY_ANYTHING = ("docs/glossary.md", "bench/system/compare.py", "LICENSE",
                    "common/config/config_reader.h", "test/vswitch/config/config_test.cc")  # the old names of keys
# Files without a header of their own name that are no part of a class: programs, and one file per registry entry.
ALONE = re.compile(r"(^|/)main\.cc$|^ctrl/what_if/\w+\.cc$|^cost_functions/protocols/\w+\.cc$|^ctrl/cli/\w+\.cc$"
                   r"|^ctrl/alloc/(drf|hdrf|first_fit|max_min|revenue)\.cc$|^vswitch/qos/feedback/\w+_law\.cc$")

# Which rooms a room may include, besides itself; docs/design.md section 3. A single header is named where the room it
# stands in may not be seen as a whole. Tests and the benches of single parts may include everything.
PURE = {"common", "cost_functions"}
# Plain values that every part of the switch may speak of.
SWITCH = {"common/config", "vswitch/base", "vswitch/config/config.h"}
QOS = {"vswitch/qos", "vswitch/qos/buckets", "vswitch/qos/feedback", "vswitch/qos/schedulers", "vswitch/qos/receive",
       "vswitch/qos/requests", "vswitch/qos/guarantees"}
SIM = PURE | SWITCH | QOS       # the switch's pure code, in virtual time
DATAPATH = PURE | SWITCH | QOS | {"cost_functions/protocols", "cost_functions/tracker", "vswitch/esp", "vswitch/ports",
                                 "vswitch/ports/virtio/checksum.h", "vswitch/ports/virtio/left_payload.h"}
# The rooms of vswitch/datapath, each with those of the line that it sees; its meson.build has the same.
LINE = {"capture": (), "frame": (), "vnic": ("frame",), "tunnels": ("capture", "frame", "vnic"), "requests": ("capture", "frame", "vnic"),
        "output": ("capture", "frame", "vnic", "tunnels", "requests"),
        "feedback": ("capture", "frame", "vnic", "tunnels", "requests", "output"),
        "loop": ("capture", "frame", "vnic", "tunnels", "requests", "output", "feedback")}
MAY_INCLUDE = {
    "common": set(),
    "common/config": {"common"},
    "common/http": {"common", "common/config", "common/metrics"},
    "common/log": {"common", "common/config"},
    "common/metrics": {"common"},
    "common/wire": {"common", "common/config"},
    "common/zmtp": {"common"},
    "cost_functions": {"common", "common/config"},
    "cost_functions/tracker": PURE,
    "cost_functions/protocols": PURE | {"cost_functions/tracker"},
    "cost_functions/program": PURE | {"common/config"},
    "vswitch": PURE | SWITCH | {"common/http/listen.h", "common/http/metrics_endpoint.h", "cost_functions/program", "vswitch/agent", "vswitch/config", "vswitch/metrics", "vswitch/ports", "vswitch/topology"},
    "vswitch/base": PURE,
    "vswitch/config": PURE | SWITCH | {"cost_functions/protocols", "vswitch/esp/esp_sizes.h",
                                       "vswitch/qos/feedback/registry.h", "vswitch/qos/schedulers/registry.h"},
    "vswitch/qos": PURE | SWITCH | {"vswitch/qos/buckets", "vswitch/qos/feedback", "vswitch/qos/schedulers"},
    "vswitch/qos/buckets": PURE | SWITCH,
    "vswitch/qos/feedback": PURE | SWITCH | {"vswitch/qos/buckets"},
    "vswitch/qos/schedulers": PURE | SWITCH | {"vswitch/qos/buckets", "vswitch/qos/feedback"},
    "vswitch/qos/receive": PURE | SWITCH | {"vswitch/qos/buckets", "vswitch/qos/schedulers"},
    "vswitch/qos/requests": PURE | SWITCH | {"vswitch/qos/buckets", "vswitch/qos/schedulers"},
    "vswitch/qos/guarantees": PURE | SWITCH,
    "vswitch/ports": PURE | SWITCH | {"vswitch/config/config_cores.h", "vswitch/ports/virtio"},
    "vswitch/ports/virtio": PURE | SWITCH,
    "vswitch/esp": PURE | SWITCH,
    **{f"vswitch/datapath/{room}": DATAPATH | {f"vswitch/datapath/{seen}" for seen in seen_rooms} for room, seen_rooms in LINE.items()},
    "vswitch/agent": PURE | SWITCH | {"common/log", "common/metrics/snapshot_desk.h", "common/wire", "common/zmtp", "vswitch/agent/history",
                                      "vswitch/config/promised_vnic.h"},
    "vswitch/agent/history": PURE | SWITCH,
    "vswitch/metrics": PURE | SWITCH | {"common/metrics", "vswitch/agent/switch_control.h"},
    "vswitch/topology": PURE | SWITCH | QOS | {"cost_functions/protocols", "vswitch/agent", "vswitch/agent/history", "vswitch/config", "vswitch/esp",
                                               "vswitch/ports",
                                               *(f"vswitch/datapath/{room}" for room in LINE)},
    "ctrl/alloc": PURE, "ctrl/estimate": PURE, "ctrl/billing": PURE,
    "ctrl/pools": PURE | {"ctrl/alloc"},
    "ctrl/config": PURE | {"common/config", "ctrl/alloc", "ctrl/billing", "ctrl/pools"},
    "ctrl/placement": PURE | {"common/config", "ctrl/alloc", "ctrl/billing", "ctrl/config", "ctrl/pools"},
    "ctrl/store": PURE | {"common/wire", "ctrl/billing"},
    "ctrl/what_if": PURE | {"common/config", "vswitch/qos/feedback", "ctrl/alloc", "ctrl/billing", "ctrl/estimate",
                            "ctrl/placement", "ctrl/pools"},
    "ctrl/metrics": PURE | {"common/metrics", "common/wire", "ctrl/daemon/controller_reading.h"},
    "ctrl/api": PURE | {"common/config", "common/http", "ctrl/config", "ctrl/daemon/command_desk.h"},
    "ctrl/console": PURE | {"ctrl/api/api.h"},
    "ctrl/daemon": PURE | {"common/config", "common/http", "common/log",
                           "common/metrics/snapshot_board.h", "common/wire", "common/zmtp", "ctrl/alloc", "ctrl/api/api.h", "ctrl/billing", "ctrl/config",
                           "ctrl/console/console_files.h", "ctrl/estimate", "ctrl/metrics", "ctrl/placement", "ctrl/pools", "ctrl/store"},
    "ctrl/cli": PURE | SWITCH | {"ctrl/alloc", "ctrl/api/token.h", "ctrl/config", "ctrl/placement", "ctrl/what_if"},
    "ctrl/calibrate/fit": PURE | {"common/config"},
    "ctrl/calibrate/load": PURE | {"common/config", "cost_functions/protocols", "cost_functions/tracker", "ctrl/calibrate/fit/measurement.h",
                                   "ctrl/cli/failure.h"},
    "ctrl/calibrate": PURE | {"common/config", "ctrl/calibrate/fit", "ctrl/calibrate/load", "ctrl/cli"},
    "bench/sim": SIM | {"bench/sim/fleet", "bench/sim/pools", "bench/sim/services", "ctrl/estimate", "vswitch/config/config_fields.h"},
    "bench/sim/services": SIM | {"bench/sim", "common/wire", "ctrl/config", "ctrl/daemon", "ctrl/placement"},
    "bench/sim/pools": SIM | {"bench/sim", "bench/sim/services", "ctrl/config", "ctrl/estimate", "ctrl/pools"},
    "bench/sim/fleet": SIM | {"bench/sim", "ctrl/billing", "ctrl/placement"},
}
# Libraries that only some places may see: include pattern -> path prefixes.
LIBRARIES = {
    "DPDK": (re.compile(r"<rte_"), ("cost_functions/program/", "vswitch/ports/", "vswitch/datapath/", "vswitch/esp/",
                                    "vswitch/base/dpdk_versions.h", "vswitch/topology/", "test/", "bench/")),
    "ZeroMQ": (re.compile(r"<zmq"), ("vswitch/agent/ctrl_link", "ctrl/daemon/keyed_sockets", "ctrl/daemon/key_file",
                                     "ctrl/cli/client.", "test/", "bench/control/")),
    "libpcap": (re.compile(r"<pcap"), ("vswitch/datapath/capture/", "ctrl/cli/capture_filter.", "test/")),
    "libmicrohttpd": (re.compile(r"<microhttpd"), ("common/http/",)),
    "sockets": (re.compile(r"<(sys/socket|netinet/|arpa/)"), ("vswitch/agent/", "vswitch/ports/vhost_gate.", "vswitch/ports/vhost_bell.",
                                                              "vswitch/ports/foreign_files.", "vswitch/ports/kernel_interface.",
                                                              "vswitch/ports/unix_socket.",
                                                              "ctrl/", "test/", "bench/", "common/http/", "common/zmtp/", "common/ip_address.cc", "common/service_notifier.cc")),
}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b|/work/|/root/|/home/|\bdeb\.debian|\bpypi\b")
# A page of docs/ and the numbers of its sections: docs/design.md 3, 5.2 and 7; design 6.
REFERENCE = re.compile(r"\bdocs/(\w+)\.md(_*)|\b(algorithms|design)(?:\.md)?(_+)".replace("_", r"(?:(?:,| to| and)? \d+(?:\.\d+)*)"))
# By whether the file is a document: its inline scripts, styles, handlers and foreign origins; else calls that make HTML or code of text.
HTML_OF_TEXT = {True: re.compile(r"<style|<script>|\s(?:style|on\w+)=|(?:src|href)=\"(?:\w+:|//)"),
                False: re.compile(r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|srcdoc|DOMParser|eval|Function)\b|document\.write|\bhttps?://(?!www\.w3\.org/2000/svg)")}
FORMATTER = "clang-format-16"
# *what* that is no question on the same line, no name and no kind of problem (what-if); a mention of the word stands in asterisks.
CLAUSE = re.compile(r"(?<![*_`])\b(?:what(?!-if|_)|whatever)\b(?![*`\"'])(?![^.]*\?)", re.IGNORECASE)


def known_sources():
    """The first column of the tables of docs/design.md 11."""
    with open(os.path.join(ROOT, "docs", "design.md")) as stream:
        rows = re.findall(r"^\| ([^|]+?) \|", stream.read().split("\n## 11.")[1], re.MULTILINE)
    return tuple(row for row in rows if row != "name" and not row.startswith("-"))


KNOWN_SOURCES = known_sources()


def banned_words():
    """Matches a word of the first column of docs/glossary.md's last table, also as a part of an identifier."""
    with open(os.path.join(ROOT, "docs", "glossary.md")) as stream:
        rows = re.findall(r"^\| ([^|]+?) \|", stream.read().split("\n## Not these")[1], re.MULTILINE)[1:]
    words = [word.strip() for row in rows for word in re.sub(r"\(.*?\)", "", row).split(",")]
    return re.compile("(?<![A-Za-z])(?:" + "|".join(word.replace(" ", "[ _]?") for word in words) + ")s?(?![a-z])", re.IGNORECASE)


BANNED = banned_words()


def listing():
    """The tree's text files, tracked or new, relative to its root; a fuzzer's inputs and foreign libraries are no texts of ours."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TREE, capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return sorted(name for name in names
                  if name and not re.search(r"/(corpus|vendor)/|\.png$", name) and os.path.isfile(os.path.join(TREE, name)))


def read(name, root=ROOT):
    with open(os.path.join(root, name), errors="replace") as stream:
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
    for position, sign in enumerate(code):
        if sign == "\n":
            line += 1
        if sign == "{":
            initializer = position and (code[position - 1].isalnum() or code[position - 1] in "_>=({,")
            outer = any(kind == "function" for kind, _, _ in stack)
            body = ")" in head and not initializer and not outer and not re.search(r"\b(namespace|enum)\b", head)
            stack.append(("function" if body else "other", line, head if initializer else ""))
            head = "" if not initializer else head
        elif sign == "}" and stack:
            kind, first, head = stack.pop()
            if kind == "function":
                yield first, line - first + 1
        elif sign == ";":
            head = ""
        else:
            head += sign


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
    if name.endswith((".h", ".cc", ".js")):
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


def is_production(name):
    return name.startswith(PRODUCTION) and name.endswith((".h", ".cc"))


def rule_parts_of_a_class_have_its_name(name, text):
    """foo_bar.cc has foo_bar.h beside it, or is a part of foo.h's class."""
    if not is_production(name) or not name.endswith(".cc") or ALONE.search(name):
        return
    words = name.removesuffix(".cc").split("/")[-1].split("_")
    headers = ["_".join(words[:count]) + ".h" for count in range(len(words), 0, -1)]
    if not any(os.path.exists(os.path.join(ROOT, os.path.dirname(name), header)) for header in headers):
        yield 1, f"none of {', '.join(headers)} is beside it: a class lives in one pair of files, its parts are <class>_<part>.cc"


def includes(name, text):
    """(line, the included file with its delimiters) of a C++ file."""
    if name.endswith((".h", ".cc")):
        for number, line in enumerate(text.split("\n"), start=1):
            found = re.match(r'\s*#\s*include\s+([<"][^>"]+[>"])', line)
            if found:
                yield number, found[1]


def rule_folders_include_downwards_only(name, text):
    folder = os.path.dirname(name)
    if folder not in MAY_INCLUDE:
        if is_production(name):
            yield 1, f"{folder} is no room that MAY_INCLUDE knows"
        return
    allowed = MAY_INCLUDE[folder] | {folder}
    for line, what in includes(name, text):
        target = what[1:-1]
        inside = os.path.dirname(target)
        if what[0] == '"' and inside not in allowed and target not in allowed:
            yield line, f"{folder} may not include {what}; it may include {', '.join(sorted(allowed))}"


@functools.cache
def included_rooms():
    """{room: rooms that its files include} of the switch."""
    rooms = collections.defaultdict(set)
    for name in listing():
        if name.startswith("vswitch/"):
            rooms[os.path.dirname(name)] |= {os.path.dirname(what[1:-1]) for _, what in includes(name, read(name, TREE))
                                             if what.startswith('"vswitch/')}
    return rooms


def reached_from(room):
    reached, next_ones = set(), {room}
    while next_ones:
        reached |= next_ones
        next_ones = set().union(*(included_rooms().get(one, set()) for one in next_ones)) - reached
    return reached


def rule_rooms_of_the_switch_are_in_no_circle(name, text):
    room = os.path.dirname(name)
    for line, what in includes(name, text) if name.startswith("vswitch/") else ():
        other = os.path.dirname(what[1:-1])
        if other != room and other.startswith("vswitch") and room in reached_from(other):
            yield line, f"{what} closes a circle: {other} includes {room}, or a room that does"


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
    if name.endswith((".h", ".cc")) and not first.startswith(f"// {base} - "):
        yield 1, f"the first line must be `// {base} - PHRASE`"
    comment = COMMENTS.get(os.path.splitext(name)[1])
    if comment and f"{comment}{base} - " not in text[:200]:
        yield 1, f"the first comment must begin with `{comment}{base} - PHRASE`"
    if (name.endswith(".py") or is_shell(name, text)) and not re.match(rf'("""|# ){re.escape(base)} - ', first):
        yield 1, f"the first comment must begin with `{base} - PHRASE`"


def rule_the_console_makes_no_html_of_text(name, text):
    """Text of the API becomes text nodes, and the page works under a Content-Security-Policy without inline script and style."""
    for number, line in enumerate(text.split("\n"), start=1) if name.startswith("ctrl/console/") else ():
        for found in HTML_OF_TEXT[name.endswith(".html")].finditer(line):
            yield number, f"'{found[0]}' must not be in the console"


def rule_meson_lists_have_one_source_per_line(name, text):
    if os.path.basename(name) != "meson.build":
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if len(re.findall(r"'[^']+\.(?:cc|h)'", line)) > 1:
            yield number, "more than one source in a line"


def markdown_lines(name, text):
    """(line, text, whether it is code) of a Markdown file."""
    code = False
    for number, line in enumerate(text.split("\n"), start=1) if name.endswith((".md", ".md.in")) else ():
        code ^= line.startswith("```")
        yield number, line, code or line.startswith("    ")


def rule_markdown_lines_are_short(name, text):
    for number, line, code in markdown_lines(name, text):
        if not code and not line.startswith("|") and len(line) > MARKDOWN_COLUMNS:
            yield number, f"{len(line)} characters; at most {MARKDOWN_COLUMNS} outside of tables"


def rule_words_are_those_of_the_glossary(name, text):
    """No pronoun stands for a program or a VM, and nothing has a name that docs/glossary.md has another one for."""
    if name in MAY_SAY_ANYTHING or name.endswith(".svg"):
        return
    for number, line in enumerate(text.split("\n"), start=1):
        for found in BANNED.finditer(line):
            yield number, f"'{found[0]}': docs/glossary.md has the word"


def python_prose(code):
    """(line, text) of the docstrings and comments."""
    lines = code.split("\n")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            first, last = node.body[0].lineno, node.body[0].end_lineno
            yield from ((number, lines[number - 1]) for number in range(first, last + 1))
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def prose(name, text):
    """(line, its comment or prose) of a text file; a Markdown file's code is none."""
    if name.endswith((".md", ".md.in")):
        yield from ((number, line) for number, line, code in markdown_lines(name, text) if not code)
    elif name.endswith(".py"):
        yield from python_prose(text)
    elif is_source(name, text):
        comment = re.compile(r"(?<!:)//.*" if name.endswith((".h", ".cc", ".js")) else r"(?:^|\s)#.*")
        for number, line in enumerate(text.split("\n"), start=1):
            yield from ((number, found[0]) for found in [comment.search(line)] if found)


def rule_clauses_do_not_stand_for_nouns(name, text):
    """A sentence names its subject and its object: *what waits* is *frames that wait*. A question may have the word."""
    if name in MAY_SAY_ANYTHING or name.startswith("docs/results/"):      # pages that a bench writes
        return
    for number, line in prose(name, text):
        for found in CLAUSE.finditer(line):
            yield number, f"'{found[0]}': name the thing, and its quantity or unit"


@functools.cache
def sections(page):
    return set(re.findall(r"^#+ (\d+(?:\.\d+)*)\.? ", read(page), re.MULTILINE))


def rule_references_to_sections_resolve(name, text):
    if name.endswith((".svg", ".json")):
        return
    for found in REFERENCE.finditer(text):
        line, page = text.count("\n", 0, found.start()) + 1, f"docs/{found[1] or found[3]}.md"
        if not os.path.exists(os.path.join(ROOT, page)):
            yield line, f"there is no {page}"
            continue
        missing = set(re.findall(r"\d+(?:\.\d+)*", found[2] or found[4] or "")) - sections(page)
        if missing:
            yield line, f"{page} has no section {', '.join(sorted(missing))}"


def rule_sources_are_known(name, text):
    """Each item of a header's `Source:` is a page of docs/, or begins with a name of docs/design.md 11."""
    if not name.endswith((".h", ".cc", ".py")):
        return
    head = re.match(r"(?:#![^\n]*\n)?((?://[^\n]*\n)+|\"\"\".*?\"\"\")", text, re.DOTALL)
    paragraphs = re.split(r"\n(?://)?[ ]*(?=\n)", head[1]) if head else ()
    joined = next((re.sub(r"\n(?://)? *", " ", part).rstrip() for part in paragraphs if "Source: " in part), "")
    found = re.search(r"Source: (.*?)\.?(?= (?:Units|Threads): | *\"\"\"|$)", joined)
    for item in re.split(r"; ", found[1]) if found else ():
        if not REFERENCE.match(item) and not item.startswith(KNOWN_SOURCES):
            yield 1, f"'{item}' is no source that docs/design.md 11 lists"


def debian():
    """The release of this Debian; 0 where it is another system."""
    with open("/etc/os-release", encoding="utf-8") as stream:
        found = re.search(r'^VERSION_ID="?(\d+)', stream.read(), re.MULTILINE)
    return int(found[1]) if found else 0


@functools.cache
def format_faults():
    """{file: [line]} of C++ that clang-format would change. The format is that of version 16: another version writes another one."""
    if shutil.which(FORMATTER) is None:
        if debian() > 12:
            raise Unjudged("skipped", f"the format is judged by {FORMATTER} alone, which Debian {debian()} does not have; Debian 12 judges it")
        raise Unjudged("FAILED", f"{FORMATTER} is not installed: apt-get install {FORMATTER}")
    names = [name for name in listing() if name.endswith((".h", ".cc"))]
    done = subprocess.run([FORMATTER, "--dry-run", *names], cwd=TREE, capture_output=True, text=True, check=False)
    faults = collections.defaultdict(list)
    for name, line in set(re.findall(r"^(\S+?):(\d+):\d+: warning: code should be clang-formatted", done.stderr, re.MULTILINE)):
        faults[name].append(int(line))
    return faults


def rule_code_is_formatted(name, text):
    for line in format_faults().get(name, ()):
        yield line, f"not as {FORMATTER} -i writes it"


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


def over(rule, files):
    """The rule as one call that gives FILE:LINE: FAULT, over all files."""
    return lambda: (f"{name}:{line}: {what}" for name, text in files.items() for line, what in rule(name, text))


def main():
    files = {name: read(name, TREE) for name in listing()}
    return run({name: over(rule, files) for name, rule in globals().items() if name.startswith("rule_")})


if __name__ == "__main__":
    sys.exit(main())
