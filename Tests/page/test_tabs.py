"""Several tabs, hidden tabs, and browsers without workers that are shared."""

import json

from playwright.sync_api import expect

from agent import until
from view import amount

ALONE = "delete window.SharedWorker"
# A tab whose visibility the test decides: `hide(true)`.
HIDEABLE = """
let isHidden = false
Object.defineProperty(document, "hidden", { get: () => isHidden })
Object.defineProperty(document, "visibilityState", { get: () => isHidden ? "hidden" : "visible" })
window.hide = value => { isHidden = value; document.dispatchEvent(new Event("visibilitychange")) }
"""


def readers(agent):
    return int(agent.metric("catwatch_readers"))


def test_nine_tabs_share_one_stream(fed, open_context):
    before = readers(fed)
    fed.feed({"s": "room", "v": 1})
    context = open_context(fed)
    tabs = []
    for _ in range(9):
        tab = context.new_page()
        tab.goto(fed.url)
        expect(amount(tab, "stdin/room")).to_have_text("1")
        tabs.append(tab)
    assert readers(fed) == before + 1
    fed.feed({"s": "room", "v": 2})
    for tab in tabs:
        expect(amount(tab, "stdin/room")).to_have_text("2", timeout=2_000)
    # Each goes where it likes to.
    tabs[8].goto(fed.url + "#/feed")
    tabs[8].reload()
    expect(tabs[8].locator(".feed .line").first).to_be_visible()
    # The stream outlives whoever opened it, and goes with the last of them.
    for tab in tabs[:8]:
        tab.close()
    fed.feed({"s": "room", "v": 3})
    tabs[8].goto(fed.url + "#/")
    expect(amount(tabs[8], "stdin/room")).to_have_text("3")
    assert readers(fed) == before + 1
    tabs[8].close()
    until(lambda: readers(fed) == before, "the end of the stream")


def test_the_stream_ends_when_the_last_tab_has_left(fed, open_context):
    before = readers(fed)
    fed.feed({"s": "room", "v": 1})
    context = open_context(fed)
    tabs = [context.new_page() for _ in range(2)]
    for tab in tabs:
        tab.goto(fed.url)
        expect(amount(tab, "stdin/room")).to_have_text("1")
    # As a tab that is closed does; these stay, and with them the worker.
    leave = "dispatchEvent(new PageTransitionEvent('pagehide'))"
    tabs[0].evaluate(leave)
    fed.feed({"s": "room", "v": 2})
    expect(amount(tabs[1], "stdin/room")).to_have_text("2")
    expect(amount(tabs[0], "stdin/room")).to_have_text("1")
    assert readers(fed) == before + 1
    tabs[1].evaluate(leave)
    until(lambda: readers(fed) == before, "the end of the stream")


def test_a_tab_alone_closes_its_stream_while_it_is_hidden(fed, open_context):
    before = readers(fed)
    fed.feed({"s": "room", "v": 1})
    page = open_context(fed, script=ALONE + "\n" + HIDEABLE).new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/events" in request.url else None)
    page.clock.install()
    page.goto(fed.url)
    expect(amount(page, "stdin/room")).to_have_text("1")
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 10"))
    assert readers(fed) == before + 1
    page.evaluate("hide(true)")
    # Away for a moment, it keeps it.
    page.clock.run_for(4_000)
    page.evaluate("hide(false)")
    page.clock.run_for(500)
    page.evaluate("hide(true)")
    page.clock.run_for(4_900)
    # What the page has asked for until now is done once this is answered.
    page.evaluate("fetch('healthz').then(answer => answer.status)")
    assert readers(fed) == before + 1, "closed before 5 s were over"
    page.clock.run_for(200)
    until(lambda: readers(fed) == before, "the end of the stream", 4)
    page.clock.resume()
    fed.feed({"s": "room", "v": 2})
    page.evaluate("hide(false)")
    expect(amount(page, "stdin/room")).to_have_text("2")
    assert readers(fed) == before + 1
    # It went on where it was.
    assert "since=" in asked[-1] and "run=" in asked[-1], asked
    assert len(asked) == 2, asked


# A worker that begins when the test likes: `late` is its end of the port, `heard` what the page said to it.
LATE = """
const { port1, port2 } = new MessageChannel()
window.late = port2
window.heard = []
port2.onmessage = event => heard.push(event.data)
window.SharedWorker = class { port = port1 }
"""


def test_a_worker_that_begins_too_late_is_not_listened_to(fed, open_context):
    fed.feed({"s": "room", "v": 1})
    page = open_context(fed, script=LATE).new_page()
    page.goto(fed.url)
    expect(amount(page, "stdin/room")).to_have_text("1")
    hello = {"type": "hello", "time": "2026-01-01T00:00:00.000000Z", "format": 1, "run": "late", "filtered": False,
             "interval_s": 10, "history_s": 120, "first_seq": 1, "next_seq": 1}  # fmt: skip
    page.evaluate("text => late.postMessage({ start: true, text, state: { kind: 'open', since: 0 } })", json.dumps(hello))
    fed.feed({"s": "room", "v": 2})
    expect(amount(page, "stdin/room")).to_have_text("2")
    assert page.evaluate("heard") == ["leave"]


def test_a_tab_alone_shows_the_same(fed, open_context):
    fed.feed({"s": "room", "v": 1, "t": "said"})
    texts = []
    for script in (None, ALONE):
        page = open_context(fed, script=script).new_page()
        page.goto(fed.url + "#/series/stdin/room")
        expect(page.locator(".detail .event-text")).to_have_text("said")
        assert page.evaluate("typeof SharedWorker") == ("function" if script is None else "undefined")
        texts.append(page.locator(".detail-value .amount").text_content())
    assert texts == ["1", "1"]
