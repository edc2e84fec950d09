"""Others' readers of server-sent events: httpx-sse and sseclient-py."""

import json
from contextlib import contextmanager

import httpx
import httpx_sse
import pytest
import sseclient

from agent import Agent
from conftest import long

# No longer than this between two lines; there is a `memory` line a second.
PATIENT = httpx.Timeout(10)


@contextmanager
def by_httpx_sse(url, last):
    with httpx.Client(timeout=PATIENT) as client:
        with httpx_sse.connect_sse(client, "GET", url, headers={"Last-Event-ID": last} if last else {}) as source:
            yield source.iter_sse()


@contextmanager
def by_sseclient(url, last):
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
    with httpx.stream("GET", url, headers=headers, timeout=PATIENT) as response:
        yield sseclient.SSEClient(response.iter_bytes()).events()


def read(events, is_last):
    """The lines up to the first that the test wants, with the last id; checks that ids are the lines' numbers."""
    lines, last = [], ""
    for event in events:
        # httpx-sse hands on an event without data too, of which there is none.
        if event.event == "beat":
            continue
        line = json.loads(event.data)
        lines.append(line)
        if "seq" in line:
            run, _, seq = event.id.rpartition("-")
            assert (run, int(seq)) == (lines[0]["run"], line["seq"])
            last = event.id
        if is_last(line):
            return lines, last
    raise AssertionError(f"the stream ended behind {lines[-1:]}")


@pytest.mark.parametrize("connect", [by_httpx_sse, by_sseclient])
def test_comes_back_by_the_last_id(connect):
    with Agent("-i", "1s", takes_input=True) as agent:
        agent.feed({"s": "a", "v": 1, "t": "first\r\nwith a\rbreak\n\nin it"})
        with connect(agent.url + "events", None) as events:
            before, last = read(events, lambda line: line.get("value") == 1)
        assert [line["type"] for line in before[:2]] == ["hello", "stats"]
        assert before[-1]["text"] == "first\r\nwith a\rbreak\n\nin it"
        agent.feed({"s": "a", "v": 2}, {"s": "b", "v": 3})
        with connect(agent.url + "events", last) as events:
            after, _ = read(events, lambda line: line.get("value") == 3)
        # Nothing twice, nothing left out, over both connections.
        numbers = [line["seq"] for line in before + after if "seq" in line]
        assert numbers == list(range(1, len(numbers) + 1))

        # In another run that number means nothing: everything comes.
        agent.restart()
        agent.feed({"s": "a", "v": 4})
        with connect(agent.url + "events", last) as events:
            anew, _ = read(events, lambda line: line.get("value") == 4)
        assert anew[0]["run"] != before[0]["run"]
        numbers = [line["seq"] for line in anew if "seq" in line]
        assert numbers == list(range(1, len(numbers) + 1))


@long
@pytest.mark.parametrize("connect", [by_httpx_sse, by_sseclient])
def test_the_last_id_overrides_the_query(connect):
    with Agent("-i", "1s", takes_input=True) as agent:
        agent.feed({"s": "a", "v": 1}, {"s": "a", "v": 2}, {"s": "a", "v": 3})
        with connect(agent.url + "events", None) as events:
            lines, _ = read(events, lambda line: line.get("value") == 3)
        second = next(line["seq"] for line in lines if line.get("value") == 2)
        query = f"events?since=0&run={lines[0]['run']}"
        with connect(agent.url + query, f"{lines[0]['run']}-{second}") as events:
            lines, _ = read(events, lambda line: "seq" in line)
        assert lines[-1]["value"] == 3
