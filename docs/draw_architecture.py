#!/usr/bin/env python3
"""draw_architecture.py - draws docs/architecture.svg from the meson.build files: which folder links which.

    docs/draw_architecture.py            write the picture
    docs/draw_architecture.py --check    exit 1 when the committed picture is not the one that would be written
"""
import html
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
HOUSE = ("common", "cost_functions", "vswitch", "ctrl")
LIBRARIES = {"dpdk": "DPDK", "zmq": "ZeroMQ"}
BOX_W, BOX_H, GAP_X, GAP_Y, MARGIN = 270, 78, 30, 44, 16
STYLE = """<style>
 text { font: 11.5px sans-serif; fill: #24292f } .name { font-weight: bold; font-size: 14px } .lib { fill: #9a5b00 }
 rect { fill: #f6f8fa; stroke: #57606a; fill-opacity: .85 } .program { fill: #ddf4ff } .page { fill: #fff; stroke: none; fill-opacity: 1 }
 path { stroke: #57606a; fill: none; marker-end: url(#arrow) }
</style>
<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">\
<polygon points="0,0 8,4 0,8" fill="#57606a"/></marker>"""


def calls(text, function):
    """(variable, arguments, comment above) of each call that is assigned or stands alone."""
    for match in re.finditer(rf"((?:^#[^\n]*\n)*)^(?:(\w+) = )?{function}\(", text, re.MULTILINE):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield match[2], text[match.end():end - 1], re.sub(r"^# ?", "", match[1], flags=re.MULTILINE)


def opening(folder, arguments):
    """The phrase behind the name in the first line of the first source: `// main.cc - this`."""
    text = (folder / re.search(r"'([\w-]+\.cc)'", arguments)[1]).read_text()
    comment = re.match(r"(?://.*\n)+", text)[0].replace("\n// ", " ")
    return comment.split(" - ", 1)[1].split(". ")[0].strip()


def targets():
    """{library or program: its folder, comment and the names in its `dependencies`}, and {*_dep: its libraries}."""
    found, meant, variables = {}, {}, {}
    for name in sorted(p for top in HOUSE for p in (ROOT / top).rglob("meson.build")):
        text = name.read_text()
        for kind in ("static_library", "executable"):
            for variable, arguments, comment in calls(text, kind):
                target = re.match(r"\s*'([\w-]+)'", arguments)[1]
                wanted = re.search(r"dependencies: (\[[^\]]*\]|\w+)", arguments)
                found[target] = {"folder": str(name.parent.relative_to(ROOT)), "program": kind == "executable",
                                 "about": comment.split("\n")[0] or opening(name.parent, arguments),
                                 "uses": re.findall(r"\w+", wanted[1]) if wanted else []}
                variables[variable] = target
        for variable, arguments, _ in calls(text, "declare_dependency"):
            meant[variable] = re.findall(r"\w+_lib", arguments) or re.findall(r"\w+_dep", arguments)

    def libraries(name):
        return {variables[name]} if name in variables else {lib for part in meant[name] for lib in libraries(part)}

    return found, {name: libraries(name) for name in meant}


def graph():
    """Adds to every target: `below` (the targets that it links, less those that these link already), `layer`, `title`."""
    found, meant = targets()

    def reach(name):
        direct = {lib for use in found[name]["uses"] if use in meant for lib in meant[use]}
        return direct | {below for lib in direct for below in reach(lib)}

    for name, target in found.items():
        direct = {lib for use in target["uses"] if use in meant for lib in meant[use]}
        target["below"] = sorted(d for d in direct if not any(d in reach(other) for other in direct - {d}))
        target["libs"] = [text for key, text in LIBRARIES.items() if key in target["uses"]]
        alone = sum(other["folder"] == target["folder"] for other in found.values()) == 1
        short = name.removeprefix("weir_").removeprefix("cli_")
        target["title"] = name if target["program"] else target["folder"] + ("" if alone else f": {short}")
    for target in found.values():
        target["layer"] = layer(found, target)
    return found


def layer(found, target):
    return 1 + max((layer(found, found[name]) for name in target["below"]), default=-1)


def place(found):
    """Gives every target its corner: layers from the bottom up, each in the order of the targets below it."""
    layers = [[t for t in found.values() if t["layer"] == n] for n in range(1 + max(t["layer"] for t in found.values()))]
    width = max(map(len, layers)) * (BOX_W + GAP_X) - GAP_X
    for number, row in enumerate(layers):
        row.sort(key=lambda t: sum(found[b]["x"] for b in t["below"]) / max(1, len(t["below"])))
        left = MARGIN + (width - len(row) * (BOX_W + GAP_X) + GAP_X) / 2
        for column, target in enumerate(row):
            target["x"] = left + column * (BOX_W + GAP_X)
            target["y"] = MARGIN + (len(layers) - 1 - number) * (BOX_H + GAP_Y)
    return width + 2 * MARGIN, len(layers) * (BOX_H + GAP_Y) - GAP_Y + 2 * MARGIN


def box(target):
    x, y = target["x"], target["y"]
    lines = [f'<rect x="{x:g}" y="{y:g}" width="{BOX_W}" height="{BOX_H}" rx="6"'
             + (' class="program"/>' if target["program"] else "/>"),
             f'<text class="name" x="{x + 10:g}" y="{y + 20:g}">{html.escape(target["title"])}</text>',
             f'<text class="lib" x="{x + BOX_W - 10:g}" y="{y + 20:g}" text-anchor="end">{" ".join(target["libs"])}</text>']
    for number, line in enumerate(textwrap.wrap(target["about"], 41)[:3]):
        lines.append(f'<text x="{x + 10:g}" y="{y + 38 + 15 * number:g}">{html.escape(line)}</text>')
    return "\n".join(lines)


def arrows(found, target):
    for name in target["below"]:
        below = found[name]
        bend = target["y"] + BOX_H + GAP_Y / 2
        start, end = target["x"] + BOX_W / 2, below["x"] + BOX_W / 2
        yield f'<path d="M{start:g},{target["y"] + BOX_H:g} C{start:g},{bend:g} {end:g},{below["y"] - GAP_Y:g} {end:g},{below["y"]:g}"/>'


def draw():
    found = graph()
    width, height = place(found)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}">', STYLE,
             '<rect class="page" width="100%" height="100%"/>']
    parts += [arrow for target in found.values() for arrow in arrows(found, target)]
    parts += [box(target) for target in found.values()]
    return "\n".join([*parts, "</svg>", ""])


def main():
    if sys.argv[1:] != ["--check"]:
        PICTURE.write_text(draw())
        return 0
    if PICTURE.exists() and PICTURE.read_text() == draw():
        return 0
    print("docs/architecture.svg no longer matches the meson.build files: run docs/draw_architecture.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
