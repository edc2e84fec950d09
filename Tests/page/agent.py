"""A catwatch that serves its page, and what it watches: values by standard input, an upstream, another agent's feed."""

import contextlib
import http.client
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 15.0


def binary():
    named = os.environ.get("CATWATCH_BINARY")
    for path in [Path(named)] if named else [ROOT / ".build" / build / "catwatch" for build in ("release", "debug")]:
        if path.exists():
            return str(path)
    raise FileNotFoundError("there is no catwatch: swift build makes one, CATWATCH_BINARY names one")


def until(condition, what, patience=PATIENCE, step=0.02):
    """Asks again and again until the condition gives something true, and gives that."""
    deadline = time.monotonic() + patience
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience:g} s in vain for {what() if callable(what) else what}")
        time.sleep(step)


class Program:
    """A program of ours or of others, which is ended by its own number when the block is left."""

    def __init__(self, *command, folder=None, environment=None, takes_input=False):
        self.command = command
        self._folder = tempfile.TemporaryDirectory(prefix="catwatch-page-") if folder is None else None
        self.folder = Path(folder or self._folder.name)
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(self.folder), "LC_ALL": "C.UTF-8", **(environment or {})}
        self.takes_input = takes_input
        self.process = None
        self._log = open(self.folder / "log", "a+b")

    def start(self):
        assert self.process is None or self.process.poll() is not None, "it runs already"
        # Nobody writes to a terminal, nor waits for one.
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE if self.takes_input else subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=self.environment,
        )
        return self

    @property
    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def kill(self, by=signal.SIGKILL):
        """Ends it and waits for that."""
        if self.process.poll() is None:
            self.process.send_signal(by)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"did not end by {by!r}: {self.command}") from None
        finally:
            if self.process.stdin:
                with contextlib.suppress(BrokenPipeError):
                    self.process.stdin.close()

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        try:
            if self.process is not None and self.process.poll() is None:
                self.kill(signal.SIGTERM)
        finally:
            if kind is not None:
                print(f"\n-- {' '.join(self.command)} ended with {self.process.returncode} and said:\n{self.log[-4000:]}")
            self._log.close()
            if self._folder:
                self._folder.cleanup()


class Agent(Program):
    """catwatch with --http. Its first start finds a port, which it keeps over later ones.

    The values of an agent with `takes_input` come by `feed`: a series each, of the source `stdin`, with whatever else the
    items hold.
    """

    def __init__(self, *arguments, takes_input=False, **more):
        self.arguments = list(arguments)
        if takes_input:
            self.arguments += ["-", "--items", "", "--key", "/s", "--value", "/v", "--text", "/t"]
        self.address = "127.0.0.1:0"
        super().__init__(takes_input=takes_input, **more)

    def start(self, *more):
        """Starts it, with more arguments for this time, and waits until it serves."""
        self.command = [binary(), f"--http={self.address}", "-o", "none", "-c", "/dev/null", *self.arguments, *more]
        if "-c" in self.arguments:
            index = self.command.index("/dev/null")
            del self.command[index - 1 : index + 1]
        said = len(self.log)
        super().start()

        def found():
            match = re.search(r"http://127\.0\.0\.1:(\d+)/", self.log[said:])
            return match or (self.process.poll() is not None and "ended")

        match = until(found, lambda: f"where the page is in {self.log!r}")
        assert match != "ended", f"it did not start: {self.log}"
        self.address = f"127.0.0.1:{match[1]}"
        return self

    def restart(self, *more):
        self.kill()
        return self.start(*more)

    @property
    def url(self):
        return f"http://{self.address}/"

    @property
    def port(self):
        return int(self.address.rpartition(":")[2])

    def feed(self, *items):
        """Gives items to standard input, as one document."""
        self.process.stdin.write(json.dumps(items).encode() + b"\n")
        self.process.stdin.flush()

    def get(self, path, headers={}, method="GET", body=None):
        """The status, the fields and the body of an answer."""
        return get(self.address, "/" + path, headers, method, body)

    def metric(self, name):
        """The sum of the samples of a metric, over its labels."""
        text = self.get("metrics")[2].decode()
        values = [float(value) for value in re.findall(rf"^{name}(?:{{[^\n]*}})? (\S+)$", text, re.MULTILINE)]
        assert values, f"no {name} in {text[:2000]}"
        return sum(values)


def get(address, path, headers={}, method="GET", body=None):
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


class Upstream:
    """A server of JSON documents, whose answers a test sets: `answers[path] = (status, document)`."""

    def __init__(self):
        self.answers = {}
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                status, document = upstream.answers.get(self.path.partition("?")[0], (404, None))
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(PATIENCE)


def stamp(micros):
    """A time of the lines, from microseconds since the epoch."""
    seconds, rest = divmod(int(micros), 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:06}Z"


class AttachedFeed:
    """Another agent's feed, as a test writes it: lines of any time, which catwatch passes on as they are.

    `catwatch --attach=PATH` connects to it; `say` sends lines, which are numbered here.
    """

    def __init__(self, interval=10, history=120, start=1_700_000_000_000_000, sources=()):
        self.interval, self.history = interval, history
        self.now = start
        self.next = 1
        self.run = "page-test-run"
        self.sources = list(sources)
        self._folder = tempfile.TemporaryDirectory(prefix="catwatch-feed-")
        self.path = os.path.join(self._folder.name, "feed.sock")
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(self.path)
        self._server.listen()
        self._server.settimeout(PATIENCE)
        self._peer = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in (self._peer, self._server):
            if end:
                end.close()
        self._folder.cleanup()

    def accept(self):
        """Takes the agent's connection and greets it."""
        self._peer, _ = self._server.accept()
        self._peer.settimeout(60)
        host = {"name": "lab", "device": "A test", "os": "Debian GNU/Linux 12", "kernel": "Linux 6.1.0", "arch": "x86_64"}
        self._send(
            {
                "type": "hello", "time": stamp(self.now), "format": 1, "run": self.run, "filtered": False,
                "interval_s": self.interval, "history_s": self.history, "first_seq": 1, "next_seq": 1, "host": host,
                "app": {"name": "catwatch", "version": "0.0.0", "started": stamp(self.now)},
            },
            {"type": "stats", "time": stamp(self.now), "as_of": 0, "endpoints": [], "sources": self.sources},
        )  # fmt: skip
        return self

    def say(self, *lines):
        """Sends numbered lines; one without a time gets the feed's."""
        numbered = []
        for line in lines:
            numbered.append({"seq": self.next, "time": stamp(self.now), **line})
            self.next += 1
        self._send(*numbered)

    def value(self, series, value, **more):
        source = series.partition("/")[0]
        return {"type": source, "source": source, "series": series, "value": value, **more}

    def window(self, series, values, last_seq=1, **more):
        """The line of the window that has just closed."""
        width = self.interval * 1_000_000
        start = (self.now // width - 1) * width
        return {
            "type": "window", "source": series.partition("/")[0], "series": series, "start": stamp(start),
            "seconds": self.interval, "last": values[-1], "last_seq": last_seq, "count": len(values), "min": min(values),
            "max": max(values), "mean": sum(values) / len(values), **more,
        }  # fmt: skip

    def _send(self, *lines):
        text = b"".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for line in lines)
        self._peer.sendall(text)
