"""Alerts that fire, on the screens of a page."""

import re
import time
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from agent import Agent, AttachedFeed, stamp
from conftest import DESKTOP, PHONE, SHOTS, long
from view import STICKS_OUT, row, rows
from test_screens import settle, violations

HEARD = """() => {
    window.heard = []
    const said = document.getElementById("said")
    new MutationObserver(() => said.textContent && window.heard.push(said.textContent)).observe(said, {childList: true, characterData: true, subtree: true})
}"""


def alert(feed, about, state="firing", condition="hot", **more):
    ending = {"down_s": 3, "reason": "until"} if state == "resolved" else {"value": 1130, **more}
    return {
        "type": "alert", "source": "rooms", "about": about, "condition": condition, "state": state, "id": condition + about,
        "at": stamp(feed.now), "since": stamp(feed.now), "test": "rooms/* > 1000", "op": ">", "threshold": 1000, **ending,
        "evidence": {"run": feed.run, "from": 2, "to": 5},
    }  # fmt: skip


@contextmanager
def rooms():
    """A feed of another agent with three rooms, of which none fires yet."""
    source = {"source": "rooms", "state": "ok", "since": "2023-11-14T22:13:20.000000Z", "type": "rooms"}
    with AttachedFeed(start=int(time.time() - 60) * 1_000_000, sources=[source]) as feed, Agent(f"--attach={feed.path}") as agent:
        feed.accept()
        for second in range(20):
            feed.now += 1_000_000
            feed.say(*(feed.value(f"rooms/{name}", value + second * step) for name, value, step in [("bath", 20, 1), ("hall", 30, 0), ("kitchen", 750, 20)]))
        yield feed, agent


def test_what_fires_comes_first_is_counted_and_told(open_page):
    with rooms() as (feed, agent):
        page = open_page(agent)
        expect(rows(page).first).to_contain_text("bath")
        settle(page, ".list .row")
        page.evaluate(HEARD)
        feed.say(alert(feed, "rooms/kitchen", severity="critical"))
        first = row(page, "rooms/kitchen")
        expect(first.locator(".text")).to_have_text(re.compile(r"^hot 1130 > 1000 since \d\d:\d\d · critical$"))
        expect(first).to_have_attribute("aria-rowindex", "2")
        expect(first.get_by_role("img", name="alert, critical")).to_have_text("✕")
        page.wait_for_function("() => window.heard.length > 0")
        assert page.evaluate("window.heard") == ["alert hot on rooms/kitchen"]
        feed.say(alert(feed, "rooms/*", condition="any", severity="warning"))
        expect(rows(page).nth(1).locator(".source")).to_have_text(re.compile(r"^▲\s*rooms/\*\s*any 1130 > 1000 since \d\d:\d\d · warning$"))
        expect(page).to_have_title(re.compile("^✕ 2 alerts · List"))
        assert violations(page) == []
        page.get_by_role("button", name="✕ 2 alerts").click()
        expect(rows(page)).to_have_count(2)
        expect(page).to_have_url(re.compile(r"#/\?firing=only$"))
        feed.say(alert(feed, "rooms/kitchen", "resolved"), alert(feed, "rooms/*", "resolved", condition="any"))
        expect(page.locator(".list .empty")).to_contain_text("nothing fires")
        page.wait_for_function("() => window.heard.some(text => text.includes('over'))")
        page.keyboard.press("!")
        expect(rows(page).first).to_contain_text("bath")
        expect(page.locator(".alerts.plain")).to_be_hidden()


@long
@pytest.mark.parametrize("viewport, scheme", [(DESKTOP, "dark"), (PHONE, "light")], ids=["desktop", "phone"])
def test_the_graph_has_the_limit_and_the_wall_marks_what_fires(open_page, viewport, scheme):
    with rooms() as (feed, agent):
        feed.say(alert(feed, "rooms/kitchen", note="Open a window."))
        page = open_page(agent, "#/series/rooms/kitchen", viewport=viewport, color_scheme=scheme)
        expect(page.locator(".detail-alerts li")).to_have_text(
            re.compile(r"^✕ hot 1130 > 1000 since \d\d:\d\d · lines 2 to 5 · Open a window\.$")
        )
        expect(page.locator(".graph-limit")).to_have_count(1)
        expect(page.locator(".graph-label[data-severity]")).to_have_text("1000")
        # Above the limit it is shaded.
        zone, line = page.locator(".graph-zone").bounding_box(), page.locator(".graph-limit").bounding_box()
        assert abs(zone["y"] + zone["height"] - line["y"]) < 2 and zone["height"] > 10, (zone, line)
        assert violations(page) == [] and page.evaluate(STICKS_OUT) == []
        page.screenshot(path=SHOTS / f"alert-detail-{viewport['width']}.png")
        if viewport is DESKTOP:
            page.keyboard.press("w")
            tile = rows(page).first
            expect(tile).to_have_attribute("data-severity", "unknown")
            expect(tile).to_contain_text(re.compile("kitchen.*hot 1130 > 1000", re.DOTALL))
