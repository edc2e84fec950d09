"""What an open page shows while values come, and while they do not."""

import re
import signal
import socket
import time

import pytest
from playwright.sync_api import expect

from agent import Agent, AttachedFeed, Upstream, until
from view import address, amount, graph, row, trouble, wait_for_lines
from conftest import long


def test_shows_a_value_when_it_comes(fed, open_page):
    fed.feed({"s": "room", "v": 1})
    page = open_page(fed)
    expect(amount(page, "stdin/room")).to_have_text("1")
    fed.feed({"s": "room", "v": 42.5}, {"s": "hall", "v": 7})
    expect(amount(page, "stdin/room")).to_have_text("42.5", timeout=1_000)
    expect(amount(page, "stdin/hall")).to_have_text("7", timeout=1_000)
    page.goto(fed.url + "#/series/stdin/room")
    expect(page.locator(".detail .detail-value .amount")).to_have_text("42.5")
    fed.feed({"s": "room", "v": 43, "t": "a door has opened"})
    expect(page.locator(".detail .detail-value .amount")).to_have_text("43", timeout=1_000)
    expect(page.locator(".detail .event-text")).to_have_text("a door has opened")
    page.keyboard.press("4")
    wait_for_lines(page, "a door has opened")


@long
def test_says_how_a_recording_is_played_back(fed, tmp_path, open_page):
    def line(seq, minute):
        more = '"type":"t","source":"room","series":"room","value":1'
        return f'{{"seq":{seq},"time":"2026-11-22T08:{minute:02}:00.000000Z",{more}}}\n'

    recording = tmp_path / "recording.ndjson"
    recording.write_text(line(1, 0) + line(2, 50))
    with Agent("--replay", str(recording), "--speed=10x") as agent:
        page = open_page(agent)
        expect(page.locator("#status .playback")).to_have_text("replay 10x")
        expect(amount(page, "room")).to_have_text("1")
    page = open_page(fed)
    expect(page.locator("#status .playback")).to_be_hidden()


def test_has_two_minutes_at_once(open_page):
    with Agent("-i", "10s", "--time", "/at", takes_input=True) as agent:
        now = time.time()
        # Newest last: a value of each window of the last two minutes.
        agent.feed(*({"s": "room", "v": 100 - back, "at": now - back} for back in range(110, -1, -10)))
        page = open_page(agent, "#/series/stdin/room")
        page.locator(".detail").get_by_role("button", name="Table").click()
        expect(graph(page).locator("tbody tr")).not_to_have_count(0, timeout=1_000)
        shown = graph(page).locator("tbody tr")
        until(lambda: shown.count() >= 12, lambda: f"12 windows, of which there are {shown.count()}", 2)


@long
def test_shows_nothing_as_old_that_is_news_in_a_moment(open_page):
    described = {"source": "s", "state": "ok", "since": "2023-11-14T22:13:20.000000Z", "type": "s", "every_s": 10}
    with AttachedFeed(start=int(time.time() - 60) * 1_000_000, sources=[described]) as feed, Agent(f"--attach={feed.path}") as agent:
        feed.accept()
        # A latency line's time is the agent's, of then.
        latency = {"type": "latency", "source": "s", "endpoint": "GET http://x", "status": 200, "ms": 1.5}
        for _ in range(20):
            feed.say(*(feed.value("s/00", place, text="x" * 100) for place in range(100)), latency)
        feed.now += 60_000_000
        # More than is read in one go.
        feed.say(*(feed.value(f"s/{place % 50 + 1:02}", place, text="x" * 100) for place in range(5_000)), feed.value("s/00", 2))
        until(lambda: b'"value":2,' in agent.get("snapshot")[2] or b'value\\":2,' in agent.get("snapshot")[2], "the lines")
        note = """new MutationObserver(() => { window.wasOld ||= document.querySelector(".row.stale, .row.ill, .chips .late") !== null })
            .observe(document, { subtree: true, childList: true, attributes: true })"""
        page = open_page(agent, script=note)
        expect(amount(page, "s/00")).to_have_text("2")
        assert page.evaluate("window.wasOld") is False


@pytest.fixture
def calm():
    """An agent whose windows are so wide that nothing is dimmed for its age."""
    with Agent("-i", "10s", takes_input=True) as agent:
        yield agent


def test_says_why_and_since_when_the_agent_is_gone_and_comes_back(calm, open_page):
    calm.feed({"s": "before", "v": 1})
    page = open_page(calm)
    page.context.watch.expected += ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET"]
    expect(amount(page, "stdin/before")).to_have_text("1")
    expect(trouble(page)).to_be_hidden()
    colour = "node => getComputedStyle(node).color"
    fresh = amount(page, "stdin/before").evaluate(colour)
    calm.kill()
    expect(trouble(page)).to_be_visible(timeout=2_000)
    expect(trouble(page)).to_contain_text(re.compile(r"agent lost"))
    # Since when what is shown is old, in the agent's time, and why.
    expect(trouble(page)).to_contain_text(re.compile(r"\d\d:\d\d:\d\d"))
    expect(trouble(page)).to_contain_text(re.compile(r"nothing answers|connection broke"))
    assert amount(page, "stdin/before").evaluate(colour) != fresh, "what is old looks as before"
    expect(page).to_have_title(re.compile("lost"))
    # What there was can still be read.
    expect(amount(page, "stdin/before")).to_have_text("1")
    calm.start()
    calm.feed({"s": "after", "v": 2})
    expect(amount(page, "stdin/after")).to_have_text("2", timeout=15_000)
    expect(trouble(page)).to_be_hidden()
    # It is another run, whose lines have nothing of the one before.
    expect(row(page, "stdin/before")).to_have_count(0)


@long
def test_says_that_the_agent_ended_in_order(fed, open_page):
    fed.feed({"s": "room", "v": 1})
    page = open_page(fed)
    page.context.watch.expected += ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING"]
    expect(amount(page, "stdin/room")).to_have_text("1")
    fed.kill(signal.SIGTERM)
    expect(trouble(page)).to_contain_text("SIGTERM", timeout=2_000)


@long
def test_says_that_nothing_comes_from_an_agent_that_stands_still(open_context):
    with Agent("-i", "1s", takes_input=True) as agent:
        agent.feed({"s": "room", "v": 1})
        page = open_context(agent).new_page()
        page.clock.install()
        page.goto(agent.url)
        expect(amount(page, "stdin/room")).to_have_text("1")
        agent.process.send_signal(signal.SIGSTOP)
        try:
            page.clock.run_for(40_000)
            expect(trouble(page)).to_contain_text("agent lost")
            expect(trouble(page)).to_contain_text(re.compile(r"nothing (came|answers)"))
        finally:
            agent.process.send_signal(signal.SIGCONT)
        agent.feed({"s": "room", "v": 2})
        until(lambda: page.clock.run_for(1_000) or amount(page, "stdin/room").text_content() == "2", "the value behind it")
        expect(trouble(page)).to_be_hidden()


def test_comes_back_when_it_is_let_in_again(tmp_path, open_page):
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text("the-right-token-0123\n")
    wrong.write_text("another-token-456789\n")
    for file in (right, wrong):
        file.chmod(0o600)
    with Agent("-i", "1s", takes_input=True) as agent:
        agent.restart(f"--http-token-file={right}")
        agent.feed({"s": "room", "v": 1})
        token = {"username": "anybody", "password": "the-right-token-0123"}
        page = open_page(agent, http_credentials=token)
        page.context.watch.expected += ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "401", "ERR_INVALID_AUTH_CREDENTIALS"]
        # What comes when there is time may be refused, too.
        page.context.watch.expected += ["Refused to apply style"]
        expect(amount(page, "stdin/room")).to_have_text("1")
        agent.restart(f"--http-token-file={wrong}")
        expect(trouble(page)).to_contain_text("401", timeout=15_000)
        agent.restart(f"--http-token-file={right}")
        agent.feed({"s": "room", "v": 2})
        expect(amount(page, "stdin/room")).to_have_text("2", timeout=20_000)
        expect(trouble(page)).to_be_hidden()


@long
def test_comes_back_when_there_is_a_seat_again(open_page):
    # One says the errors on stderr.
    with Agent("-i", "1s", "--max-readers", "1", takes_input=True) as agent:
        agent.feed({"s": "room", "v": 1})
        with socket.create_connection(("127.0.0.1", agent.port), 10) as other:
            other.sendall(b"GET /feed HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b" 200 " in other.recv(100)
            page = open_page(agent)
            page.context.watch.expected += ["503"]
            expect(trouble(page)).to_contain_text("503")
            expect(trouble(page)).to_contain_text("readers")
        expect(amount(page, "stdin/room")).to_have_text("1", timeout=15_000)
        expect(trouble(page)).to_be_hidden()


@long
def test_says_which_source_fails_and_that_it_answers_again(open_page):
    with Upstream() as upstream:
        upstream.answers["/load"] = (200, {"load": 0.5})
        with Agent(f"{upstream.url}/load", "--every", "100ms", "--retry-most", "100ms", "-i", "1s") as agent:
            page = open_page(agent)
            expect(amount(page, "load")).to_have_text("0.5")
            upstream.answers["/load"] = (500, {})
            failing = page.locator(".list .row.ill:not([hidden])")
            expect(failing).to_contain_text("load")
            expect(failing).to_contain_text("answered 500")
            expect(page.locator(".failures")).to_have_text("1 of 1 failing")
            expect(page.locator(".chips li.failing")).to_contain_text("load")
            # Where there is no list, the bar says it.
            expect(trouble(page)).to_be_hidden()
            page.keyboard.press("4")
            expect(trouble(page)).to_contain_text("load: ")
            expect(trouble(page)).to_contain_text("500")
            page.keyboard.press("1")
            upstream.answers["/load"] = (200, {"load": 0.75})
            expect(failing).to_have_count(0)
            expect(amount(page, "load")).to_have_text("0.75")
            expect(page.locator(".chips li").first).to_contain_text("back after")


def test_asks_a_source_now(open_page):
    with Upstream() as upstream:
        upstream.answers["/load"] = (200, {"load": 1})
        with Agent(f"{upstream.url}/load", "--every", "1h", "-i", "1s") as agent:
            page = open_page(agent, "#/series/load")
            expect(page.locator(".detail .amount")).to_have_text("1")
            upstream.answers["/load"] = (200, {"load": 2})
            page.get_by_role("button", name="Poll now").click()
            expect(page.locator(".detail .amount")).to_have_text("2")


def test_stands_still_when_asked_to(fed, open_page):
    fed.feed({"s": "room", "v": 1})
    page = open_page(fed)
    expect(amount(page, "stdin/room")).to_have_text("1")
    page.keyboard.press(" ")
    expect(page.locator("#status .paused")).to_be_visible()
    fed.feed({"s": "room", "v": 2})
    expect(page.locator("#status .paused")).to_contain_text("new")
    expect(amount(page, "stdin/room")).to_have_text("1")
    page.keyboard.press(" ")
    expect(amount(page, "stdin/room")).to_have_text("2")
    expect(page.locator("#status .paused")).to_be_hidden()


@long
def test_the_headline_of_a_series_is_of_its_newest_event(fed, open_page):
    fed.feed({"s": "a", "v": 0})
    page = open_page(fed, address("stdin/a"))
    expect(page.locator(".detail .event-fields dd").first).to_be_visible()
    page.evaluate(
        """() => {
        const amount = document.querySelector(".detail .amount")
        const fields = document.querySelector(".detail .event-fields")
        window.differing = []
        window.seen = new Set()
        new MutationObserver(() => {
            window.seen.add(amount.textContent)
            if (![...fields.children].some(each => each.textContent === amount.textContent)) window.differing.push(`${amount.textContent}: ${fields.textContent}`)
        }).observe(document.querySelector(".detail"), { subtree: true, childList: true, characterData: true })
    }"""
    )
    for value in range(1, 61):
        fed.feed({"s": "a", "v": value})
        page.wait_for_timeout(20)
    expect(page.locator(".detail .amount")).to_have_text("60")
    assert page.evaluate("window.differing") == []
    assert page.evaluate("window.seen.size") > 2
