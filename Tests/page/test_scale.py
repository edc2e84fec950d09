"""Many series, and many lines: what is in the document and in memory stays bounded."""

import json

from playwright.sync_api import expect

from agent import Agent, AttachedFeed, until
from conftest import long
from view import amount, row, rows

pytestmark = long


def heap(page):
    """Bytes of what the page's scripts made, after a collection: without what Chromium compiles and draws, as it likes."""
    session = page.context.new_cdp_session(page)
    chunks = []
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda event: chunks.append(event["chunk"]))
    session.send("HeapProfiler.collectGarbage")
    session.send("HeapProfiler.takeHeapSnapshot")
    session.detach()
    snapshot = json.loads("".join(chunks))
    fields, types = snapshot["snapshot"]["meta"]["node_fields"], snapshot["snapshot"]["meta"]["node_types"][0]
    kinds = snapshot["nodes"][fields.index("type") :: len(fields)]
    sizes = snapshot["nodes"][fields.index("self_size") :: len(fields)]
    return sum(size for kind, size in zip(kinds, sizes) if types[kind] not in ("code", "native", "object shape", "synthetic"))


def test_ten_thousand_series_scroll(open_page):
    with Agent("-i", "10s", takes_input=True) as agent:
        # With the agent's memory that is as many as it takes.
        for first in range(0, 10_000, 1_000):
            agent.feed(*({"s": f"{place:05}", "v": place % 1_000} for place in range(first, min(first + 1_000, 9_999))))
        page = open_page(agent)
        expect(row(page, "stdin/00000")).to_be_visible()
        grid = page.locator(".list .grid")
        until(lambda: int(grid.get_attribute("aria-rowcount")) >= 10_000, lambda: f"rows: {grid.get_attribute('aria-rowcount')}")
        nodes = page.evaluate("document.querySelectorAll('*').length")
        frames = page.evaluate(
            """async () => {
                const grid = document.querySelector(".list .grid")
                const times = []
                let most = 0
                const height = grid.scrollHeight - grid.clientHeight
                for (let step = 0; step <= 40; step++) {
                    const start = performance.now()
                    grid.scrollTop = height * step / 40
                    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
                    times.push(performance.now() - start)
                    most = Math.max(most, document.querySelectorAll(".list .row").length)
                }
                // What a short way costs at the far end, in changes of the document.
                let changes = 0
                new MutationObserver(records => { changes += records.length })
                    .observe(grid, { subtree: true, childList: true, attributes: true, characterData: true })
                for (const way of [-400, 400]) {
                    grid.scrollTop += way
                    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
                }
                times.sort((a, b) => a - b)
                return { median: times[20], longest: times.at(-1), rows: most, changes }
            }"""
        )
        expect(rows(page).last).to_be_visible()
        expect(row(page, "stdin/09998")).to_be_visible()
        assert frames["rows"] < 120, frames
        assert 0 < frames["changes"] < 2_000, frames
        # Two frames, or a few more on a machine that does something else as well.
        assert frames["median"] < 1_000, frames
        assert page.evaluate("document.querySelectorAll('*').length") < nodes + 500
        # No hole where one has scrolled to.
        seen = page.evaluate(
            """() => { const grid = document.querySelector(".list .grid").getBoundingClientRect()
            return [0.3, 0.5, 0.7, 0.9].map(part => document.elementFromPoint(grid.x + 40, grid.y + grid.height * part)?.closest(".row") !== null) }"""
        )
        assert all(seen), seen


def test_an_hours_lines_leave_no_more_than_a_minutes(open_page):
    with AttachedFeed(sources=[{"source": "s", "state": "ok", "since": "2023-11-14T22:13:20.000000Z", "type": "s"}]) as feed:
        with Agent(f"--attach={feed.path}") as agent:
            feed.accept()
            page = open_page(agent)
            series = [f"s/{place:02}" for place in range(20)]

            def live(seconds):
                """So many seconds of the feed: each series says something every two, and every ten its window."""
                for second in range(0, seconds, 2):
                    feed.now += 2_000_000
                    feed.say(*(feed.value(name, (second * 7 + place) % 400, text=f"{name} says {second}", data={"n": second})
                               for place, name in enumerate(series)))  # fmt: skip
                    if feed.now // 2_000_000 % 5 == 0:
                        feed.say(*(feed.window(name, [second % 400, 5]) for name in series))

            def settle():
                feed.say(feed.value("s/00", feed.next + 0.5))
                expect(amount(page, "s/00")).to_have_text(format_value(feed.next - 1 + 0.5), timeout=20_000)

            def format_value(value):
                return page.evaluate("value => import('./format.mjs').then(f => f.quantity(value, 'data', null).text)", value)

            live(180)
            settle()
            early = heap(page)
            live(1_800)
            settle()
            late = heap(page)
            # 1.01 times. Eight bytes kept of each line would be 0.14 more.
            assert late <= early * 1.05, f"{early} bytes after three minutes, {late} after half an hour"
