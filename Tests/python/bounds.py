#!/usr/bin/env python3
"""Writes docs/bounds.md from the comments beside the code that sets the bounds: bounds.py [--check]

A bound is a comment in a Swift, C or JavaScript file of Sources, above or behind the code. Its further lines are indented
by two more blanks; a `|` within a part is written `\\|`:

    // Bound: pings of a WebSocket that may still be answered | 16 |
    //   the oldest is forgotten

With --check nothing is written: it exits with 1 when docs/bounds.md is not what the comments say.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "Sources"
PAGE = ROOT / "docs" / "bounds.md"
MODULES = [
    "Feed", "Conditions", "Journal", "Nats", "Inputs", "Outputs", "HTTPServer", "Web", "Terminal", "Page", "Settings",
    "catwatch", "Reactor", "WebSocket", "CatAPI",
]
INTRODUCTION = """\
# Bounds

Every buffer has a bound, and something defined happens when it is full. Limits that are no buffers are on other pages:
of lines and requests in the [wire format](wire-format.md), by [HTTP](http.md#limits), of
[settings](configuration.md), of a [fleet](fleet.md)'s agents, of a [journal](journal.md#how-large-it-gets).

`Tests/python/bounds.py` writes this page from comments beside the code, `// Bound: buffer | bound | when full`.
"""


def bounds(path):
    """The bounds of a file, each as its line's number and its three parts."""
    found = []
    is_open = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        first = re.search(r"// Bound: *(.*)", line)
        further = re.match(r"\s*//   (.*)", line) if is_open else None
        if first:
            found.append((number, first[1]))
        elif further:
            found[-1] = (found[-1][0], f"{found[-1][1]} {further[1]}")
        is_open = bool(first or further)
    for number, text in found:
        parts = [part.strip() for part in re.split(r"(?<!\\)\|", text)]
        if len(parts) != 3 or not all(parts):
            sys.exit(f"{path.relative_to(ROOT)}:{number}: a bound is `// Bound: buffer | bound | when full`, not: {text}")
        yield parts


def document():
    tables = {module: [] for module in MODULES}
    for path in sorted(SOURCES.rglob("*")):
        if path.suffix not in {".swift", ".c", ".h", ".mjs"}:
            continue
        place = path.relative_to(SOURCES)
        for parts in bounds(path):
            if place.parts[0] not in tables:
                sys.exit(f"bounds.py: {place} has a bound, and its module is not in MODULES")
            tables[place.parts[0]].append(parts)
    text = INTRODUCTION
    for module, rows in tables.items():
        if rows:
            text += f"\n## {module}\n\n| buffer | bound | when full |\n| --- | --- | --- |\n"
            text += "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return text


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit("usage: bounds.py [--check]")
    text = document()
    if not arguments:
        PAGE.write_text(text, encoding="utf-8")
    elif text != PAGE.read_text(encoding="utf-8"):
        sys.exit("docs/bounds.md is not what the comments `// Bound:` in Sources say: run Tests/python/bounds.py")


main(sys.argv[1:])
