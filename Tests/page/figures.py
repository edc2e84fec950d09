"""Measures what the page costs a browser, and prints it beside its limits: Tests/page-figures.sh."""

import json
import re
import statistics
import sys
import time
from contextlib import contextmanager

from playwright.sync_api import expect, sync_playwright

from agent import Agent, AttachedFeed
from conftest import DESKTOP, launch
from test_scale import heap

SERIES = 100
FIRST_DATA = """
window.firstData = new Promise(done => {
    const look = () => {
        for (const node of document.querySelectorAll(".list .rows .row:not([hidden]) .amount")) {
            // In the frame behind this one it is on the screen.
            if (node.textContent) return requestAnimationFrame(() => setTimeout(() => done(performance.now())))
        }
        requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
})
"""


def first_data(browser, agent):
    """Milliseconds from the navigation to the first value on the screen, with nothing cached."""
    times = []
    for _ in range(15):
        context = browser.new_context(viewport=DESKTOP)
        context.add_init_script(FIRST_DATA)
        page = context.new_page()
        page.goto(agent.url)
        times.append(page.evaluate("window.firstData"))
        context.close()
    return times


def an_hour(browser):
    """Bytes of the page's heap after a minute's lines and after an hour's."""
    described = {"source": "s", "state": "ok", "since": "2023-11-14T22:13:20.000000Z", "type": "s"}
    names = [f"s/{place:02}" for place in range(SERIES)]
    used = []
    with AttachedFeed(sources=[described]) as feed, Agent(f"--attach={feed.path}") as agent:
        feed.accept()
        page = browser.new_page(viewport=DESKTOP)
        page.goto(agent.url)
        amount = page.locator(".list .row:not([hidden]) .amount").first
        for minute in range(60):
            for second in range(60):
                feed.now += 1_000_000
                value = minute * 60 + second
                feed.say(*(feed.value(name, value, text=f"{name} says {value}", data={"n": value}) for name in names))
                if feed.now % 10_000_000 == 0:
                    feed.say(*(feed.window(name, [value - 9, value]) for name in names))
            # As fast as the page takes it, and no faster: what is missed costs nothing.
            shown = re.compile(rf"^{value // 1000 or ''}\W?{value % 1000 if value < 1000 else f'{value % 1000:03}'}$")
            expect(amount).to_have_text(shown, timeout=20_000)
            if minute in (0, 2, 59):
                used.append(heap(page))
        missed = page.locator(".missed").is_visible()
        page.close()
    assert not missed, "lines were missed"
    return used


def busy(browser, addresses):
    """What 60 s with 100 series that change every second cost each of several pages at once, each a process of its own: the
    part of the time that its main thread worked, and its longest task, in ms of that thread and of the clock on the wall.

    A thread that waits for a processor works on nothing: on a machine that does something else too, the wall's clock tells
    how busy the machine is, and the thread's how much the page asks for.
    """
    with Agent("-i", "1s", takes_input=True) as agent:

        def feed(second):
            agent.feed(*({"s": f"{place:02}", "v": (second * 13 + place * 7) % 100, "t": f"{second}"} for place in range(SERIES)))

        feed(0)
        pages, sessions = [], []
        for place, address in enumerate(addresses):
            page = browser.new_context(viewport=DESKTOP).new_page()
            page.goto(agent.url + address)
            expect(page.locator("main .amount").first).not_to_be_empty()
            pages.append(page)
            sessions.append(page.context.new_cdp_session(page))
            sessions[-1].send("Performance.enable", {"timeDomain": "threadTicks"})
        measure = lambda session: {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}["TaskDuration"]
        pages[0].wait_for_timeout(2_000)
        browser.start_tracing(categories=["toplevel", "blink.user_timing", "disabled-by-default-devtools.timeline"])
        for place, page in enumerate(pages):
            page.evaluate("name => { performance.mark(name) }", f"page-{place}")
        begun, before = time.monotonic(), [measure(session) for session in sessions]
        second = 1
        while time.monotonic() - begun < 60:
            feed(second)
            second += 1
            pages[0].wait_for_timeout(max(begun + second - 1 - time.monotonic(), 0) * 1000)
        wall, after = time.monotonic() - begun, [measure(session) for session in sessions]
        events = json.loads(browser.stop_tracing())["traceEvents"]
        for page in pages:
            page.context.close()
    result = []
    for place in range(len(pages)):
        (thread,) = {(e["pid"], e["tid"]) for e in events if e.get("name") == f"page-{place}"}
        tasks = [e for e in events if e.get("name", "").endswith("RunTask") and (e["pid"], e["tid"]) == thread and "tdur" in e]
        assert tasks, "the trace has no tasks"
        longest = max(tasks, key=lambda task: task["tdur"])["tdur"] / 1000, max(task["dur"] for task in tasks) / 1000
        result.append(((after[place] - before[place]) / wall, *longest))
    return result


@contextmanager
def demo():
    with Agent("--demo", "--preset", "all", "-i", "1s") as agent:
        time.sleep(3)
        yield agent


def main():
    rows = []

    def row(figure, limit, measured, is_good=True):
        rows.append((figure, limit, measured, is_good))
        print(f"{figure}: {measured}", file=sys.stderr, flush=True)

    def first(browser):
        with demo() as agent:
            times = first_data(browser, agent)
            median = statistics.median(times)
            row("page: first data on the screen, median of 15", "≤ 300 ms", f"{median:.0f} ms ({min(times):.0f} to {max(times):.0f})", median <= 300)

    def heaps(browser):
        early, later, late = an_hour(browser)
        kib = lambda count: f"{count / 1024:,.0f} KiB"
        ratio = late / early
        row(f"page: heap after an hour's lines of {SERIES} series to that after a minute's", "≤ 1.2 ×",
            f"{ratio:.2f} × ({kib(late)} to {kib(early)}; {kib(later)} after three minutes)", ratio <= 1.2)  # fmt: skip

    def work(browser):
        names = {"list": "#/", "detail": "#/series/stdin/42"}
        for name, (part, longest, wall) in zip(names, busy(browser, names.values())):
            row(f"page: {SERIES} series a second, 60 s, {name}: main thread busy", "≤ 5 %", f"{part:.1%}", part <= 0.05)
            row("the same: longest task", "≤ 50 ms", f"{longest:.1f} ms of the thread ({wall:.1f} ms on the wall)", longest <= 50)

    with sync_playwright() as playwright:
        browser = launch(playwright)
        for part in (first, heaps, work):
            try:
                part(browser)
            except Exception as error:
                # The others are measured all the same.
                row(f"page: {part.__name__}", "", f"{type(error).__name__}: {str(error).splitlines()[0]}", False)
        browser.close()
    print("| figure | limit | measured |\n| --- | --- | --- |")
    for figure, limit, measured, is_good in rows:
        print(f"| {figure} | {limit} | {'' if is_good else '**missed** '}{measured} |")
    sys.exit(0 if all(is_good for *_, is_good in rows) else 1)


if __name__ == "__main__":
    main()
