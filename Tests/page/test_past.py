"""What was before the board's history: the page asks the agent's journal for it."""

import re
import signal
import time

from playwright.sync_api import expect

from agent import Agent, until
from view import graph
from conftest import long


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


@long
def test_one_goes_to_a_time_and_sees_an_hour_or_a_day_at_once(tmp_path, open_page):
    with Agent("-i", "1s", "--history", "3s", f"--journal={tmp_path}/x.db", "--time", "/at", takes_input=True) as agent:
        now = time.time()
        # A value an hour ago, half a day ago, and now.
        agent.feed({"s": "a", "v": 5, "at": now - 40_000}, {"s": "a", "v": 7, "at": now - 1_800}, {"s": "a", "v": 9, "at": now})
        page = open_page(agent, "#/series/stdin/a", timezone_id="UTC")
        expect(page.locator(".detail .amount")).to_have_text("9")
        until(lambda: b"journal_first_seq" in agent.get("snapshot")[2], "a line in the journal")
        past = page.locator(".detail-past")
        numbers = page.locator(".detail .graph-numbers")
        page.get_by_role("button", name="Hour").click()
        expect(past).to_have_text(re.compile(r"^from the journal [\d-]* ?\d\d:\d\d:\d\d – \d\d:\d\d:\d\d$"))
        expect(numbers).to_contain_text("min 7 mean 8 max 9 n 2")
        page.get_by_role("button", name="Day").click()
        expect(numbers).to_contain_text("min 5 mean 7 max 9 n 3")
        # A key goes back by as much as is shown: a night is one press.
        page.keyboard.press("]")
        expect(past).to_contain_text("nothing is kept of it")
        page.keyboard.press("[")
        expect(numbers).to_contain_text("n 3")
        page.keyboard.press("[")
        expect(past).to_be_empty()

        page.get_by_role("button", name="Hour").click()
        expect(numbers).to_contain_text("n 2")
        page.keyboard.press("@")
        box = page.get_by_label("Go to time")
        expect(box).to_be_focused()
        box.fill("<b>soon</b>")
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_contain_text("<b>soon</b> is no time: 14:03,")
        expect(box).to_have_attribute("aria-invalid", "true")
        # By the clock of now: some time has gone by.
        box.fill(f"{round(time.time() - now) + 40_000}s ago")
        page.keyboard.press("Enter")
        # The cursor stands there, and keys are keys again.
        expect(numbers).to_contain_text("value 5")
        expect(box).not_to_be_focused()
        # Forward from there is no further than now.
        page.keyboard.press("@")
        box.fill("50m")
        page.keyboard.press("Enter")
        expect(numbers).to_contain_text("nothing in this window")
        page.keyboard.press("[")
        page.keyboard.press("t")
        expect(graph(page).locator("tbody td:first-of-type")).to_have_text(["9", "7"])
        page.keyboard.press("t")
        page.keyboard.press("@")
        page.keyboard.press("Escape")
        expect(box).not_to_be_focused()
        expect(past).not_to_be_empty()
        page.get_by_role("button", name="Now", exact=True).click()
        expect(past).to_be_empty()
        # What is yet to come is nowhere.
        page.keyboard.press("@")
        box.fill("2999-01-01")
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_have_text("that is yet to come")
        expect(past).to_be_empty()


@long
def test_without_a_journal_one_is_told_what_is_missing(fed, open_page):
    fed.feed({"s": "a", "v": 1})
    page = open_page(fed, "#/series/stdin/a")
    expect(page.locator(".detail .amount")).to_have_text("1")
    page.context.watch.expected.append("status of 404")
    page.get_by_role("button", name="Hour").click()
    expect(page.locator(".detail-past")).to_contain_text("the agent has no journal (--journal=FILE), only what this page holds")
    expect(page.locator(".detail .graph-numbers")).to_contain_text("n 1")
