#!/usr/bin/env python3
"""readme_results.py - puts the tables of measured JSON files into the README's marked blocks.

    bench/lib/readme_results.py [FOLDER]     default: build, where the benches write NAME.json

A block begins with `<!-- results:NAME -->` and ends with `<!-- /results -->`; what has not been measured stays as it is.
"""
import argparse
import contextlib
import importlib
import io
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
sys.path.insert(0, str(ROOT / "bench"))

# Block -> the bench's file, the function that prints its tables, and which of these belong into the block.
BLOCKS = {
    "forwarding": ("forwarding", "lib.forwarding_report", "print_and_save", ("Two VMs", "64 bytes, in ratios", "Against")),
    "wire": ("forwarding", "lib.forwarding_report", "print_and_save", ("Frames from the wire",)),
    "loads": ("forwarding", "lib.forwarding_report", "print_and_save", ("64 bytes at a part",)),
    "isolation": ("isolation", "isolation", "report", ("",)),
    "latency": ("latency", "latency", "report", ("",)),
    "idle": ("idle", "idle", "report", ("",)),
    "encryption": ("encryption", "encryption", "report", ("",)),
    "startup": ("startup", "startup", "report", ("",)),
}


def tables(measured, module, function):
    """The bench's own tables, from its samples: [(title, Markdown)]."""
    printed = io.StringIO()
    with tempfile.NamedTemporaryFile(suffix=".json") as unused, contextlib.redirect_stdout(printed):
        options = argparse.Namespace(**measured["options"] | {"output": unused.name})
        with contextlib.redirect_stderr(io.StringIO()):
            getattr(importlib.import_module(module), function)(measured["samples"], options)
    parts = re.split(r"\n*^([^|\n].*)\n\n", printed.getvalue(), flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], (part.strip() for part in parts[1::2])))


def origin(measured):
    """Where, when and of what."""
    machine, options = measured["machine"], measured["options"]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    return (f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; {packages}; commit {machine['commit']}, "
            f"{machine['time']}; {options['rounds']} round(s) of {options['seconds']:g} s.")


def block(folder, name):
    """The block's new content, or None when that was not measured."""
    bench, module, function, wanted = BLOCKS[name]
    path = folder / f"{bench}.json"
    if not path.exists():
        return None
    measured = json.loads(path.read_text())
    found = tables(measured, module, function)
    if not any(title.startswith(wanted[0]) for title, _ in found):
        return None
    parts = [f"{title}:\n\n{text}" for title, text in found if title.startswith(wanted)]
    return "\n\n".join([*parts, origin(measured)])


def demo(folder):
    path = folder / "demo.json"
    if not path.exists():
        return None
    view = importlib.import_module("demo_view")
    return "```text\n" + view.result_table(json.loads(path.read_text())).strip("\n") + "\n```"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build")
    text = README.read_text()
    for name in re.findall(r"<!-- results:(\w+) -->", text):
        content = demo(folder) if name == "demo" else block(folder, name)
        if content is None:
            print(f"{name}: not measured")
            continue
        pattern = rf"(<!-- results:{name} -->\n).*?(<!-- /results -->)"
        text = re.sub(pattern, lambda found: f"{found[1]}{content}\n{found[2]}", text, flags=re.DOTALL)
        print(f"{name}: written")
    README.write_text(text)


if __name__ == "__main__":
    main()
