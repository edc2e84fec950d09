"""Values that stand for words, what is gone from an answer, and lines that came together."""

import re
import time
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from agent import Agent, AttachedFeed, stamp, until
from conftest import DESKTOP, IS_LONG, PHONE, SHOTS, long
from view import STICKS_OUT, address, amount, lines, row
from test_screens import violations

WORDS = ["operational", "degraded_performance", "partial_outage", "major_outage"]
COLORS = ["#00b050", "#ffff00", "#ff9900", "#c00000"]
BANDS = [{"name": name, "letter": name[0].upper(), "color": color, "up_to": place + 0.5} for place, (name, color) in enumerate(zip(WORDS, COLORS))]
del BANDS[-1]["up_to"]
MINUTE = 60_000_000


def described(name, **more):
    return {"source": name, "state": "ok", "since": "2023-11-14T22:13:20.000000Z", "type": name, **more}


@contextmanager
def status_page(interval=10, now=None):
    """A feed of another agent, whose time is this machine's, with a source that has states and one that is true or false."""
    sources = [described("status", bands=BANDS), described("doors"), described("aqi")]
    with AttachedFeed(interval=interval, start=int(now or time.time() - 300) * 1_000_000, sources=sources) as feed, Agent(f"--attach={feed.path}") as agent:
        feed.accept()
        yield feed, agent


def state(feed, name, place, since, **more):
    return feed.value(f"status/{name}", place, word=WORDS[place], since=stamp(since), **more)


@pytest.fixture
def status():
    with status_page() as (feed, agent):
        begun = feed.now
        for minute in range(6):
            failed = 3 if minute >= 2 else 0
            feed.say(
                state(feed, "API", failed, begun if failed == 0 else begun + 2 * MINUTE), state(feed, "Web", 0, begun),
                feed.value("doors/front", minute % 2, word=("false", "true")[minute % 2], since=stamp(feed.now)),
                feed.value("aqi/Delhi", 5 + minute),
            )  # fmt: skip
            if minute < 5:
                feed.now += MINUTE
        yield feed, agent


@pytest.mark.parametrize("viewport", [PHONE] + ([DESKTOP] if IS_LONG else []))
def test_a_state_is_its_word_with_its_time_and_a_strip(status, open_page, viewport):
    feed, agent = status
    page = open_page(agent, viewport=viewport)
    api = row(page, "status/API")
    expect(amount(page, "status/API")).to_have_text("major_outage")
    expect(api.locator(".difference")).to_have_text(re.compile(r"^for 3m[0-5]\ds$"))
    expect(api.locator(".difference")).to_be_visible()
    expect(api.locator(".badge:visible").last).to_have_text("M")
    # The word is not said twice, and no number is.
    expect(api.locator(".band-name")).to_have_text("")
    expect(api.locator(".change .arrow")).to_have_text("")
    # A block for each window, in its band's colour, and a dot for one without.
    fills = api.locator(".spark-block").evaluate_all("nodes => nodes.map(node => [getComputedStyle(node).fill, (node.getAttribute('d').match(/z/g) ?? []).length])")
    assert len(fills) == 1 and fills[0][1] == 2, fills
    assert api.locator(".spark-missing").get_attribute("d").count("M") >= 5
    expect(api.locator(".spark-line[d]:not([d=''])")).to_have_count(0)
    doors = row(page, "doors/front")
    expect(amount(page, "doors/front")).to_have_text("true")
    expect(doors.locator(".spark-block:not(.off)")).to_have_count(1)
    expect(doors.locator(".spark-block.off")).to_have_count(1)
    expect(amount(page, "aqi/Delhi")).to_have_text("10")
    expect(row(page, "aqi/Delhi").locator(".spark-block")).to_have_count(0)
    expect(row(page, "aqi/Delhi").locator(".change .arrow")).to_have_text("↑")
    assert amount(page, "status/API").evaluate("node => node.scrollWidth <= node.clientWidth")
    page.screenshot(path=SHOTS / f"words-{viewport['width']}.png")
    assert page.evaluate(STICKS_OUT) == []
    assert violations(page) == []
    # Back to a better band, by its letters.
    feed.now += 10_000_000
    feed.say(state(feed, "API", 0, feed.now))
    expect(amount(page, "status/API")).to_have_text("operational")
    expect(api.locator(".band")).to_have_text("M→O")
    expect(api.locator(".band .arrow")).to_have_class("arrow good")
    # And to a number, which has its history as a line.
    feed.say(feed.value("status/API", 1))
    expect(amount(page, "status/API")).to_have_text("1")
    expect(api.locator(".spark-block[d]:not([d=''])")).to_have_count(0)
    expect(api.locator(".band-name")).to_have_text("degraded_performance")


@long
def test_detail_has_the_word_and_a_strip(status, open_page):
    feed, agent = status
    page = open_page(agent, address("status/API"))
    expect(page.locator(".detail .amount")).to_have_text("major_outage")
    expect(page.locator(".detail-value .age")).to_contain_text("for 3m")
    blocks = page.locator(".graph-block")
    expect(blocks.first).to_be_attached()
    colours = blocks.evaluate_all("nodes => [...new Set(nodes.map(node => getComputedStyle(node).fill))]")
    assert len(colours) == 1, colours
    expect(page.locator(".graph-line")).to_have_attribute("d", "")
    expect(page.locator(".graph-letters")).to_contain_text("operational")
    numbers = page.locator(".graph-numbers")
    expect(numbers).to_contain_text("last major_outage")
    assert "mean" not in numbers.inner_text()
    expect(page.get_by_role("button", name="Log")).to_be_hidden()
    page.locator(".graph-frame").focus()
    page.keyboard.press("End")
    expect(numbers).to_contain_text("value major_outage")
    page.get_by_role("button", name="Table").click()
    expect(page.locator(".graph-table tbody td").first).to_have_text("major_outage")
    page.goto(agent.url + address("doors/front"))
    expect(page.locator(".detail .amount")).to_have_text("true")
    expect(page.locator(".graph-block")).not_to_have_count(0)
    page.emulate_media(forced_colors="active")
    assert page.locator(".graph-block").first.evaluate("node => getComputedStyle(node).fill") != "rgb(0, 0, 0)"
    page.goto(agent.url + address("aqi/Delhi"))
    expect(page.locator(".graph-line")).not_to_have_attribute("d", "")
    expect(page.locator(".graph-block")).to_have_count(0)


def test_words_are_text_and_no_longer_than_they_may_be(open_page):
    with status_page() as (feed, agent):
        nasty = "\u001b[31m<b>\u202e"
        since = stamp(feed.now)
        feed.say(
            feed.value("status/esc", 1, word=nasty, since=since), feed.value("status/long", 2, word="w" * 4096, since=since),
            feed.value("status/64", 2, word="w" * 64, since=since), feed.value("status/none", 2, word="", since=since),
            feed.value("status/when", 2, word="partial_outage"), feed.value("status/bad", 2, word=7, since=since),
        )  # fmt: skip
        page = open_page(agent)
        expect(amount(page, "status/esc")).to_have_text("␛[31m<b>\\u{202e}")
        expect(amount(page, "status/64")).to_have_text("w" * 64)
        for name in ("long", "none", "when", "bad"):
            expect(amount(page, f"status/{name}")).to_have_text("2")
        assert page.evaluate(STICKS_OUT) == []
        page.goto(agent.url + address("status/64"))
        expect(page.locator(".detail .amount")).to_have_text("w" * 64)
        page.set_viewport_size(PHONE)
        assert page.evaluate(STICKS_OUT) == []


def test_what_is_gone_stays_in_its_place_until_it_is_back(status, open_page):
    feed, agent = status
    page = open_page(agent, timezone_id="UTC")
    expect(amount(page, "status/Web")).to_have_text("operational")
    place = row(page, "status/Web").get_attribute("aria-rowindex")
    at = time.strftime("%H:%M", time.gmtime(feed.now / 1e6))
    feed.say({"type": "progress", "source": "status", "done": 1, "total": 1, "page": 1, "items": 1, "gone": ["Web", "nobody"]})
    web = row(page, "status/Web")
    expect(web.locator(".difference")).to_have_text(f"gone {at}")
    expect(web).to_have_class(re.compile(r"\bstale\b"))
    expect(amount(page, "status/Web")).to_have_text("operational")
    assert web.get_attribute("aria-rowindex") == place
    # How many there are is a series.
    expect(amount(page, "count:status")).to_have_text("1")
    page.keyboard.press("s")
    expect(web.locator(".difference")).to_have_text(f"gone {at}")
    page.goto(agent.url + address("status/Web"))
    expect(page.locator(".detail-value .age")).to_contain_text(f"gone {at}")
    page.goto(agent.url + "#/")
    feed.say(state(feed, "Web", 2, feed.now))
    expect(amount(page, "status/Web")).to_have_text("partial_outage")
    expect(web.locator(".difference")).to_have_text(re.compile(r"^for \d+s$"))


def in_order(page):
    """What the rows of the feed say, but for their times."""
    said = lines(page).evaluate_all(
        """nodes => nodes.sort((one, other) => one.ariaRowIndex - other.ariaRowIndex).map(node => [...node.children].slice(1).map(each => each.textContent).join(""))"""
    )
    return said


@long
def test_lines_that_came_together_are_one_row_of_the_feed(open_page):
    with status_page() as (feed, agent):
        names = ["Agra", "Delhi", "Köln", "Pune", "#", "Kiel", "Ulm"]
        city = lambda name, value=1: feed.value(f"aqi/{name}", value)  # noqa: E731
        feed.say(*(city(name) for name in names))
        # The same series again begins another one; what stands between ends it; two are none.
        feed.say(city("Agra"), city("Delhi"), city("Köln"), feed.value("doors/front", 1, text="a bell"), city("Pune"), city("Ulm"))
        page = open_page(agent, "#/feed")
        shown = ["aqi7 itemsAgra, Delhi, Köln, Pune, #, …", "aqi3 itemsAgra, Delhi, Köln", "doors/front1a bell", "aqi/Pune1", "aqi/Ulm1"]
        until(lambda: in_order(page) == shown, lambda: f"{shown}: {in_order(page)}")
        feed.say(city("Kiel"))
        until(lambda: in_order(page) == [*shown[:3], "aqi3 itemsPune, Ulm, Kiel"], lambda: f"one row more: {in_order(page)}")
        # One source after the other, as the address tells; Escape shows all again.
        page.keyboard.press("F")
        assert page.evaluate("location.hash") == "#/feed?source=aqi"
        expect(lines(page)).to_have_count(3)
        page.keyboard.press("F")
        until(lambda: in_order(page) == [shown[2]], "the bell")
        expect(page.get_by_label("Source of line")).to_have_value("doors")
        page.keyboard.press("Escape")
        expect(lines(page)).to_have_count(4)
        # Of what is filtered out the numbers are missing: no three stand together.
        page.keyboard.press("/")
        page.keyboard.type("köln|pune")
        until(lambda: in_order(page) == ["aqi/Köln1", "aqi/Pune1"] * 2, lambda: f"four: {in_order(page)}")
        page.keyboard.press("1")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        expect(page.get_by_label("Source of line")).to_be_hidden()


@long
def test_ten_thousand_lines_that_came_together_leave_the_newest(open_page):
    with status_page() as (feed, agent):
        page = open_page(agent, "#/feed")
        feed.say(feed.value("doors/front", 1, text="first"))
        expect(lines(page)).to_have_count(1)
        for first in range(0, 10_000, 500):
            feed.say(*(feed.value(f"aqi/{place:05}", 1) for place in range(first, first + 500)))
        feed.say(feed.value("doors/front", 2, text="last"))
        # The board has 500 lines, of which all but one came together.
        until(lambda: len(in_order(page)) == 2 and in_order(page)[1] == "doors/front2last", lambda: f"two rows: {in_order(page)}")
