"""Turns a frame of a terminal (tmux capture-pane -e -p) into an SVG: frame_svg.py COLUMNS ROWS TITLE HOST <frame >picture.svg

Block and Braille characters are drawn as shapes, so that graphs look the same with every font; all others are text, word
by word, each made as wide as its cells. The name of the host is left out of the first row.
"""

import re
import sys
from html import escape

WIDTH, HEIGHT, MARGIN = 9, 19, 12
BACKGROUND, TEXT = "#101318", "#d6dbe1"
# The sixteen colours, for what is not said in full.
SIXTEEN = "#1d2129 #e06c60 #6bc46d #e0b354 #6cb6ff #c792ea #56c2c2 #c5cad2".split() * 2


def colours(codes):
    """The colours and the weight that follow from the codes of one escape sequence, in their order."""
    codes = [int(code) if code else 0 for code in codes]
    while codes:
        code = codes.pop(0)
        if code in (38, 48):
            if codes.pop(0) == 2:
                colour = "#%02x%02x%02x" % tuple(codes[:3])
                del codes[:3]
            else:
                colour = SIXTEEN[codes.pop(0) % 16]
            yield ("text" if code == 38 else "back"), colour
        elif code == 0:
            yield from (("text", None), ("back", None), ("bold", False), ("under", False), ("inverse", False))
        elif code in (1, 22):
            yield "bold", code == 1
        elif code in (4, 24):
            yield "under", code == 4
        elif code in (7, 27):
            yield "inverse", code == 7
        elif code in (39, 49):
            yield ("text" if code == 39 else "back"), None
        elif 30 <= code <= 37 or 90 <= code <= 97:
            yield "text", SIXTEEN[code % 10]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            yield "back", SIXTEEN[code % 10]


def box(x, y, width, height):
    return f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z"


def shape(character, x, y):
    """The path of a block or Braille character, or nothing."""
    if "▁" <= character <= "█":
        part = (ord(character) - ord("▁") + 1) / 8 * HEIGHT
        return box(x, y + HEIGHT - part, WIDTH, part)
    if "⠀" <= character <= "⣿":
        # Bits 0 to 2 and 6 are the left column, 3 to 5 and 7 the right one.
        places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]
        return "".join(
            box(x + WIDTH * (0.25 + 0.5 * column) - 1.1, y + HEIGHT * (0.125 + 0.25 * row) - 1.1, 2.2, 2.2)
            for bit, (column, row) in enumerate(places)
            if (ord(character) - ord("⠀")) >> bit & 1
        )
    return None


def main():
    columns, rows, title, host = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    width, height = columns * WIDTH + 2 * MARGIN, rows * HEIGHT + 2 * MARGIN
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="15">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>'
    )
    lines = sys.stdin.read().split("\n")[:rows]
    # It may be cut.
    lines[0] = re.sub(re.escape(f"m{host[:8]}") + r"[^\x1b ]*", lambda name: "m" + " " * (len(name[0]) - 1), lines[0])
    style = {}
    for row, line in enumerate(lines):
        y = MARGIN + row * HEIGHT
        column = 0
        words = []
        backs, shapes = {}, {}
        for escaped, character in re.findall(r"\x1b\[([0-9;:]*)m|([^\x1b])", line):
            if not character:
                style = {**style, **dict(colours(escaped.split(";")))}
                continue
            x = MARGIN + column * WIDTH
            column += 1
            ink, back = style.get("text") or TEXT, style.get("back")
            if style.get("inverse"):
                ink, back = back or BACKGROUND, ink
            if back:
                backs[back] = backs.get(back, "") + box(x, y, WIDTH, HEIGHT)
            path = shape(character, x, y)
            if path is not None:
                shapes[ink] = shapes.get(ink, "") + path
            elif character != " ":
                look = f'fill="{ink}"'
                if style.get("bold"):
                    look += ' font-weight="bold"'
                if style.get("under"):
                    look += ' text-decoration="underline"'
                if words and words[-1][0] == look and words[-1][1] + len(words[-1][2]) * WIDTH == x:
                    words[-1][2] += character
                else:
                    words.append([look, x, character])
        for paths in (backs, shapes):
            for colour, path in paths.items():
                print(f'<path fill="{colour}" d="{path}"/>')
        for look, x, word in words:
            place = f'x="{x}" y="{y + 14}" textLength="{len(word) * WIDTH}" lengthAdjust="spacingAndGlyphs"'
            print(f"<text {look} {place}>{escape(word)}</text>")
    print("</svg>")


main()
