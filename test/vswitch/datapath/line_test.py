#!/usr/bin/env python3
"""line_test.py - each room of vswitch/datapath finds the headers of the rooms before it and no others.

    line_test.py BUILD      a configured build folder

The compiler is asked with the arguments that it gets for the room's sources. The last line is `N passed, N failed`.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "support"))
sys.path.insert(0, str(ROOT / "test"))

from rules import run  # noqa: E402  (the paths above come first)
from tidy_test import LINE  # noqa: E402

DATAPATH = "vswitch/datapath"


def header_of(room):
    """A header of the room, from the root."""
    return next(str(path.relative_to(ROOT)) for path in sorted((ROOT / DATAPATH / room).glob("*.h")))


def command_of(build, room):
    """(folder, words) by which a source of the room is preprocessed from standard input instead."""
    with open(os.path.join(build, "compile_commands.json")) as stream:
        entry = next(entry for entry in json.load(stream) if f"libweir_datapath_{room}.a.p/" in entry["output"])
    words = shlex.split(entry["command"])
    words = words[words.index(next(word for word in words if word.startswith("-"))) - 1:]      # without the compiler cache
    places = {words.index(option) + more for option in ("-o", "-MF", "-MQ") if option in words for more in (0, 1)}
    kept = [word for place, word in enumerate(words) if place not in places and word not in ("-c", "-MD", entry["file"])]
    return entry["directory"], [*kept, "-E", "-x", "c++", "-"]


def preprocess(build, room, text):
    folder, words = command_of(build, room)
    return subprocess.run(words, cwd=folder, input=text, capture_output=True, text=True, check=False)


def sees_its_rooms(build, room):
    """Faults of the headers that a room finds: those of its own and of the rooms that LINE gives it, no others."""
    probe = "".join(f'#if __has_include("{header_of(other)}")\nfound {other}\n#endif\n' for other in LINE)
    done = preprocess(build, room, probe)
    found = {line.split()[1] for line in done.stdout.split("\n") if line.startswith("found ")}
    if done.returncode != 0:
        yield done.stderr
    elif found != {*LINE[room], room}:
        yield f"{room} finds the headers of {', '.join(sorted(found))}; it may see {', '.join((*LINE[room], room))}"


def refuses_an_include_against_the_line(build):
    header = header_of("loop")
    done = preprocess(build, "frame", f'#include "{header}"\n')
    if done.returncode == 0 or header not in done.stderr:
        yield f"frame may include {header}: {done.stderr or 'no error'}"


def refuses_an_include_of_the_agent(build):
    header = "vswitch/agent/switch_control.h"
    done = preprocess(build, "loop", f'#include "{header}"\n')
    if done.returncode == 0 or header not in done.stderr:
        yield f"loop may include {header}: {done.stderr or 'no error'}"


def main():
    build = sys.argv[1]
    rules = {f"{room} sees its rooms": lambda room=room: sees_its_rooms(build, room) for room in LINE}
    rules["an include against the line is refused"] = lambda: refuses_an_include_against_the_line(build)
    rules["an include of the agent is refused"] = lambda: refuses_an_include_of_the_agent(build)
    return run(rules)


if __name__ == "__main__":
    sys.exit(main())
