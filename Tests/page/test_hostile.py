"""What upstreams say is text, whatever it looks like."""


import pytest
from playwright.sync_api import expect

from agent import Agent, Upstream
from view import address, drawn, row, rows

NASTY = [
    """<img src=x onerror="window.pwned=1">""",
    """</script><script>window.pwned=1</script>""",
    """<svg/onload=window.pwned=1>""",
    """"><iframe srcdoc="<script>parent.pwned=1</script>">""",
    """javascript:window.pwned=1""",
    """&lt;b&gt;&#60;i&#62;""",
    """\u202egnp.exe\u2066\u200f right to left""",
    """\u001b[31mred\u0000\u0007""",
    """{{constructor.constructor('window.pwned=1')()}}""",
    """https://elsewhere.example/cat.jpg""",
    """\u2028\u2029\ufeff""",
]
KEYS = ["__proto__", "constructor", "hasOwnProperty", "toString", "a b%2F/c?d#e", "'", '"', "..", "\u202eabc", "<x-evil>bold</x-evil>"]

COUNT = """() => Object.fromEntries(["img", "script", "iframe", "object", "embed", "style", "link", "base", "form", "x-evil"]
    .map(name => [name, document.querySelectorAll(name).length]))"""


def count(page):
    """How many there are of what text must not become, once every screen was made, which is when it is first shown."""
    for name in ("detail", "metrics", "feed", "list"):
        page.evaluate("name => document.querySelector(`nav.screens a[data-screen=${name}]`).click()", name)
        expect(page.locator(f"main > .{name}")).to_be_visible()
    return page.evaluate(COUNT)


@pytest.fixture
def hostile(fed):
    for place, key in enumerate(KEYS + NASTY):
        fed.feed({"s": key, "v": place + 1, "t": NASTY[place % len(NASTY)], "picture": "https://elsewhere.example/cat.jpg",
                  "u": "javascript:window.pwned=1", "__proto__": {"x": 1}, "n": [NASTY]})  # fmt: skip
    return fed


def test_leaves_no_node_and_no_request(hostile, open_page):
    clean = open_page(hostile, "#/metrics")
    expect(clean.locator("main")).not_to_be_empty()
    page = open_page(hostile)
    expect(rows(page)).not_to_have_count(0)
    before = count(page)
    names = KEYS + NASTY
    for key in names:
        page.goto(hostile.url + address("stdin/" + key))
        expect(page.locator(".detail .detail-value .amount")).to_have_text(str(names.index(key) + 1))
    for screen in ("#/feed", "#/metrics", "#/"):
        page.goto(hostile.url + screen)
        drawn(page)
    after = page.evaluate(COUNT)
    # The picture's frame is there, empty: nobody has allowed that origin.
    assert after == before
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("({}).x") is None, "an event has reached Object.prototype"


def test_text_that_turns_its_direction_is_seen_as_what_it_is(hostile, open_page):
    page = open_page(hostile, "#/feed")
    expect(page.locator(".feed .line").first).to_be_visible()
    for screen in ("#/feed", "#/", address("stdin/\u202eabc")):
        page.goto(hostile.url + screen)
        drawn(page)
        text = page.locator("body").inner_text()
        assert not set(text) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u0000\u001b"), screen
        assert not set(page.title()) & set("\u202e\u2066"), screen


def test_a_filter_and_an_address_are_text_too(hostile, open_page):
    page = open_page(hostile, "#/?filter=" + "%3Cimg%20src%3Dx%20onerror%3D%22window.pwned%3D1%22%3E%3Cx-evil%3E")
    before = count(page)
    drawn(page)
    for hash in ("#/series/%", "#/series/%3Cx-evil%3Eno%3C/x-evil%3E", "#/feed?type=%3Cx-evil%3E", "#/nowhere", "#%E0%A4%A", "#/series/__proto__"):
        page.goto(hostile.url + hash)
        drawn(page)
        assert page.evaluate(COUNT) == before, hash
    assert page.evaluate("window.pwned") is None


def test_a_megabyte_of_text_is_cut(open_page):
    with Upstream() as upstream:
        upstream.answers["/long"] = (200, {"v": 1, "t": "x" * 500_000 + "<x-evil>" * 50_000, "more": {"deep": "y" * 200_000}})
        agent_arguments = [f"{upstream.url}/long", "--value", "/v", "--text", "/t", "--every", "1h", "--max-body", "4MiB", "-i", "1h"]
        with Agent(*agent_arguments) as agent:
            page = open_page(agent, "#/series/long")
            expect(page.locator(".detail .detail-value .amount")).to_have_text("1")
            expect(page.locator(".detail .event-text")).not_to_be_empty()
            drawn(page)
            assert page.evaluate("document.body.textContent.length") < 100_000
            assert page.evaluate("document.querySelectorAll('x-evil').length") == 0
            page.goto(agent.url + "#/feed")
            expect(page.locator(".feed .line").first).to_be_visible()
            assert page.evaluate("document.body.textContent.length") < 300_000


def test_what_others_name_reaches_no_markup(open_page):
    # Names of sources, units, bands and of the machine come with an attached agent's lines.
    from agent import AttachedFeed

    nasty = NASTY[0]
    bands = [{"name": nasty, "letter": "<", "color": "#ffff00", "up_to": 10}, {"name": "</style>", "letter": "&", "color": "#123456"}]
    source = {"source": "s", "state": "failing", "since": "2023-11-14T22:13:20.000000Z", "type": "s", "unit": "<x-evil>u</x-evil>",
              "bands": bands, "higher_is_better": True}  # fmt: skip
    with AttachedFeed(sources=[source]) as feed, Agent(f"--attach={feed.path}") as agent:
        feed.accept()
        feed.say(
            feed.value("s/" + nasty, 5, text=nasty, data={"a": nasty, "b": [{"c": nasty}]}),
            {"type": "latency", "source": "s", "endpoint": "GET http://x/" + nasty, "status": 200, "ms": 1.5, "dns_ms": 0,
             "connect_ms": 0, "tls_ms": 0, "wait_ms": 1, "receive_ms": 0.5, "bytes": 5, "reused": True, "late_ms": 0.1},
            {"type": "error", "source": "s", "endpoint": "GET http://x/", "code": "status", "message": nasty, "attempt": 2},
        )  # fmt: skip
        page = open_page(agent)
        expect(row(page, "s/" + nasty).locator(".badge:visible")).to_have_text("<")
        before = count(page)
        for screen in (address("s/" + nasty), "#/metrics", "#/feed", "#/"):
            page.goto(agent.url + screen)
            drawn(page)
            assert page.evaluate(COUNT) == before, screen
        assert page.evaluate("window.pwned") is None
