"""The page by keyboard, by its addresses, and by the browser's way back."""

import re

import pytest
from playwright.sync_api import expect

from agent import Agent, until
from view import address, amount, drawn, graph, row, rows
from conftest import long


@pytest.fixture(scope="module")
def running():
    with Agent("-i", "1s", takes_input=True) as agent:
        yield agent


@pytest.fixture
def fed(running):
    """One agent for all of these tests, with three values that are new in each."""
    running.feed({"s": "a", "v": 1}, {"s": "b", "v": 2}, {"s": "c", "v": 3})
    return running


@pytest.fixture
def page(fed, open_page):
    page = open_page(fed)
    expect(amount(page, "stdin/c")).to_have_text("3")
    return page


def hash_of(page):
    return page.evaluate("location.hash")


def screen(page, name):
    expect(page.locator(f"nav.screens a[data-screen={name}]")).to_have_attribute("aria-current", "page")
    expect(page.locator(f"main > section.{name}")).to_be_visible()
    expect(page.locator("main > section:visible")).to_have_count(1)


def focused(page):
    return page.evaluate(
        """() => { const e = document.activeElement
        return [e.localName, e.getAttribute("role") ?? "", e.getAttribute("aria-label") ?? e.textContent.trim().slice(0, 40)].join("|") }"""
    )


def test_numbers_choose_screens(page):
    for key, name in (("2", "detail"), ("3", "metrics"), ("4", "feed"), ("1", "list")):
        page.keyboard.press(key)
        screen(page, name)


def test_arrows_choose_and_enter_opens(page):
    page.keyboard.press("Home")
    chosen = rows(page).and_(page.locator("[aria-selected=true]"))
    expect(chosen).to_have_count(1)
    first = chosen.locator("a").get_attribute("href")
    page.keyboard.press("ArrowDown")
    # It is drawn with the next frame.
    expect(chosen.locator("a")).not_to_have_attribute("href", first)
    href = chosen.locator("a").get_attribute("href")
    page.keyboard.press("Enter")
    screen(page, "detail")
    assert hash_of(page) == href
    page.keyboard.press("Escape")
    screen(page, "list")


def test_tab_is_the_browsers_and_reaches_everything(page):
    # From wherever the page begins to its end, and once through all of it.
    for _ in range(40):
        page.keyboard.press("Tab")
        if focused(page).startswith("body|"):
            break
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        now = focused(page)
        if now.startswith("body|"):
            break
        seen.append(now)
        outline = page.evaluate(
            """() => { const e = document.activeElement, s = getComputedStyle(e)
            return s.outlineStyle !== "none" || s.boxShadow !== "none" || e.matches(":focus-visible") && s.borderColor }"""
        )
        assert outline, f"one does not see that {now} has the focus"
    text = "\n".join(seen)
    assert seen[0].startswith("a|") and "content" in seen[0], "the first is the way past the bar"
    for name in ("List", "Metrics", "Feed"):
        assert re.search(rf"^a\|\|\d?{name}", text, re.MULTILINE), f"{name} cannot be reached: {text}"
    assert "|treegrid|Series" in text, text
    # The list is one stop, however many rows it has.
    assert len(seen) == len(set(seen)) and len(seen) < 25, text
    page.keyboard.press("Shift+Tab")
    assert focused(page) != seen[0]


@long
def test_the_graph_is_one_stop_and_is_read_by_arrows(page, fed):
    page.goto(fed.url + address("stdin/a"))
    frame = graph(page).get_by_role("slider")
    expect(frame).to_be_visible()
    assert graph(page).locator("[tabindex='0']:visible").count() == 1
    frame.focus()
    page.keyboard.press("End")
    expect(frame).to_have_attribute("aria-valuetext", re.compile(r"\d"))
    # A summary for who sees nothing of it.
    described = frame.get_attribute("aria-describedby")
    expect(page.locator(f"[id='{described}']")).to_contain_text(re.compile("1"))


def test_a_screen_has_the_keys_that_it_tells_of(page, fed):
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    screen(page, "detail")
    first = hash_of(page)
    # The graph takes arrows for itself where it has the focus; who comes from the list goes from series to series.
    page.keyboard.press("ArrowDown")
    until(lambda: hash_of(page) != first, "another series")
    page.set_viewport_size({"width": 640, "height": 300})
    page.keyboard.press("3")
    screen(page, "metrics")
    page.keyboard.press("PageDown")
    until(lambda: page.evaluate("document.querySelector('.metrics').scrollTop") > 50, "what is below")


@long
def test_the_address_tells_what_the_feed_shows(page):
    page.keyboard.press("4")
    screen(page, "feed")
    page.get_by_label("Type of line").select_option("window")
    until(lambda: hash_of(page) == "#/feed?type=window", lambda: f"the type in {hash_of(page)}")
    page.keyboard.press("3")
    screen(page, "metrics")
    page.keyboard.press("4")
    expect(page.get_by_label("Type of line")).to_have_value("window")


def test_a_page_that_opens_takes_no_focus(fed, open_page):
    for place in ("#/series/stdin/a", "#/feed", "#/"):
        page = open_page(fed, place)
        expect(page.locator("main > section:visible")).to_contain_text(re.compile("stdin/a"))
        assert focused(page).startswith("body|"), f"{place}: {focused(page)}"


@long
def test_a_table_that_scrolls_keeps_the_arrows(page, fed):
    page.goto(fed.url + address("stdin/a"))
    page.get_by_role("button", name="Table").click()
    page.locator(".graph-table").focus()
    before = hash_of(page)
    page.keyboard.press("ArrowDown")
    drawn(page)
    assert hash_of(page) == before


@long
def test_no_series_in_particular_is_the_first_that_comes(open_page):
    with Agent("-i", "1s", takes_input=True) as agent:
        page = open_page(agent, "#/series/")
        screen(page, "detail")
        agent.feed({"s": "only", "v": 1})
        # Memory and latencies come by themselves, too.
        expect(page.locator("#detail-title")).to_have_text(re.compile("."))
        expect(page.locator(".detail > .empty:visible")).to_have_count(0)


@long
def test_a_wall_is_left_without_keys(fed, open_page):
    page = open_page(fed, "?wall", viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    expect(amount(page, "stdin/a")).to_have_text("1")
    page.get_by_role("button", name=re.compile("afar")).tap()
    screen(page, "list")
    assert "wall" not in page.url


@long
def test_what_ends_a_composition_stays_in_the_entry(page):
    page.keyboard.press("/")
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    for key in ("Enter", "Escape"):
        box.evaluate("(node, key) => node.dispatchEvent(new KeyboardEvent('keydown', { key, isComposing: true, bubbles: true }))", key)
        expect(box).to_be_focused()


def test_help_tells_every_key_and_gives_the_focus_back(page):
    before = focused(page)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for text in ("pause", "UTC", "filter"):
        expect(dialog).to_contain_text(re.compile(text, re.IGNORECASE))
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("4")
    screen(page, "feed")


@long
def test_letters_can_be_switched_off_and_that_is_remembered(page, fed):
    page.keyboard.press("?")
    page.get_by_label("Letter keys").select_option(label="off")
    page.keyboard.press("Escape")
    for key in ("4", "w", "u", "?"):
        page.keyboard.press(key)
    screen(page, "list")
    # Nor are they told of.
    expect(page.locator("#hints kbd")).to_have_text(["↑↓", "Enter"])
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.reload()
    expect(amount(page, "stdin/c")).to_have_text("3")
    page.keyboard.press("4")
    screen(page, "list")
    # Without letters the way there is by pointer or Tab.
    page.get_by_role("button", name=re.compile("Keys")).click()
    page.get_by_label("Letter keys").select_option(label="on")
    page.keyboard.press("Escape")
    page.keyboard.press("4")
    screen(page, "feed")


def test_keys_with_a_modifier_are_the_browsers(page):
    for key in ("Control+4", "Alt+4", "Meta+4"):
        page.keyboard.press(key)
    screen(page, "list")


def test_letters_that_are_typed_stay_letters(page):
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("stdin/b")
    expect(rows(page)).to_have_count(1)
    expect(row(page, "stdin/b")).to_be_visible()
    assert "filter=" in hash_of(page)
    screen(page, "list")
    page.keyboard.press("Escape")
    expect(row(page, "stdin/a")).to_be_visible()


@long
def test_utc_is_a_toggle_that_is_remembered(fed, open_page):
    page = open_page(fed, timezone_id="Asia/Kolkata")
    expect(page.locator(".zone")).to_have_text("+05:30")
    expect(page.locator("#now")).not_to_be_empty()
    before = page.locator("#now").text_content()
    page.keyboard.press("u")
    expect(page.locator(".zone")).to_have_text("UTC")
    assert page.locator("#now").text_content()[:5] != before[:5]
    page.reload()
    expect(page.locator(".zone")).to_have_text("UTC")


@long
def test_the_theme_is_a_toggle_that_is_remembered(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = {page.evaluate(ground)}
    for _ in range(3):
        page.keyboard.press("d")
        drawn(page)
        seen.add(page.evaluate(ground))
    assert len(seen) == 2, seen
    page.emulate_media(color_scheme="light")
    page.keyboard.press("d")
    drawn(page)
    chosen = page.evaluate(ground)
    page.reload()
    expect(amount(page, "stdin/c")).to_have_text("3")
    assert page.evaluate(ground) == chosen


@long
def test_the_way_back_is_the_browsers(page, fed):
    expect(row(page, "stdin/b")).to_be_visible()
    row(page, "stdin/b").locator("a").click()
    screen(page, "detail")
    assert hash_of(page) == "#/series/stdin/b"
    page.keyboard.press("3")
    screen(page, "metrics")
    page.go_back()
    screen(page, "detail")
    expect(page.locator("#detail-title")).to_have_text("stdin/b")
    page.go_back()
    screen(page, "list")
    page.go_forward()
    expect(page.locator("#detail-title")).to_have_text("stdin/b")


@pytest.mark.parametrize(
    "place, name", [("#/feed?type=memory", "feed"), ("#/metrics", "metrics"), ("#/series/stdin/b", "detail"), ("#/?sort=value", "list")]
)
def test_an_address_leads_there_at_once(fed, open_page, place, name):
    page = open_page(fed, place)
    screen(page, name)
    if name == "detail":
        expect(page.locator("#detail-title")).to_have_text("stdin/b")
        expect(page).to_have_title(re.compile("stdin/b"))
    if name == "list":
        expect(rows(page).first).to_contain_text("stdin/c")
        expect(page.locator("[aria-sort=descending]")).to_have_text("value")
    if name == "feed":
        expect(page.get_by_label("Type of line")).to_have_value("memory")
    page.reload()
    screen(page, name)
    assert hash_of(page) == place
