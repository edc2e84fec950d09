"""Every screen at every size, in light and in dark: nothing sticks out, nobody is kept out."""

import itertools
import json
import re

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from conftest import DESKTOP, IS_LONG, PHONE, SHOTS, long
from view import STICKS_OUT, address, drawn

# What has to be there before a screen is looked at.
SCREENS = {
    "list": ("#/", ".list .rows .row:not([hidden]) .sparkline path"),
    "detail": ("#/series/aqi/Delhi", ".detail .graph .graph-line"),
    "dogs": ("a dog's", ".detail .picture img"),
    "metrics": ("#/metrics", "main > section:visible table tbody tr"),
    "feed": ("#/feed", ".feed .lines .line:not([hidden])"),
}
DEVICES = {
    "phone": {"viewport": PHONE, "is_mobile": True, "has_touch": True, "device_scale_factor": 2},
    "desktop": {"viewport": DESKTOP},
}
axe = Axe()


def violations(page):
    """What axe-core finds, in words."""
    found = axe.run(page).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {each['help']}: " + "; ".join(f"{n['html'][:160]} {n.get('failureSummary', '')}" for n in each["nodes"][:3])
        for each in found
    ]  # fmt: skip


def settle(page, what):
    expect(page.locator(what).first).to_be_attached()
    drawn(page)


def place_of(agent, screen):
    """The address of a screen; a dog's has a name that its picture has."""
    if screen != "dogs":
        return SCREENS[screen][0]
    with httpx.stream("GET", agent.url + "feed?sources=dogs", timeout=10) as response:
        lines = map(json.loads, response.iter_lines())
        return address(next(line["series"] for line in lines if "data" in line))


@pytest.fixture(scope="module")
def filled(demo):
    """The demo's agent when every source has said something."""
    missing = {"fact", "dogs", "fibonacci", "aqi"}
    with httpx.stream("GET", demo.url + "feed", timeout=10) as response:
        for line in map(json.loads, response.iter_lines()):
            if "data" in line:
                missing.discard(line["source"])
            if not missing:
                return demo


# Each screen on one device and in one theme; with CATWATCH_LONG in all pairs.
PAIRS = list(itertools.product(DEVICES, ["light", "dark"]))
CASES = [(screen, *pair) for number, screen in enumerate(SCREENS) for pair in (PAIRS if IS_LONG else [PAIRS[number % len(PAIRS)]])]


@pytest.mark.parametrize("screen, device, theme", CASES)
def test_a_screen(filled, open_page, screen, device, theme):
    what = SCREENS[screen][1]
    page = open_page(filled, place_of(filled, screen), color_scheme=theme, **DEVICES[device])
    settle(page, what)
    page.screenshot(path=SHOTS / f"{screen}-{device}-{theme}.png")
    assert page.evaluate(STICKS_OUT) == []
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"] if IS_LONG else ["light"])
@pytest.mark.parametrize("name, keys, what", [("help", "?", "dialog"), ("wall", "w", ".wall .list .row")])
def test_what_keys_open(filled, open_page, name, keys, what, theme):
    page = open_page(filled, color_scheme=theme)
    settle(page, SCREENS["list"][1])
    page.keyboard.press(keys)
    settle(page, what)
    page.screenshot(path=SHOTS / f"{name}-desktop-{theme}.png")
    assert page.evaluate(STICKS_OUT) == []
    assert violations(page) == []


@long
def test_a_wall_is_read_from_afar(filled, open_page):
    page = open_page(filled, viewport={"width": 1920, "height": 1080})
    settle(page, SCREENS["list"][1])
    page.keyboard.press("w")
    settle(page, ".wall .list .row")
    size = page.locator(".list .rows .row:not([hidden]) .amount:visible").first.evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
    # Of the 1080 pixels of a display whose height is 60 cm, 34 are 19 mm: 22 minutes of arc from three metres.
    assert size >= 34, size
    page.screenshot(path=SHOTS / "wall-1080.png")


@long
def test_one_graph_alone(filled, open_page):
    page = open_page(filled, "?bare#/series/aqi/Delhi", viewport={"width": 640, "height": 360})
    settle(page, ".graph .graph-line")
    for other in ("nav.screens", "#status", "#hints", "#tools"):
        expect(page.locator(other)).to_be_hidden()
    assert page.evaluate(STICKS_OUT) == []
    assert page.evaluate("document.scrollingElement.scrollHeight <= innerHeight"), "one has to scroll"
    assert violations(page) == []
    page.screenshot(path=SHOTS / "bare.png")


@long
def test_no_size_is_too_small_or_too_large(filled, open_page):
    page = open_page(filled)
    for screen, (_, what) in SCREENS.items():
        page.goto(filled.url + place_of(filled, screen))
        settle(page, what)
        for width, height in ((360, 640), (640, 360), (844, 390), (1024, 768), (2560, 1440)):
            page.set_viewport_size({"width": width, "height": height})
            settle(page, what)
            assert page.evaluate(STICKS_OUT) == [], f"{screen} at {width} x {height}"
            page.screenshot(path=SHOTS / f"{screen}-{width}.png")


@long
def test_text_may_be_twice_as_large(filled, open_page):
    # WCAG 1.4.4: the browser's zoom of 200 % is a window of half the size.
    page = open_page(filled, viewport={"width": 720, "height": 450}, device_scale_factor=2)
    for screen, (_, what) in SCREENS.items():
        page.goto(filled.url + place_of(filled, screen))
        settle(page, what)
        assert page.evaluate(STICKS_OUT) == []


@long
def test_forced_colours_leave_what_matters(filled, open_page):
    page = open_page(filled, forced_colors="active")
    settle(page, SCREENS["list"][1])
    page.screenshot(path=SHOTS / "list-forced.png")
    # A band is told by its letter too.
    expect(page.locator(".list .badge:visible", has_text=re.compile("^[A-Z+]+$")).first).to_be_visible()
    assert violations(page) == []


@long
def test_nothing_moves_for_who_wants_that(filled, open_page):
    page = open_page(filled, reduced_motion="reduce")
    settle(page, SCREENS["list"][1])
    moving = page.evaluate(
        """() => [...document.querySelectorAll("*")].filter(node => {
            const style = getComputedStyle(node)
            const lasts = text => text.split(",").some(part => parseFloat(part) > 0.01)
            return style.animationName !== "none" && lasts(style.animationDuration) || lasts(style.transitionDuration)
        }).map(node => node.className)"""
    )
    assert moving == []
