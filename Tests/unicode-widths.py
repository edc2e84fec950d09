#!/usr/bin/env python3
"""Writes Sources/Terminal/Cells/WidthTable+Data.swift: which code points take how many columns of a terminal.

    python3 Tests/unicode-widths.py > Sources/Terminal/Cells/WidthTable+Data.swift

The source is the Unicode character database as the interpreter's `unicodedata` has it (the version is written into the
file): general category and East Asian width (UAX #11). The classes:

    0  nothing: nonspacing and enclosing marks, format characters, Hangul vowels and finals
    1  one column; also what is ambiguous
    2  two columns: wide and full-width, and what is still unassigned among the emoji
    3  one column, but terminals differ: spacing marks, private use, unassigned
"""
import unicodedata

PREPENDED = {0x0600, 0x0601, 0x0602, 0x0603, 0x0604, 0x0605, 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD}


def width_class(code):
    character = chr(code)
    category = unicodedata.category(character)
    if 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF:
        return 0
    if category in ("Mn", "Me") or (category == "Cf" and code not in PREPENDED):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    if category == "Cn" and 0x1F900 <= code <= 0x1FAFF:
        return 2
    if category in ("Mc", "Co", "Cn", "Cs"):
        return 3
    return 1


def main():
    runs = []
    for code in range(0x110000):
        found = width_class(code)
        if not runs or runs[-1][1] != found:
            runs.append((code, found))
    words = ["0x%X" % (start << 2 | found) for start, found in runs]
    lines = []
    line = "       "
    for word in words:
        if len(line) + len(word) + 2 > 120:
            lines.append(line)
            line = "       "
        line += " " + word + ","
    lines.append(line)
    print("// Written by Tests/unicode-widths.py; do not edit.\n")
    print("extension WidthTable {")
    print("    // Of Unicode %s.\n" % unicodedata.unidata_version)
    print("    /// Where a run of code points of one class starts, times four, plus the class; ascending.")
    print("    static let runs: [UInt32] = [")
    print("\n".join(lines))
    print("    ]\n}")


main()
