"""What comes out on paper: whole lists, no buttons, no empty pages."""

import json
import re

from playwright.sync_api import expect

from agent import Agent
from conftest import DESKTOP, PHONE, SHOTS
from view import STICKS_OUT, row, rows

COUNT = 120
# What is on paper and could be pressed or written to.
CONTROLS = "() => [...document.querySelectorAll('button, select, input, .tools, .screens')].filter(node => node.checkVisibility() && !node.matches('.sort, .zone')).length"


def pages_of(pdf):
    """The number of pages that the page tree of a PDF names."""
    return max(int(count) for count in re.findall(rb"/Type\s*/Pages\s.*?/Count (\d+)", pdf, re.DOTALL))


def paper(page, name):
    """Prints a page; gives how many pages it has, and what was in the document while it was printed."""
    page.evaluate(
        f"""() => addEventListener("beforeprint", () => {{
            globalThis.printed = [...document.querySelectorAll(".list .rows .row:not([hidden]) .name")].map(node => node.textContent)
            globalThis.controls = ({CONTROLS})()
        }})"""
    )
    pdf = page.pdf(path=SHOTS / f"{name}.pdf", format="A4")
    return pages_of(pdf), page.evaluate("printed")


def test_a_printed_list_has_all_rows(fed, open_page):
    fed.feed(*({"s": f"s{number:03}", "v": number} for number in range(COUNT)))
    page = open_page(fed)
    # The list has all series before its rows are counted: one row is for memory, one is the heading.
    expect(page.locator(".list [aria-rowcount]")).to_have_attribute("aria-rowcount", str(COUNT + 2))
    before = rows(page).count()
    assert before < COUNT
    pages, printed = paper(page, "list-printed")
    assert [name for name in printed if re.search(r"s\d{3}$", name)] == [f"stdin/s{number:03}" for number in range(COUNT)]
    # 34 pixels each on paper of 1,123 pixels, whose margins and head take some.
    assert 4 <= pages <= 6, pages
    # And the document is as small as it was.
    expect(rows(page)).to_have_count(before)
    page.emulate_media(media="print")
    assert page.evaluate(CONTROLS) == 0
    page.screenshot(path=SHOTS / "list-printed.png")


def test_a_printed_graph_is_one_page(demo, open_page):
    page = open_page(demo, "#/series/aqi/Delhi")
    expect(page.locator(".detail .graph .graph-line").first).to_be_attached()
    pages, _ = paper(page, "detail-printed")
    assert pages == 1
    page.set_viewport_size({"width": 718, "height": 1046})
    page.emulate_media(media="print")
    assert page.evaluate(CONTROLS) == 0
    assert page.evaluate(STICKS_OUT) == []
    page.screenshot(path=SHOTS / "detail-printed.png")


def test_other_screens_have_no_empty_page(demo, open_page):
    page = open_page(demo, "#/feed")
    expect(page.locator(".feed .lines .line:not([hidden])").first).to_be_visible()
    assert paper(page, "feed-printed")[0] == 1


def test_a_unit_is_whole_where_there_is_room(open_page, tmp_path):
    source = {"name": "in", "kind": "stdin", "items": "", "key": "/s", "value": "/v", "unit": "messages"}
    configuration = tmp_path / "catwatch.jsonc"
    configuration.write_text(json.dumps({"sources": [source]}))
    agent = Agent("-c", str(configuration))
    agent.takes_input = True
    with agent:
        agent.feed({"s": "queue", "v": 120})
        for viewport in (DESKTOP, PHONE):
            unit = row(open_page(agent, viewport=viewport), "in/queue").locator(".unit")
            expect(unit).to_have_text("messages")
            assert unit.evaluate("node => node.scrollWidth <= node.clientWidth"), viewport
