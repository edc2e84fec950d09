"""What is as long, as great or as pale as it can be stays in its place."""

import json
import re

import pytest
from playwright.sync_api import expect

from agent import Agent
from conftest import DESKTOP, PHONE, SHOTS, long
from view import address, amount, drawn, row

UNIT = "kilowatt-hours per square metre"
BANDS = [
    {"name": "pale", "letter": "P", "color": "#ffffff", "up_to": 10},
    {"name": "very unsatisfactory", "letter": "U", "color": "#92d050", "up_to": 1e6},
    {"name": "black", "letter": "B", "color": "#000000"},
]
VALUES = {"tiny": 5e-324, "vast": 1.7976931348623157e308, "low": -1.7976931348623157e308, "mid": 12345.6, "one": 7}


@pytest.fixture
def extreme(tmp_path):
    source = {"name": "in", "kind": "stdin", "items": "", "key": "/s", "value": "/v", "unit": UNIT, "bands": {"bands": BANDS}}
    config = tmp_path / "config.jsonc"
    config.write_text(json.dumps({"sources": [source]}))
    agent = Agent("-c", str(config), "-i", "1s")
    agent.takes_input = True
    with agent:
        for value in (VALUES["vast"], VALUES["low"]) * 2:
            agent.feed({"s": "swing", "v": value})
        agent.feed(*({"s": name, "v": value} for name, value in VALUES.items()))
        yield agent


def box(locator):
    return locator.evaluate("node => node.getBoundingClientRect().toJSON()")


@long
def test_a_narrow_list_cuts_the_unit(extreme, open_page):
    page = open_page(extreme, viewport={"width": 320, "height": 640})
    expect(amount(page, "in/tiny")).to_have_text("4.94e-324")
    page.screenshot(path=SHOTS / "extremes-list.png")
    for name in VALUES:
        one = row(page, f"in/{name}")
        assert box(one.locator(".amount"))["right"] <= min(box(one.locator(".unit"))["left"], 320), name
        assert box(one.locator(".unit"))["right"] <= 320, name
        assert box(one.locator(".spark"))["width"] >= 60, name


def test_a_graph_of_the_greatest_numbers_stays_in_its_plot(extreme, open_page):
    page = open_page(extreme, address("in/swing"))
    expect(page.locator(".graph-line")).to_have_attribute("d", re.compile("L"))
    page.screenshot(path=SHOTS / "extremes-graph.png")
    left, top, width, height = (float(page.locator(".graph clipPath rect").get_attribute(name)) for name in ("x", "y", "width", "height"))
    for part in ("line", "dots", "end"):
        drawn = page.locator(f".graph-{part}").evaluate("node => { const { x, y, width, height } = node.getBBox(); return [x, y, x + width, y + height] }")
        assert drawn[0] >= left and drawn[1] >= top and drawn[2] <= left + width and drawn[3] <= top + height, part
        assert page.locator(f".graph-{part}").get_attribute("clip-path"), part


@long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_band_as_pale_as_what_is_around_it_has_a_rim(extreme, open_page, theme):
    page = open_page(extreme, f"?theme={theme}")
    name, other = ("one", "vast") if theme == "light" else ("vast", "one")
    expect(row(page, f"in/{name}")).to_be_visible()
    colors = "node => [getComputedStyle(node).backgroundColor, getComputedStyle(node, '::before').backgroundColor]"
    rim, band = row(page, f"in/{name}").locator(".badge:visible").evaluate(colors)
    assert rim != band
    rim, band = row(page, f"in/{other}").locator(".badge:visible").evaluate(colors)
    assert rim == band
    page.goto(extreme.url + f"?theme={theme}" + address(f"in/{name}"))
    expect(page.locator(".detail .badge:visible")).to_be_visible()
    rim, band = page.locator(".detail .badge:visible").evaluate(colors)
    assert rim != band


@long
def test_no_key_leads_away_from_one_graph_alone(extreme, open_page):
    page = open_page(extreme, "?bare" + address("in/one"))
    expect(page.locator(".graph-end")).to_be_attached()
    before = page.url
    for key in ("1", "3", "4", "w", "Escape", "ArrowDown", "ArrowUp", "j", "k", "?", "r"):
        page.keyboard.press(key)
    drawn(page)
    assert page.url == before
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".graph-cursor")).to_have_attribute("d", re.compile("M"))


def test_who_refuses_a_poll_is_quoted(extreme, open_page):
    page = open_page(extreme, address("in/one"))
    # The browser tells of the status, too.
    page.context.watch.expected.append("404")
    page.get_by_role("button", name="Poll now").click()
    expect(page.locator("#said")).to_contain_text("in was not asked: ")
    assert "{" not in page.locator("#said").inner_text()


@long
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
