"""Several tabs, and hidden tabs."""

from playwright.sync_api import expect

from agent import until
from view import amount

# A tab whose visibility the test decides: `hide(true)`.
HIDEABLE = """
let isHidden = false
Object.defineProperty(document, "hidden", { get: () => isHidden })
Object.defineProperty(document, "visibilityState", { get: () => isHidden ? "hidden" : "visible" })
window.hide = value => { isHidden = value; document.dispatchEvent(new Event("visibilitychange")) }
"""


def readers(agent):
    return int(agent.metric("catwatch_readers"))


def test_five_tabs_have_a_stream_each_until_they_are_closed(fed, open_context):
    before = readers(fed)
    fed.feed({"s": "room", "v": 1})
    context = open_context(fed)
    tabs = [context.new_page() for _ in range(5)]
    for tab in tabs:
        tab.goto(fed.url)
        expect(amount(tab, "stdin/room")).to_have_text("1")
    assert readers(fed) == before + 5
    fed.feed({"s": "room", "v": 2})
    for tab in tabs:
        expect(amount(tab, "stdin/room")).to_have_text("2")
        tab.close()
    until(lambda: readers(fed) == before, "the end of the streams")


def test_a_tab_closes_its_stream_while_it_is_hidden(fed, open_context):
    before = readers(fed)
    fed.feed({"s": "room", "v": 1})
    page = open_context(fed, script=HIDEABLE).new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/events" in request.url else None)
    page.clock.install()
    page.goto(fed.url)
    expect(amount(page, "stdin/room")).to_have_text("1")
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 10"))
    page.evaluate("hide(true)")
    # Away for a moment, it keeps it.
    page.clock.run_for(4_000)
    page.evaluate("hide(false)")
    page.clock.run_for(2_000)
    assert readers(fed) == before + 1
    page.evaluate("hide(true)")
    page.clock.run_for(5_100)
    until(lambda: readers(fed) == before, "the end of the stream")
    page.clock.resume()
    fed.feed({"s": "room", "v": 2})
    page.evaluate("hide(false)")
    expect(amount(page, "stdin/room")).to_have_text("2")
    # It went on where it was.
    assert len(asked) == 2 and "since=" in asked[1] and "run=" in asked[1], asked
