"""The page behind another server, by the recipes of docs/http.md; and in a frame of another page."""

import http.server
import re
import shutil
import socket
import threading
import time

import httpx
import pytest
from playwright.sync_api import expect

from agent import PATIENCE, ROOT, Agent, Program, until
from conftest import long
from view import amount, graph, row

pytestmark = long


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def recipe(language):
    """The one block of docs/http.md in a language."""
    text = (ROOT / "docs" / "http.md").read_text()
    blocks = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1, f"{len(blocks)} blocks of {language} in docs/http.md"
    assert "127.0.0.1:2287" in blocks[0]
    return blocks[0]


def nginx(folder, agent):
    port = free_port()
    said = recipe("nginx").replace("127.0.0.1:2287", agent.address)
    if "server {" not in said:
        said = "server {\n" + said + "\n}\n"
    # Without a certificate, at a port of the system's, and by the name that a browser has for it.
    said = re.sub(r"^\s*(listen|server_name|ssl_\w+) .*;\n", "", said, flags=re.MULTILINE)
    said = said.replace("server {", f"server {{\n    listen 127.0.0.1:{port};", 1)
    (folder / "nginx.conf").write_text(
        f"""daemon off; pid {folder}/pid; error_log {folder}/log; events {{}}
        http {{ access_log off; {" ".join(f"{kind}_temp_path {folder};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))}
        {said} }}"""
    )
    return Program("nginx", "-p", str(folder), "-e", f"{folder}/log", "-c", str(folder / "nginx.conf"), folder=folder), port


def caddy(folder, agent):
    port = free_port()
    said = recipe("caddy(?:file)?").replace("127.0.0.1:2287", agent.address)
    # The address of the site is the block's first word.
    said = re.sub(r"^\S+ \{", f"http://127.0.0.1:{port} {{", said, count=1, flags=re.MULTILINE)
    (folder / "Caddyfile").write_text("{\n admin off\n auto_https off\n grace_period 100ms\n}\n" + said)
    own = {"XDG_DATA_HOME": str(folder), "HOME": str(folder)}
    return Program("caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile"), folder=folder, environment=own), port


@pytest.mark.parametrize("make", [nginx, caddy])
def test_works_below_a_path_of_a_proxy(fed, open_page, tmp_path, make):
    assert shutil.which(make.__name__), f"{make.__name__} is not there: examples/setup.sh test"
    proxy, port = make(tmp_path, fed)
    place = re.search(r"(/[a-z]+/)", recipe("nginx" if make is nginx else "caddy(?:file)?"))
    below = place[1] if place else "/"
    with proxy:
        url = f"http://127.0.0.1:{port}{below}"

        def answers():
            try:
                return httpx.get(url, timeout=5).status_code == 200
            except httpx.TransportError:
                assert proxy.process.poll() is None, proxy.log
                return False

        until(answers, lambda: f"{url} {proxy.log}")
        fed.feed({"s": "room", "v": 1})

        # Nothing is held back: what is said comes at once, also when it is little.
        with httpx.stream("GET", url + "events", timeout=5) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            parts, begun = response.iter_bytes(), time.monotonic()
            text = b""
            while b'"value":1,' not in text:
                text += next(parts)
            assert time.monotonic() - begun < 1
            fed.feed({"s": "room", "v": 4321})
            begun = time.monotonic()
            while b'"value":4321,' not in text:
                text += next(parts)
            assert time.monotonic() - begun < 1

        class Behind:
            pass

        Behind.url, Behind.process = url, proxy.process
        page = open_page(Behind)
        expect(amount(page, "stdin/room")).to_have_text(re.compile("^4.?321$"))
        fed.feed({"s": "room", "v": 7})
        expect(amount(page, "stdin/room")).to_have_text("7", timeout=1_000)
        row(page, "stdin/room").locator("a").click()
        expect(graph(page)).to_be_visible()
        page.reload()
        expect(graph(page)).to_be_visible()
        # What asks for a poll is taken from behind the proxy too, as the page's own; this source has none.
        page.context.watch.expected += ["status of 404"]
        status = page.evaluate(
            """() => fetch("poll/stdin", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }).then(r => r.status)"""
        )
        assert status == 404
        assert httpx.post(url + "poll/stdin", json={}, headers={"Origin": "https://elsewhere.example"}).status_code == 403


class OtherSite:
    """Another origin's page that shows the agent's in a frame."""

    def __init__(self, inner):
        text = f"""<!doctype html><title>other</title><iframe src="{inner}" width=800 height=600></iframe>""".encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.origin = self.url.rstrip("/")
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(PATIENCE)


def test_is_in_no_frame_of_others(fed, open_context):
    fed.feed({"s": "room", "v": 1})
    with OtherSite(fed.url) as site:
        context = open_context(fed, site)
        context.watch.expected += ["frame-ancestors", "refused to connect", "ERR_BLOCKED_BY_RESPONSE"]
        page = context.new_page()
        page.goto(site.url)
        page.wait_for_timeout(500)
        assert page.frames[1].evaluate("document.querySelector('.list') === null")


def test_is_in_a_frame_of_whom_is_allowed(open_context):
    with Agent("-i", "1s", takes_input=True) as agent:
        agent.feed({"s": "room", "v": 1})
        with OtherSite(agent.url + "?bare#/series/stdin/room") as site:
            agent.restart(f"--http-frame={site.origin}")
            agent.feed({"s": "room", "v": 1})
            page = open_context(agent, site).new_page()
            page.goto(site.url)
            expect(page.frame_locator("iframe").locator(".graph-plot")).to_be_visible()
