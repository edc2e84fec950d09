"""What was before the board's history: the page asks the agent's journal for it."""

import re
import signal
import time

from playwright.sync_api import expect

from agent import Agent, until
from view import graph


def test_the_graph_goes_back_into_a_run_that_is_over(tmp_path, open_page):
    with Agent("-i", "1s", "--history", "3s", f"--journal={tmp_path}/x.db", takes_input=True) as agent:
        agent.feed({"s": "a", "v": 11})
        until(lambda: b'"value":11' in agent.get("snapshot")[2], "the value")
        fed = time.monotonic()
        agent.kill(signal.SIGTERM)
        agent.start()
        agent.feed({"s": "a", "v": 21})
        page = open_page(agent, "#/series/stdin/a")
        expect(page.locator(".detail .amount")).to_have_text("21")
        past = page.locator(".detail-past")
        numbers = page.locator(".detail .graph-numbers")
        page.wait_for_timeout(max(0, fed + 5 - time.monotonic()) * 1000)

        page.keyboard.press("]")
        said = re.compile(r"^from the journal \d\d:\d\d:\d\d – \d\d:\d\d:\d\d( · nothing is kept of it)?$")
        for _ in range(20):
            expect(past).to_have_text(said)
            if "min 11 " in numbers.text_content():
                break
            before = past.inner_text()
            page.keyboard.press("]")
            expect(past).not_to_have_text(before)
        expect(numbers).to_contain_text("min 11")
        expect(numbers).to_contain_text("n 1")
        expect(graph(page)).to_be_visible()
        # Beyond what is kept nothing is an answer, too.
        page.keyboard.press("]")
        page.keyboard.press("]")
        expect(past).to_have_text(re.compile(" · nothing is kept of it$"))
        # Forward, past the newest, is what is now.
        for _ in range(40):
            if past.inner_text() == "":
                break
            page.keyboard.press("[")
        expect(past).to_be_empty()
        # Another one does what it did.
        page.keyboard.press("]")
        expect(past).not_to_be_empty()
        page.keyboard.press("Escape")
        expect(past).to_be_empty()
        expect(page.locator("main > section.detail")).to_be_visible()

        page.context.watch.expected.append("ERR_CONNECTION_")
        agent.kill(signal.SIGTERM)
        page.keyboard.press("]")
        expect(past).to_have_text(re.compile(" · not there: nothing answers$"))
        # Who leaves comes back to what is now.
        page.keyboard.press("1")
        expect(page.locator("main > section.list")).to_be_visible()
        page.keyboard.press("2")
        expect(past).to_be_empty()
