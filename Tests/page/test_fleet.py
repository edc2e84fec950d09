"""Agents of a fleet: three that publish to a server of NATS, and as many as a feed says."""

import json
import re
import shutil
import signal
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from agent import ROOT, Agent, AttachedFeed, Program, until
from conftest import long

ADMIN = [sys.executable, str(ROOT / "examples" / "fleet" / "natsadmin.py")]
SERVER = shutil.which("nats-server", path="/usr/sbin:/usr/bin")


def names(page):
    return page.locator("table.agents tbody th").all_inner_texts()


def state(page, name):
    return page.locator("table.agents tbody tr", has=page.get_by_role("rowheader", name=name, exact=True)).locator(".of-state")


@pytest.fixture
def server(tmp_path):
    """The address of a server with an empty stream."""
    port = subprocess.check_output([*ADMIN, "ports", "1"], text=True).strip()
    configuration = tmp_path / "server.conf"
    configuration.write_text(f'listen: 127.0.0.1:{port}\nmax_payload: 2MB\njetstream {{ store_dir: "{tmp_path}/store" }}\n')
    with Program(SERVER, "-c", str(configuration)):
        stream = {"name": "CATWATCH", "subjects": ["catwatch.v1.*"], "num_replicas": 1}
        subprocess.run([*ADMIN, "ask", f"127.0.0.1:{port}", "$JS.API.STREAM.CREATE.CATWATCH"], input=json.dumps(stream), text=True,
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        yield f"nats://127.0.0.1:{port}"


@pytest.mark.skipif(SERVER is None, reason="there is no nats-server; Tests/run.sh installs it")
def test_agents_that_publish_are_rows_whether_they_are_there_or_not(server, open_page):
    agents = [Agent("--demo", "-e", "200ms", f"--nats={server}", f"--agent-name=web{number}") for number in (1, 2, 3)]
    with agents[0], agents[1], agents[2], Agent(f"--attach={server}") as fleet:
        page = open_page(fleet, "#/metrics")
        for number in (1, 2, 3):
            expect(state(page, f"web{number}")).to_have_text("live")
        until(lambda: names(page) == ["web1", "web2", "web3"], lambda: f"the order; it is {names(page)}")
        # Each says whose its endpoint is.
        expect(page.locator("table.endpoints th[scope=row]")).to_have_count(3)
        assert all(re.match(r"web[123] GET http://", text) for text in page.locator("table.endpoints th[scope=row]").all_inner_texts())
        page.locator("#agent-filter").fill("WEB2")
        until(lambda: names(page) == ["web2"], lambda: f"one row; there are {names(page)}")
        expect(page.locator("#agents-title")).to_have_text("Agents 1 of 3")
        page.locator("#agent-filter").fill("")
        # One that was ended stays, in front of those that live.
        agents[1].kill(signal.SIGTERM)
        expect(state(page, "web2")).to_have_text("ended")
        page.mouse.move(0, 0)
        until(lambda: names(page) == ["web2", "web1", "web3"], lambda: f"the order; it is {names(page)}")
        agents[1].start()
        expect(state(page, "web2")).to_have_text("live")


@long
def test_ten_thousand_hostile_agents_are_shown_a_page_at_a_time(open_page):
    bad = "\u001b[31m\u202e<img src=x onerror=window.pwned=1>"
    with AttachedFeed() as feed, Agent(f"--attach={feed.path}") as agent:
        feed.accept()

        def peer(name, **more):
            return {"type": "peer", "source": "x.catwatch", "state": bad, "since": "9999-12-31T23:59:59Z", "lost": 0,
                    "heard": "0001-01-01T00:00:00Z", "host": {"name": bad, "os": bad}, "app": {"version": bad}, "agent": name, **more}  # fmt: skip

        feed.say(peer(bad), peer("a.b"))
        feed.say(*(peer(f"w{number}", skew_ms=(-1) ** number * 1e308, lost=(1 << 63) - 1 if number == 7 else 0)
                   for number in range(10_001)))  # fmt: skip
        page = open_page(agent, "#/metrics")
        expect(page.locator("#agents-title")).to_have_text("Agents 10000", timeout=30_000)
        expect(page.locator("table.agents tbody tr")).to_have_count(200)
        assert names(page)[0] == "w7"
        expect(page.get_by_text("3 more lines, of agents for which there is no room")).to_be_visible()
        page.get_by_role("button", name="show more: 9800 agents are left").click()
        expect(page.locator("table.agents tbody tr")).to_have_count(400)
        text = page.locator("body").inner_text()
        assert not set(text) & set("\u001b\u202e") and "<img src=x" in text
        assert page.evaluate("window.pwned") is None and page.locator("main img").count() == 0
        page.locator("#agent-filter").fill("w9999")
        expect(page.locator("table.agents tbody tr")).to_have_count(1)
