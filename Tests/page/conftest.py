"""What the tests of the page share: one browser, and pages that tell whatever goes wrong in them."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from agent import ROOT, Agent

SHOTS = ROOT / ".build" / "page"
# What a browser says of a request whose server ends before it has answered.
GONE = re.compile(r"net::ERR_(CONNECTION_|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|CONTENT_LENGTH_MISMATCH)")
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1440, "height": 900}
IS_LONG = bool(os.environ.get("CATWATCH_LONG"))
# Of tests that take long and prove what changes rarely.
long = pytest.mark.skipif(not IS_LONG, reason="only with CATWATCH_LONG")

# A page gets there; beside builds it takes its time. How long things take is for catwatch-bench to say.
expect.set_options(timeout=20_000)


def launch(playwright):
    """Debian's Chromium, without a window."""
    # The sandbox needs namespaces, which root in a container has none of.
    unboxed = os.geteuid() == 0 or os.environ.get("CATWATCH_NO_SANDBOX")
    # What is not on loopback is nowhere: a request to it fails, and is seen.
    flags = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"] + (["--no-sandbox"] if unboxed else [])
    program = os.environ.get("CATWATCH_CHROMIUM", "/usr/bin/chromium")
    return playwright.chromium.launch(executable_path=program, args=flags, timeout=30_000)


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def origin(url):
    return "{0.scheme}://{0.netloc}".format(urlsplit(url))


class Watch:
    """What pages of a test did that they must not: errors, violations of the policy, requests to elsewhere."""

    def __init__(self, places):
        """Places: addresses, or what has one: `Agent`."""
        self.places = {origin(getattr(place, "url", place)): place for place in places}
        self.faults = []
        self.requests = []
        # Parts of messages of the console that a test expects.
        self.expected = []

    def follow(self, context):
        context.on("page", self._follow_page)
        context.on("request", self._note_request)

    def _follow_page(self, page):
        page.on("pageerror", lambda error: self.faults.append(f"error in the page: {error.stack or error.message}"))
        page.on("console", self._note_message)
        page.on("crash", lambda: self.faults.append("the page crashed"))

    def _note_message(self, message):
        # Screens and icons are fetched when there is time, and a feed anew, which may be when a test has ended its agent or server.
        url = message.location["url"]
        if GONE.search(message.text) and (url.endswith((".mjs", ".css", "/favicon.ico", "/icon.svg")) or self._has_ended(url)):
            return
        if message.type in ("error", "warning") and not any(part in message.text for part in self.expected):
            self.faults.append(f"{message.type} in the console: {message.text} at {message.location}")

    def _has_ended(self, url):
        process = getattr(self.places.get(origin(url)), "process", None)
        return process is not None and process.poll() is not None

    def _note_request(self, request):
        self.requests.append(request.url)
        if urlsplit(request.url).scheme not in ("data", "blob") and origin(request.url) not in self.places:
            self.faults.append(f"a request to elsewhere: {request.url}")

    def check(self):
        assert not self.faults, "\n".join(self.faults)


@pytest.fixture
def open_context(browser):
    """Opens contexts that are watched: `open_context(agent, viewport=…)`; all are checked at the end of the test."""
    opened = []

    def open_one(*places, script=None, **options):
        context = browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", "locale": "en-GB", **options})
        context.set_default_timeout(30_000)
        context.watch = Watch(places)
        context.watch.follow(context)
        if script:
            context.add_init_script(script)
        opened.append(context)
        return context

    yield open_one
    for context in opened:
        for page in context.pages:
            # What a last step did is told before the page goes.
            page.evaluate("() => new Promise(done => setTimeout(done))") if not page.is_closed() else None
        context.close()
    for context in opened:
        context.watch.check()


@pytest.fixture
def open_page(open_context):
    """Opens a page at an agent: `open_page(agent, "#/feed", viewport=…)`."""

    def open_one(agent, address="", **options):
        page = open_context(agent, **options).new_page()
        page.goto(agent.url + address)
        return page

    return open_one


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """One agent with the demo's feeds, for every test that only looks."""
    agent = Agent("--demo", "--preset", "all", "-i", "1s", "--every", "500ms")
    with agent:
        yield agent


@pytest.fixture
def fed():
    """An agent of this test alone, whose values the test gives."""
    with Agent("-i", "1s", takes_input=True) as agent:
        yield agent


def pytest_configure(config):
    SHOTS.mkdir(parents=True, exist_ok=True)
