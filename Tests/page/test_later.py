"""Screens that are fetched after the list: ahead of time, when they are wanted, and again when that failed."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from agent import until


def paths(page):
    return [urlsplit(url).path for url in page.context.watch.requests]


LATER = {"/detail.mjs", "/graph.mjs", "/later.css", "/metrics.mjs", "/feed.mjs"}


def test_other_screens_are_fetched_behind_the_first_data(demo, open_context):
    page = open_context(demo).new_page()
    held = []
    page.route("**/events*", lambda route: held.append(route))
    page.goto(demo.url + "?alone")
    until(lambda: page.wait_for_timeout(20) or held, "a request for the stream")
    expect(page.locator(".list .empty")).to_contain_text("waiting for the agent")
    page.wait_for_timeout(200)
    assert "/list.mjs" in paths(page) and not LATER & set(paths(page))
    held[0].continue_()
    expect(page.locator(".list .amount").first).not_to_be_empty()
    until(lambda: page.wait_for_timeout(20) or LATER <= set(paths(page)), "the rest")


def test_screens_are_there_when_the_agent_is_not(fed, open_page):
    fed.feed({"s": "a", "v": 1})
    page = open_page(fed)
    page.context.watch.expected.append("ERR_CONNECTION_REFUSED")
    page.context.watch.expected.append("ERR_INCOMPLETE_CHUNKED_ENCODING")
    names = ("detail", "graph", "axis", "export", "fields", "past", "pictures", "metrics", "agents", "feed")
    # Each of them has come, and not only been asked for.
    come = "names => names.every(name => performance.getEntriesByName(new URL(name + '.mjs', location), 'resource').some(each => each.responseEnd > 0))"
    page.wait_for_function(come, arg=names)
    expect(page.locator("link[href='later.css']")).to_be_attached()
    page.wait_for_function("() => [...document.styleSheets].some(each => each.href?.endsWith('/later.css'))")
    fed.kill()
    expect(page.locator("#trouble")).to_contain_text("agent lost")
    for key, place in (("2", ".detail .graph-plot"), ("3", ".metrics .panels"), ("4", ".feed")):
        page.keyboard.press(key)
        expect(page.locator(place)).to_be_visible()


@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize("module", ["detail", "graph"])
def test_a_screen_that_did_not_come_is_asked_for_again(fed, open_context, module, by_hand):
    fed.feed({"s": "a", "v": 1})
    page = open_context(fed).new_page()
    page.context.watch.expected.append("ERR_FAILED")
    page.route(f"**/{module}.mjs", lambda route: route.abort())
    page.goto(fed.url + "#/series/stdin/a")
    waiting = page.locator("main .empty:not(.list *)").filter(visible=True)
    expect(waiting).to_contain_text("this screen could not be fetched from the agent")
    page.unroute_all()
    if by_hand:
        page.get_by_role("button", name="Try again").click()
        expect(page.locator(".detail .graph-plot")).to_be_visible(timeout=2_000)
    else:
        expect(page.locator(".detail .graph-plot")).to_be_visible()
    expect(waiting).to_have_count(0)
    # With what it brings besides.
    page.keyboard.press("t")
    expect(page.locator(".graph-table")).to_be_visible()


@pytest.mark.parametrize(
    "address, place",
    [
        ("#/series/stdin/a", ".detail .graph-plot"),
        ("?bare#/series/stdin/a", ".detail .graph-plot"),
        ("#/metrics", ".metrics .panels"),
        ("#/feed", ".feed .lines"),
    ],
)
def test_an_address_leads_to_its_screen(fed, open_page, address, place):
    fed.feed({"s": "a", "v": 1})
    page = open_page(fed, address)
    expect(page.locator(place)).to_be_visible()
    expect(page.locator("main > section:not([hidden])")).to_have_count(1)
    # An embedded graph fetches nothing that it does not show.
    page.wait_for_timeout(300)
    assert ("/metrics.mjs" in paths(page)) == ("bare" not in address)
