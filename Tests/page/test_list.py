"""The list by source: what fails on top, headings that fold, and small pictures."""

import json
import re
import struct
import time
import zlib
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from agent import Agent, AttachedFeed, Upstream, stamp, until
from conftest import DESKTOP, IS_LONG, PHONE, SHOTS, long
from view import amount, drawn, row, rows

CITIES = [{"key": name, "v": place * 7} for place, name in enumerate(("Delhi", "Agra", "Pune"))]
BREEDS = [{"key": name, "t": f"from {name}"} for name in ("Abyssinian", "Bengal", "Birman", "Korat", "Manx", "Ocicat", "Persian", "Ragdoll", "Siamese")]
REASONS = {"nope": "answered 404 (not found)", "private": "answered 401 (unauthorized", "broken": "answered 500"}


def configuration(upstream, tmp_path, sources):
    file = tmp_path / "catwatch.jsonc"
    each = [{"name": name, "url": f"{upstream.url}/{name}", "every": "200ms", **source} for name, source in sources.items()]
    file.write_text(json.dumps({"sources": each}))
    return str(file)


ITEMS = {"items": "", "key": "/key"}


@pytest.fixture
def twenty(tmp_path):
    """An agent of twenty sources, three of which fail."""
    names = [f"well{place:02}" for place in range(15)]
    sources = {name: {"value": "/v"} for name in names[:10]}
    sources |= {"nope": {}, "cities": {**ITEMS, "value": "/v"}, "private": {}, "breeds": {**ITEMS, "text": "/t"}, "broken": {}}
    sources |= {name: {"value": "/v"} for name in names[10:]}
    assert len(sources) == 20
    with Upstream() as upstream:
        upstream.answers |= {f"/{name}": (200, {"v": 1}) for name in names}
        upstream.answers |= {"/cities": (200, CITIES), "/breeds": (200, BREEDS), "/private": (401, {}), "/broken": (500, {})}
        with Agent("-c", configuration(upstream, tmp_path, sources), "-i", "1s", "--retry-most", "2s") as agent:
            agent.upstream = upstream
            yield agent


def source_row(page, name):
    return rows(page).filter(has=page.locator(".source:visible strong", has_text=re.compile(f"^{re.escape(name)}$")))


def chosen(page):
    """The row that a screen reader is on."""
    page.wait_for_function(
        """() => document.querySelector(".list .grid").getAttribute("aria-activedescendant")
            === document.querySelector(".list .row[aria-selected=true]:not([hidden])")?.id"""
    )
    return rows(page).and_(page.locator("[aria-selected=true]"))


def go(page, key, until_text, most=60):
    """Presses a key until the chosen row has a text."""
    for _ in range(most):
        page.keyboard.press(key)
        drawn(page)
        if re.search(until_text, chosen(page).inner_text()):
            return chosen(page)
    raise AssertionError(f"{until_text} is not reached by {key}: {chosen(page).inner_text()}")


def settled(page):
    for name in REASONS:
        expect(source_row(page, name)).to_be_visible()


def at_rest(page):
    """Waits for all rows: one that comes in moves those below, and a heading that is clicked before it has all its texts stays folded."""
    settled(page)
    for place in range(15):
        expect(row(page, f"well{place:02}")).to_be_visible()
    expect(source_row(page, "breeds")).to_contain_text("9 series")
    expect(source_row(page, "cities")).to_contain_text("3 series")


@pytest.mark.parametrize("place, viewport", [("", PHONE), ("?wall", DESKTOP), ("", DESKTOP)][:3 if IS_LONG else 1])
def test_three_failing_sources_among_twenty_say_why(twenty, open_page, place, viewport):
    page = open_page(twenty, place, viewport=viewport)
    settled(page)
    # On top, in the configuration's order, and each with the whole of its reason in sight.
    for position, (name, reason) in enumerate(REASONS.items()):
        one = source_row(page, name)
        assert one.get_attribute("aria-rowindex") == str(position + 2)
        says = one.locator(".says")
        expect(says).to_contain_text(reason)
        expect(says).to_contain_text(re.compile(r" · since \d\d:\d\d \(\d+s\)"))
        # Up to the end of the reason nothing is cut off, beside or below.
        assert says.evaluate(
            """(node, reason) => {
                const text = node.firstChild, range = document.createRange(), box = node.getBoundingClientRect()
                range.setStart(text, 0)
                range.setEnd(text, text.data.indexOf(reason) + reason.length)
                return [...range.getClientRects()].every(each => each.right <= Math.min(box.right, innerWidth) + 1 && each.bottom <= Math.min(box.bottom, innerHeight) + 1)
            }""",
            reason,
        ), name
    page.screenshot(path=SHOTS / f"failing-{'wall' if place else viewport['width']}.png")
    expect(page.locator(".failures")).to_have_text("3 of 20 failing")
    expect(page.locator("#trouble")).to_be_hidden()
    # Failing chips come first, whole, and do not scroll.
    chips = page.locator(".troubled li")
    expect(chips).to_have_text([re.compile(name) for name in REASONS])
    assert chips.evaluate_all("nodes => nodes.every(node => { const box = node.getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth })")
    assert page.locator(".chips").first.evaluate("node => node.matches('.troubled') && node.scrollWidth <= node.clientWidth")
    expect(page).to_have_title(re.compile("^✕ 3 · List"))


@long
def test_a_failing_source_leads_to_its_series_and_its_row_goes_when_it_answers(twenty, open_page):
    page = open_page(twenty)
    settled(page)
    twenty.upstream.answers["/well03"] = (503, {})
    expect(page.locator(".failures")).to_have_text("4 of 20 failing")
    page.keyboard.press("Home")
    go(page, "ArrowDown", "^✕?\\s*well03")
    page.keyboard.press("Enter")
    expect(page.locator("#detail-title")).to_have_text("well03")
    # Elsewhere it is told which one fails.
    expect(page.locator("#trouble")).to_contain_text(re.compile("✕ .*answered"))
    page.keyboard.press("Escape")
    expect(page.locator("main > section.list")).to_be_visible()
    # One that never gave a value has its latency.
    page.keyboard.press("Home")
    go(page, "ArrowDown", "nope").click()
    expect(page.locator("#detail-title")).to_have_text("latency:nope")
    page.keyboard.press("Escape")
    expect(page.locator("main > section.list")).to_be_visible()
    twenty.upstream.answers |= {"/well03": (200, {"v": 1}), "/private": (200, {"v": 2})}
    expect(page.locator(".failures")).to_have_text("2 of 20 failing")
    expect(source_row(page, "private")).to_have_count(0)


def test_by_keyboard_alone_and_in_the_accessibility_tree(twenty, open_page):
    page = open_page(twenty)
    settled(page)
    grid = page.get_by_role("treegrid", name="Series")
    for _ in range(30):
        page.keyboard.press("Tab")
        if grid.evaluate("node => node === document.activeElement"):
            break
    expect(grid).to_be_focused()
    # What fails.
    page.keyboard.press("Home")
    for name, reason in REASONS.items():
        expect(chosen(page)).to_contain_text(f"{name}")
        expect(chosen(page)).to_contain_text(reason)
        expect(chosen(page).get_by_role("img", name="failing")).to_be_visible()
        page.keyboard.press("ArrowDown")
        drawn(page)
    # Delhi is below a heading that is unfolded.
    cities = page.get_by_role("row", name=re.compile("cities 3 series"), expanded=True, level=1)
    expect(cities).to_be_visible()
    heading = go(page, "ArrowDown", "cities")
    assert heading.get_attribute("aria-expanded") == "true"
    go(page, "ArrowDown", "Delhi")
    expect(chosen(page)).to_have_attribute("aria-level", "2")
    # Without what its heading says already.
    assert chosen(page).locator("a").inner_text() == "Delhi"
    page.keyboard.press("Enter")
    expect(page.locator("#detail-title")).to_have_text("cities/Delhi")
    # Up and down stay within the source.
    for _ in range(8):
        page.keyboard.press("ArrowUp")
    expect(page.locator("#detail-title")).to_have_text("cities/Agra")
    page.keyboard.press("Escape")
    expect(page.locator("main > section.list")).to_be_visible()
    # Siamese is below one that is folded.
    before = int(grid.get_attribute("aria-rowcount"))
    expect(page.get_by_role("row", name=re.compile("breeds 9 series"), expanded=False)).to_be_visible()
    go(page, "ArrowDown", "breeds")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("row", name=re.compile("breeds 9 series"), expanded=True)).to_be_visible()
    until(lambda: int(grid.get_attribute("aria-rowcount")) == before + 9, "rows for the breeds")
    page.keyboard.press("ArrowRight")
    expect(page.locator("main > section.list")).to_be_visible()
    go(page, "ArrowDown", "Siamese")
    page.keyboard.press("Enter")
    expect(page.locator("#detail-title")).to_have_text("breeds/Siamese")
    page.keyboard.press("Escape")
    expect(page.locator("main > section.list")).to_be_visible()
    # From a series of it the heading is where the choice goes when it is folded again.
    go(page, "ArrowUp", "breeds")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("row", name=re.compile("breeds 9 series"), expanded=False)).to_have_attribute("aria-selected", "true")
    until(lambda: int(grid.get_attribute("aria-rowcount")) == before, "no rows for the breeds")


def test_folds_are_remembered_and_do_not_hide_what_is_looked_for(twenty, open_page):
    page = open_page(twenty)
    settled(page)
    at_rest(page)
    expect(page.get_by_role("row", name=re.compile("breeds 9 series"), expanded=False)).to_be_visible()
    expect(row(page, "breeds/Siamese")).to_have_count(0)
    source_row(page, "breeds").click()
    expect(row(page, "breeds/Siamese")).to_be_visible()
    source_row(page, "cities").click()
    expect(row(page, "cities/Delhi")).to_have_count(0)
    page.reload()
    expect(row(page, "breeds/Siamese")).to_be_visible()
    expect(row(page, "cities/Delhi")).to_have_count(0)
    # Whoever wrote into the memory.
    for bad in ('{"folds": 3}', '{"folds": [["cities", "x"]]}', '{"folds": [[1, true], ["breeds", "x"], null]}', '{"folds": [["__proto__", true]], "keys": true}', "[", "null"):
        page.evaluate("bad => localStorage.setItem('catwatch', bad)", bad)
        page.reload()
        expect(row(page, "cities/Delhi")).to_be_visible()
    at_rest(page)
    source_row(page, "cities").click()
    page.keyboard.press("/")
    page.keyboard.type(" siam | DELHI |")
    expect(rows(page)).to_have_count(4)
    for name in ("cities/Delhi", "breeds/Siamese"):
        expect(row(page, name)).to_be_visible()
    expect(source_row(page, "breeds")).to_contain_text("1 of 9 series")
    expect(source_row(page, "breeds")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(row(page, "cities/Delhi")).to_have_count(0)


@long
def test_a_heading_stands_for_a_chosen_row_that_it_hides(twenty, open_page):
    page = open_page(twenty)
    settled(page)
    page.keyboard.press("Home")
    go(page, "ArrowDown", "Delhi")
    source_row(page, "cities").click()
    expect(source_row(page, "cities")).to_have_attribute("aria-expanded", "false")
    expect(chosen(page)).to_contain_text("cities")
    page.keyboard.press("Enter")
    expect(source_row(page, "cities")).to_have_attribute("aria-expanded", "true")
    # In another order and back, a series is chosen still; a filter without it chooses its heading or the first.
    go(page, "ArrowDown", "Pune")
    page.keyboard.press("s")
    expect(chosen(page)).to_contain_text("Pune")
    page.keyboard.press("Enter")
    expect(page.locator("#detail-title")).to_have_text("cities/Pune")


@long
def test_other_orders_are_flat_and_the_titles_lead_there_and_back(twenty, open_page):
    page = open_page(twenty)
    settled(page)
    title = page.locator(".titles .value button")
    title.click()
    expect(page.locator(".list [aria-expanded]")).to_have_count(0)
    settled(page)
    expect(row(page, "cities/Pune").locator("a")).to_have_text("cities/Pune")
    assert page.evaluate("location.hash") == "#/?sort=value"
    title.click()
    expect(page.locator(".list [aria-expanded]").first).to_be_visible()
    assert page.evaluate("location.hash") == "#/"
    for sort in ("name", "value", "change", "age"):
        page.keyboard.press("s")
        until(lambda: page.evaluate("location.hash") == f"#/?sort={sort}", sort)
    page.keyboard.press("s")
    until(lambda: page.evaluate("location.hash") == "#/", "source")


@long
def test_ten_thousand_headings_scroll(open_page):
    described = [{"source": name, "state": "ok", "since": "2023-11-14T22:13:20.000000Z", "type": "s"} for name in ("s0000", "s0001")]
    with AttachedFeed(sources=described) as feed, Agent(f"--attach={feed.path}") as agent:
        feed.accept()
        feed.say(feed.value("s0000/y", 1))
        for first in range(0, 9_999, 1_000):
            feed.say(*(feed.value(f"s{place:04}/x", place) for place in range(first, min(first + 1_000, 9_999))))
        page = open_page(agent)
        grid = page.locator(".list .grid")
        until(lambda: grid.get_attribute("aria-rowcount") == str(2 * 9_999 + 1 + 1), lambda: f"rows: {grid.get_attribute('aria-rowcount')}")
        source_row(page, "s0001").click()
        until(lambda: grid.get_attribute("aria-rowcount") == str(2 * 9_999 + 1), "a row less")
        frames = page.evaluate(
            """async () => {
                const grid = document.querySelector(".list .grid")
                const height = grid.scrollHeight - grid.clientHeight
                let most = 0
                for (let step = 0; step <= 20; step++) {
                    grid.scrollTop = height * step / 20
                    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
                    most = Math.max(most, document.querySelectorAll(".list .rows .row").length)
                }
                return most
            }"""
        )
        assert frames < 120, frames
        expect(row(page, "s9998/x")).to_be_visible()
        expect(source_row(page, "s9998")).to_be_visible()


@long
def test_a_late_source_has_a_row_and_says_what_was_expected(open_page):
    start = int(time.time() - 60) * 1_000_000
    sources = [{"source": name, "state": "ok", "since": stamp(start), "type": name, "every_s": every} for name, every in (("tick", 2), ("tock", 3600))]
    with AttachedFeed(interval=1, start=start, sources=sources) as feed, Agent(f"--attach={feed.path}") as agent:
        feed.accept()
        feed.say(feed.value("tick", 1), feed.value("tock", 1))
        feed.now += 60_000_000
        feed.say(feed.value("tock", 2))
        page = open_page(agent)
        expect(source_row(page, "tick").locator(".says")).to_have_text(re.compile(r"^nothing for 1m0\ds, expected each 2 s$"))
        expect(source_row(page, "tick").get_by_role("img", name="late")).to_be_visible()
        expect(source_row(page, "tock")).to_have_count(0)
        # It fails nothing.
        expect(page.locator(".failures")).to_be_hidden()
        expect(page).to_have_title(re.compile("^List"))
        feed.now += 1_000_000
        feed.say(feed.value("tick", 2))
        expect(source_row(page, "tick")).to_have_count(0)


def test_a_key_or_a_source_may_be_called_anything(tmp_path, open_page):
    keys = ["#", "", "/", "__proto__", "<b>", "a|b", "\u001b[2J", "constructor"]
    with Upstream() as upstream:
        upstream.answers |= {"/odd": (200, [{"key": key, "v": place} for place, key in enumerate(keys) if key]), "/one": (200, {"v": 1})}
        file = configuration(upstream, tmp_path, {"odd": {**ITEMS, "value": "/v"}, "one": {"value": "/v"}})
        with Agent("-c", file, "-i", "1s") as agent:
            page = open_page(agent)
            expect(source_row(page, "odd")).to_contain_text(f"{len(keys) - 1} series")
            for place, key in enumerate(keys):
                if key and "\u001b" not in key:
                    expect(amount(page, f"odd/{key}")).to_have_text(str(place))
            row(page, "odd/#").locator("a").click()
            expect(page.locator("#detail-title")).to_have_text("odd/#")
            assert "\u001b" not in page.locator("body").inner_text()


def png(width, height):
    """A picture of that size, of one grey."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = (b"\0" + b"\x80" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


# What moved, but for ages, which grow by a digit beside slow tests.
SHIFTS = """
window.shifts = []
const place = rect => `${rect.x},${rect.y}`
new PerformanceObserver(list => {
    for (const entry of list.getEntries()) {
        const moved = entry.sources.filter(source => !/\\b(age|since)\\b/.test(source.node?.className ?? ""))
        if (moved.length > 0) window.shifts.push(moved.map(source => `${source.node?.className ?? "?"} ${place(source.previousRect)} ${place(source.currentRect)}`))
    }
}).observe({ type: "layout-shift", buffered: true })
"""


@contextmanager
def pictured(tmp_path, items):
    """An agent whose items name pictures; those of one origin are allowed."""
    with Upstream() as upstream:
        upstream.answers |= {"/photos": (200, items), "/one": (200, {"v": 1})}
        file = configuration(upstream, tmp_path, {"photos": {**ITEMS, "text": "/t", "every": "1h", "pictures": ["https://pics.example"]}, "one": {"value": "/v"}})
        with Agent("-c", file, "-i", "1s") as agent:
            yield agent


ADDRESSES = {
    "good": "https://pics.example/good.png", "huge": "https://pics.example/huge.png", "slow": "https://pics.example/slow.png",
    "missing": "https://pics.example/missing.png", "no picture": "https://pics.example/page.html", "elsewhere": "https://other.example/a.png",
    "script": "javascript:window.pwned=1", "data": "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>", "plain": "http://pics.example/a.png",
}  # fmt: skip


@pytest.mark.parametrize("viewport", [PHONE] + ([DESKTOP] if IS_LONG else []), ids=lambda size: "phone" if size == PHONE else "desktop")
def test_small_pictures_move_nothing_and_come_from_allowed_origins(tmp_path, open_context, viewport):
    # Twice as much beyond the fold of the window: what is not in sight is not asked for.
    items = [{"key": name, "url": url} for name, url in ADDRESSES.items()] + [{"key": f"z{place:03}", "url": f"https://pics.example/{place}.png"} for place in range(200)]
    with pictured(tmp_path, items) as agent:
        context = open_context(agent, "https://pics.example", script=SHIFTS, viewport=viewport)
        context.watch.expected += ["404", "ERR_"]
        page = context.new_page()
        held, early = [], []

        def answer(route):
            name = route.request.url.rpartition("/")[2]
            if name == "slow.png":
                held.append(route)
            elif name == "missing.png":
                route.fulfill(status=404, body="")
            elif name == "page.html":
                route.fulfill(content_type="text/html", body="<script>window.pwned=1</script>")
            else:
                route.fulfill(content_type="image/png", body=png(6000, 6000) if name == "huge.png" else png(60, 40))

        handle = early.append
        page.route("https://pics.example/**", lambda route: handle(route))
        page.goto(agent.url)
        # The second source brings a heading, which moves rows; no picture has come yet.
        expect(page.locator(".list .rows .row.of-source").first).to_be_visible()
        until(lambda: page.wait_for_timeout(20) or early, "a request for a picture")
        page.evaluate("window.shifts.length = 0")
        handle = answer
        for route in early:
            answer(route)
        shown = lambda name: row(page, f"photos/{name}").locator("img.small")  # noqa: E731
        expect(shown("good")).to_be_visible()
        expect(shown("huge")).to_be_visible()
        until(lambda: page.wait_for_timeout(20) or held, "a request for the slow one")
        sizes = lambda name: shown(name).evaluate("node => [node.clientWidth, node.clientHeight]")  # noqa: E731
        expect(page.locator(".list")).to_be_visible()
        until(lambda: page.wait_for_timeout(50) or shown("huge").evaluate("node => node.complete && node.naturalWidth === 6000"), "the huge one")
        # Each has its place, the slow one before it has come.
        assert sizes("good") == sizes("huge") == sizes("slow") == [48, 28]
        held[0].fulfill(content_type="image/png", body=png(60, 40))
        until(lambda: page.wait_for_timeout(50) or shown("slow").evaluate("node => node.complete && node.naturalWidth === 60"), "the slow one")
        for name in ("missing", "no picture"):
            expect(shown(name)).to_be_hidden()
        for name in ("elsewhere", "script", "data", "plain"):
            expect(shown(name)).to_have_count(0)
        assert page.evaluate("window.pwned") is None
        assert page.evaluate("window.shifts") == [], page.evaluate("JSON.stringify(window.shifts)")
        asked = [url for url in context.watch.requests if url.startswith("https://pics.example/")]
        assert len(asked) < 80, len(asked)
        assert all(shown("good").get_attribute(name) == value for name, value in (("loading", "lazy"), ("referrerpolicy", "no-referrer"), ("alt", "")))
        # As a picture of its own it is opened as ever.
        row(page, "photos/good").locator("a").click()
        expect(page.locator(".detail .picture img")).to_have_attribute("src", ADDRESSES["good"])
        page.screenshot(path=SHOTS / f"pictures-{viewport['width']}.png")


@long
def test_another_rows_picture_is_none_of_this_row(tmp_path, open_context):
    items = [{"key": f"z{place:03}", "url": f"https://pics.example/{place}.png"} for place in range(300)]
    with pictured(tmp_path, items) as agent:
        context = open_context(agent, "https://pics.example")
        context.watch.expected.append("ERR_FAILED")
        page = context.new_page()
        held = []
        number = lambda route: int(re.search(r"(\d+)[.]png", route.request.url)[1])  # noqa: E731
        page.route("https://pics.example/**", lambda route: held.append(route) if number(route) >= 100
                   else route.fulfill(content_type="image/png", body=png(60, 40)))  # fmt: skip
        page.goto(agent.url)
        grid = page.locator(".list .grid")
        until(lambda: page.wait_for_timeout(20) or row(page, "photos/z005").locator("img.small").evaluate("node => node.naturalWidth === 60"), "a picture")
        for part in (0.5, 1, 0.2, 0):
            grid.evaluate("(node, part) => { node.scrollTop = part * node.scrollHeight }", part)
            drawn(page)
            for text, source in page.evaluate(
                """() => [...document.querySelectorAll(".list .rows .row:not([hidden])")].filter(row => row.querySelector("img.small:not([hidden])"))
                    .map(row => [row.querySelector(".rest").textContent, row.querySelector("img").src])"""
            ):
                assert source == f"https://pics.example/{int(text[1:])}.png", (text, source)
            # Nor is it seen while this row's own has yet to come.
            wrong = page.evaluate(
                """() => [...document.querySelectorAll(".list .rows .row:not([hidden]) img.small:not([hidden])")]
                    .filter(node => Number(/([0-9]+)[.]png/.exec(node.src)[1]) >= 100 && node.naturalWidth > 0).map(node => node.src)"""
            )
            assert wrong == []
        for route in held:
            route.abort()
