#!/usr/bin/env python3
"""embed.py - the console's files as the initializers of console_files.cc: `embed.py OUTPUT FOLDER FILE...`, files relative to the folder."""

import os
import sys

TYPES = {".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml", "": "text/plain; charset=utf-8"}


def entry(folder, file):
    """index.html is the page of the path /."""
    with open(os.path.join(folder, file), encoding="utf-8") as stream:
        text = stream.read()
    if ')embed"' in text:
        raise SystemExit(f"{file}: it contains the end of a C++ raw string")
    path = "/" if file == "index.html" else f"/{file}"
    return f'{{"{path}", "{TYPES[os.path.splitext(file)[1]]}", R"embed({text})embed"}},\n'


def main(output, folder, *files):
    with open(output, "w", encoding="utf-8") as stream:
        stream.writelines(entry(folder, file) for file in files)


if __name__ == "__main__":
    main(*sys.argv[1:])
