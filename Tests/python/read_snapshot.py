"""Holds a snapshot against the lines that it was made of.

read_snapshot.py SNAPSHOT.html [LINES.ndjson]

Prints how many bytes of numbered lines it has, as the feed has them, and the first and last number.
"""

import json
import re
import sys
from html.parser import HTMLParser


class Page(HTMLParser):
    """What of a page is looked at here."""

    def __init__(self):
        super().__init__()
        self.tags = []
        self.taken = None
        self.policy = None
        self.lines = None
        self.inside = False

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        for name in ("src", "href"):
            place = attributes.get(name)
            assert place is None or place.startswith("#"), f"{tag} leads to {place}"
        if attributes.get("name") == "catwatch-taken":
            self.taken = attributes["content"]
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        if attributes.get("id") == "lines":
            assert tag == "script" and attributes["type"] == "application/x-ndjson"
            self.lines = ""
        self.inside = attributes.get("id") == "lines"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.lines += data


def main(snapshot, known=None):
    with open(snapshot, encoding="utf-8", newline="") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    assert text.endswith("</html>\n"), "the file is cut off"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", page.taken), page.taken
    assert page.policy.startswith("default-src 'none'; "), page.policy
    # The import map, the page's own module, and the lines.
    assert page.tags.count("script") == 3 and "img" not in page.tags, page.tags
    assert "<" not in page.lines
    lines = page.lines.strip("\n").split("\n")
    hello, stats = json.loads(lines[0]), json.loads(lines[1])
    assert hello["type"] == "hello" and stats["type"] == "stats", lines[:2]
    expected = {}
    if known is not None:
        with open(known, encoding="utf-8", newline="") as file:
            expected = {json.loads(line).get("seq"): line.rstrip("\n") for line in file.read().split("\n") if line}
    size = 0
    last_kept = 0
    number = hello["first_seq"]
    for line in lines[2:]:
        said = json.loads(line)
        if said["type"] == "kept" and "series" not in said:
            kept = said["line"]
            assert said["run"] == hello["run"] and last_kept < kept["seq"] < hello["first_seq"], line[:200]
            assert number == hello["first_seq"], "a kept line is among the others"
            assert known is None or kept == json.loads(expected[kept["seq"]]), line[:200]
            last_kept = kept["seq"]
            continue
        assert said["seq"] == number, (said["seq"], number)
        as_it_was = line.replace("\\u003c", "<")
        size += len(as_it_was.encode()) + 1
        if known is not None:
            assert said == json.loads(expected[number]), line[:200]
            assert as_it_was == expected[number].replace("\\u003c", "<"), line[:200]
        number += 1
    assert number == hello["next_seq"], (number, hello["next_seq"])
    print(size, hello["first_seq"], number - 1)


main(*sys.argv[1:])
