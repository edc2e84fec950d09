#!/usr/bin/env python3
"""Runs an agent with everything on for hours, while much goes wrong around it, and looks at what it holds.

usage: soak.py CATWATCH HOURS FOLDER [--seed S]

Three sources (a document that is always good, one of a server that fails in every way it knows, 200 lines a second of standard
input), 50 readers of the socket and 20 clients of /events that come and go, some of which stop reading, a scrape of /metrics
every 10 s, a reload every minute, a journal with a reader that keeps its file from being tidied up for 20 s now and then.

Every second a row of FOLDER/soak.csv says what the agent holds; soak.svg is the picture of it. In the quiet moments after
five minutes (a tenth of the time, when that is less) and at the end, with all clients gone and the upstreams well, it must
hold the same: no more than 1 MiB of memory beyond, as many descriptors and as many threads. Every reader checks the numbers
of its lines. Exits 1 when something is wrong.
"""

import argparse
import asyncio
import collections
import contextlib
import csv
import html
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import statistics
import sys
import tempfile
import time

import journal_file

READERS, CLIENTS = 50, 20
LINES = 200  # a second, on standard input
QUIET = 12  # seconds; the last five count
JOURNAL = 32 << 20
COLUMNS = ["second", "rss_kib", "descriptors", "threads", "lag_ms", "cpu_ms", "readers", "behind", "journal_kib", "wal_kib", "load"]


class Upstream:
    """An HTTP server whose documents are good, or bad in ways that change every few seconds."""

    FAULTS = [None, None, "status", "reset", "half", "slow", "garbage", "large", "silence", "limit"]

    def __init__(self, dice):
        self.dice, self.is_quiet, self.count = dice, False, collections.Counter()
        self.fault, self.until, self.number = None, 0, 0
        self.writers = set()

    def weather(self):
        if self.is_quiet:
            return None
        if time.monotonic() > self.until:
            self.fault = self.dice.choice(self.FAULTS)
            self.until = time.monotonic() + self.dice.uniform(1, 8)
        return self.fault

    async def serve(self, reader, writer):
        self.writers.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fault = self.weather() if b" /flaky" in head else None
                self.count[fault or "good"] += 1
                if not await self.answer(writer, fault):
                    break
            if self.fault == "reset":
                writer.transport.abort()
        self.writers.discard(writer)
        writer.close()

    async def answer(self, writer, fault):
        self.number += 1
        body = json.dumps({"value": self.number % 100, "text": f"document {self.number}"}).encode()
        status, fields = "200 OK", ""
        if fault == "status":
            status, body = "503 Service Unavailable", b"{}"
        elif fault == "limit":
            status, fields = "429 Too Many Requests", "Retry-After: 1\r\n"
        elif fault == "garbage":
            body = bytes(self.dice.randrange(256) for _ in range(200))
        elif fault == "large":
            body = b'{"text":"' + b"x" * (2 << 20) + b'"}'
        elif fault == "reset":
            return False
        elif fault == "silence":
            await asyncio.sleep(3)
            return False
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode()
        if fault == "half":
            writer.write(head + body[:len(body) // 2])
            await writer.drain()
            return False
        if fault == "slow":
            for byte in head + body:
                writer.write(bytes((byte,)))
                await writer.drain()
                await asyncio.sleep(0.002)
            return True
        writer.write(head + body)
        await writer.drain()
        return True


class Numbers:
    """Holds the lines of one connection against what is promised: whole, numbered without holes but for those that a gap names."""

    def __init__(self):
        self.next, self.lines, self.gaps = None, 0, 0
        self.begins_anew = False  # with a `hello` that comes in between, as it has asked for other lines

    def look(self, line):
        if line.startswith(b'{"seq":'):
            number = int(line[7:line.index(b",")])
            if self.next not in (None, number):
                raise ValueError(f"line {number} where {self.next} belongs: {line[:200]!r}")
            if not line.endswith(b"}"):
                raise ValueError(f"a torn line: {line[-200:]!r}")
            self.next = number + 1
            self.lines += 1
        elif line.startswith(b'{"type":"gap"'):
            gap = json.loads(line)
            if self.next not in (None, gap["from"]):
                raise ValueError(f"a gap from {gap['from']} where {self.next} belongs")
            self.next = gap["to"] + 1
            self.gaps += 1
        elif self.begins_anew and line.startswith(b'{"type":"hello"'):
            self.next = None


class Soak:
    def __init__(self, catwatch, folder, seconds, seed):
        self.catwatch, self.folder, self.seconds = catwatch, folder, seconds
        self.dice = random.Random(seed)
        self.upstream = Upstream(random.Random(seed + 1))
        self.count, self.wrong = collections.Counter(), []
        self.rows, self.newest = [], {}
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="catwatch-soak-"))
        self.socket, self.journal = self.work / "socket", self.work / "journal"
        self.page = asyncio.Event()
        self.port, self.run_name, self.words = None, None, collections.deque(maxlen=20)
        self.is_over = False

    async def run(self):
        # A port each: how many connections to one are kept depends on whether two polls happen at once.
        servers = [await asyncio.start_server(self.upstream.serve, "127.0.0.1", 0) for _ in range(2)]
        self.steady, self.flaky = (f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers)
        self.configure("100ms")
        self.process = await asyncio.create_subprocess_exec(
            self.catwatch, "-c", self.work / "config.jsonc", "-o", "ndjson", "--interval", "1s", f"--listen={self.socket}",
            "--http=127.0.0.1:0", "--journal", self.journal, "--journal-bytes", str(JOURNAL), "--max-readers", "200",
            "--reader-timeout", "5s", "--log-bytes", "1MiB", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, limit=4 << 20)
        always = [asyncio.create_task(work) for work in (self.feed(), self.read(), self.listen(), self.sample())]
        try:
            await asyncio.wait_for(self.page.wait(), 30)
            first, end = min(300, self.seconds / 10), self.seconds
            begun = time.monotonic()
            await self.bustle(begun + first - QUIET)
            before = await self.rest()
            print(f"after {first:.0f} s: {before}", flush=True)
            await self.bustle(begun + end - QUIET)
            after = await self.rest()
            print(f"after {end:.0f} s: {after}", flush=True)
        finally:
            self.is_over = True
            with contextlib.suppress(ProcessLookupError):
                self.process.terminate()
            status = await asyncio.wait_for(self.process.wait(), 30)
            for task in always:
                task.cancel()
            await asyncio.gather(*always, return_exceptions=True)
            for server in servers:
                server.close()
        if status != 0:
            self.wrong.append(f"the agent ended with {status}: {list(self.words)}")
        self.judge(before, after)

    def configure(self, every):
        """A configuration; the reload is to find another one each time."""
        (self.work / "config.jsonc").write_text(json.dumps({"sources": [
            {"name": "steady", "url": f"{self.steady}/steady", "every": every},
            {"name": "flaky", "url": f"{self.flaky}/flaky", "every": "100ms", "timeout": "2s", "retry_most": "2s"},
            {"name": "lines", "kind": "stdin"}]}))

    # Always.

    async def feed(self):
        begun, fed = time.monotonic(), 0
        with contextlib.suppress(ConnectionError):
            while True:
                due = int((time.monotonic() - begun) * LINES) + 1
                self.process.stdin.write(b"".join(b'{"value":%d,"text":"line %d"}\n' % (n, n) for n in range(fed, due)))
                fed = due
                await self.process.stdin.drain()
                await asyncio.sleep(0.02)

    async def read(self):
        numbers = Numbers()
        while line := await self.process.stdout.readline():
            self.look(numbers, line[:-1])
            if b'"type":"agent"' in line:
                self.newest = json.loads(line)
            elif self.run_name is None and line.startswith(b'{"type":"hello"'):
                self.run_name = json.loads(line)["run"]
        self.count["lines on stdout"], self.count["gaps on stdout"] = numbers.lines, numbers.gaps

    async def listen(self):
        """Drains stderr, where it says where the page is."""
        while line := (await self.process.stderr.readline()).decode():
            self.words.append(line.strip())
            if self.port is None and "the page is at http://127.0.0.1:" in line:
                self.port = int(line.split("http://127.0.0.1:")[1].split("/")[0])
                self.page.set()

    async def sample(self):
        place, begun, second = pathlib.Path(f"/proc/{self.process.pid}"), time.monotonic(), 0
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), (self.folder / "soak.csv").open("w", newline="") as file:
            rows = csv.DictWriter(file, COLUMNS)
            rows.writeheader()
            while not self.is_over:
                output = next((o for o in self.newest.get("outputs", []) if o["output"].startswith("journal:")), {})
                status = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines())
                row = {
                    "second": second, "rss_kib": int(status["VmRSS"].split()[0]), "threads": int(status["Threads"]),
                    "descriptors": len(os.listdir(place / "fd")), "lag_ms": self.newest.get("loop_lag_ms", 0),
                    "cpu_ms": self.newest.get("cpu_ms", 0), "readers": self.newest.get("readers", 0),
                    "behind": output.get("behind", 0), "journal_kib": self.size(""), "wal_kib": self.size("-wal"),
                    "load": os.getloadavg()[0]}
                self.rows.append(row)
                rows.writerow(row)
                file.flush()
                second += 1
                await asyncio.sleep(max(0, begun + second - time.monotonic()))

    def size(self, suffix):
        with contextlib.suppress(FileNotFoundError):
            return os.path.getsize(f"{self.journal}{suffix}") >> 10
        return 0

    def look(self, numbers, line):
        try:
            numbers.look(line)
        except ValueError as error:
            self.wrong.append(str(error))
            numbers.next = None

    # While there is much going on.

    async def bustle(self, until):
        """Everything at once, until that moment."""
        self.upstream.is_quiet = False
        works = [self.come_and_go(self.read_socket) for _ in range(READERS)]
        works += [self.come_and_go(self.read_events) for _ in range(CLIENTS)]
        works += [self.scrape(), self.reload(), self.hold()]
        tasks = [asyncio.create_task(work) for work in works]
        await asyncio.wait(tasks, timeout=until - time.monotonic(), return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(result, asyncio.CancelledError):
                self.wrong.append(f"what keeps the agent busy ended: {result!r}")

    async def rest(self):
        """Everybody has left and all is well: what does it hold?"""
        self.upstream.is_quiet = True
        for writer in self.upstream.writers:
            writer.close()
        self.configure("100ms")
        self.process.send_signal(signal.SIGHUP)
        await asyncio.sleep(QUIET)
        rows = self.rows[-5:]
        return {
            key: choose(row[key] for row in rows)
            for key, choose in (("rss_kib", statistics.median), ("descriptors", statistics.mode), ("threads", statistics.mode))}

    async def come_and_go(self, stay):
        while True:
            await asyncio.sleep(self.dice.uniform(0, 2))
            writer = None
            try:
                reader, writer = await stay()
            except OSError as error:
                self.wrong.append(f"a reader was not let in: {error}")
            else:
                await self.follow(reader, writer)
            finally:
                if writer:
                    writer.transport.abort()
            self.count["readers"] += 1

    async def read_socket(self):
        reader, writer = await asyncio.open_unix_connection(self.socket)
        reader.numbers = Numbers()
        kind = self.dice.random()
        if kind < 0.2 and self.rows and self.run_name:
            # From somewhere in the past, which may be in the journal only.
            since = self.dice.randrange(max(1, self.newest.get("seq", 1)))
            reader.numbers.begins_anew = True
            writer.write(json.dumps({"since": max(since, self.newest.get("seq", 1) - 20_000), "run": self.run_name}).encode() + b"\n")
        elif kind < 0.25:
            writer.write(bytes(self.dice.randrange(256) for _ in range(100)) + b"\n")
        return reader, writer

    async def read_events(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        reader.numbers = Numbers()
        writer.write(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
        return reader, writer

    async def follow(self, reader, writer):
        """Reads for a while, and may stop in between, for longer than it is borne."""
        numbers, rest = reader.numbers, b""
        pause = time.monotonic() + self.dice.uniform(0, 10) if self.dice.random() < 0.15 else None
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(self.dice.choice((1, 10, 60)) * self.dice.random()):
                while piece := await reader.read(1 << 16):
                    *lines, rest = (rest + piece).split(b"\n")
                    for line in lines:
                        self.look(numbers, line.removeprefix(b"data: "))
                    if pause and time.monotonic() > pause:
                        pause = None
                        writer.transport.pause_reading()
                        await asyncio.sleep(self.dice.uniform(0, 8))
                        writer.transport.resume_reading()
        self.count["lines read"] += numbers.lines
        self.count["gaps told"] += numbers.gaps

    async def scrape(self):
        while True:
            await asyncio.sleep(10)
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
            if not answer.startswith(b"HTTP/1.1 200"):
                self.wrong.append(f"/metrics: {answer[:200]!r}")
            self.count["scrapes"] += 1

    async def reload(self):
        while True:
            for every in ("150ms", "100ms"):
                await asyncio.sleep(20)
                self.configure(every)
                self.process.send_signal(signal.SIGHUP)
                self.count["reloads"] += 1

    async def hold(self):
        """Reads the journal for so long in one go that its log of changes cannot be tidied up."""
        while True:
            await asyncio.sleep(self.dice.uniform(5, 60))
            with contextlib.closing(sqlite3.connect(f"file:{self.journal}?mode=ro", uri=True, isolation_level=None)) as connection:
                connection.execute("BEGIN")
                connection.execute("SELECT max(id) FROM lines").fetchone()
                await asyncio.sleep(20)
            self.count["times that the journal was held"] += 1

    # At the end.

    def judge(self, before, after):
        if after["rss_kib"] > before["rss_kib"] + 1_024:
            self.wrong.append(f"it holds {after['rss_kib'] - before['rss_kib']} KiB more than before")
        for key in ("descriptors", "threads"):
            if after[key] != before[key]:
                self.wrong.append(f"{before[key]} {key} are {after[key]}")
        with contextlib.closing(sqlite3.connect(self.journal)) as connection:
            connection.text_factory = bytes
            if connection.execute("PRAGMA integrity_check").fetchall() != [(b"ok",)]:
                self.wrong.append("the journal is corrupt")
            for _, number, base in journal_file.runs(connection):
                try:
                    lines, gaps = journal_file.whole(connection, number, base)
                    self.count["lines in the journal"] += len(lines)
                    self.count["gaps in the journal"] += len(gaps)
                except journal_file.Wrong as error:
                    self.wrong.append(str(error))


# The picture.


def picture(rows, title):
    """A panel for each figure, over the time."""
    width, height, left, top = 960, 120, 80, 40
    panels = [
        ("rss_kib", "resident, MiB", 1 / 1024), ("descriptors", "descriptors", 1), ("threads", "threads", 1),
        ("lag_ms", "loop lag, ms", 1), ("readers", "readers", 1), ("behind", "journal behind, lines", 1),
        ("journal_kib", "journal, MiB", 1 / 1024), ("wal_kib", "its log of changes, MiB", 1 / 1024), ("load", "load", 1)]
    whole = top + len(panels) * (height + 36) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {whole}" font-family="sans-serif" font-size="12">',
        f'<rect width="100%" height="100%" fill="#101318"/><text x="{left}" y="24" fill="#d6dbe1">{html.escape(title)}</text>']
    span = max(1, rows[-1]["second"])
    for index, (key, name, factor) in enumerate(panels):
        y = top + index * (height + 36)
        values = [row[key] * factor for row in rows]
        # From 0, but for memory, of which the first seconds would hide all that comes.
        low, high = 0, max(max(values), 1)
        if key == "rss_kib":
            low, high = min(values[10:]) - 0.5, high + 0.5
        parts.append(f'<rect x="{left}" y="{y}" width="{width}" height="{height}" fill="#1d2129"/>')
        parts.append(f'<text x="{left}" y="{y + height + 15}" fill="#c5cad2">{name}: {min(values):.5g} to {max(values):.5g}, '
                     f'last {values[-1]:.5g}</text>')
        for value, place in ((high, y + 10), (low, y + height)):
            parts.append(f'<text x="{left - 6}" y="{place}" fill="#c5cad2" text-anchor="end">{value:.4g}</text>')
        # As many columns as there are pixels, each from its least to its most.
        columns = collections.defaultdict(list)
        for row, value in zip(rows, values):
            columns[int(row["second"] / span * width)].append(value)
        points = " ".join(
            f"{left + x},{y + height - max(0, (value - low) / (high - low)) * height:.1f}"
            for x, column in sorted(columns.items()) for value in (min(column), max(column)))
        parts.append(f'<polyline points="{points}" fill="none" stroke="#6cb6ff" stroke-width="1"/>')
    for part in range(0, 7):
        parts.append(f'<text x="{left + part * width / 6}" y="{whole - 8}" fill="#c5cad2" text-anchor="middle">'
                     f'{span * part / 6 / 60:.3g} min</text>')
    return "\n".join(parts + ["</svg>\n"])


def main():
    parser = argparse.ArgumentParser(usage="soak.py CATWATCH HOURS FOLDER [--seed S]")
    parser.add_argument("catwatch", type=os.path.abspath)
    parser.add_argument("hours", type=float)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    seconds = options.hours * 3_600
    if seconds < 200:
        parser.error("200 seconds are the least")
    print(f"{seconds:.0f} s, seed {options.seed}", flush=True)
    soak = Soak(options.catwatch, options.folder, seconds, options.seed)
    try:
        asyncio.run(soak.run())
    finally:
        if soak.rows:
            title = f"catwatch, {options.hours:g} h with everything on, seed {options.seed}"
            (options.folder / "soak.svg").write_text(picture(soak.rows, title))
    faults = ", ".join(f"{count} {name}" for name, count in sorted(soak.upstream.count.items()))
    print(", ".join(f"{count} {name}" for name, count in sorted(soak.count.items())))
    print(f"answers: {faults}; loop lag at most {max(row['lag_ms'] for row in soak.rows):.1f} ms; "
          f"see {options.folder}/soak.csv and soak.svg")
    for line in soak.wrong[:20]:
        print(f"soak: {line}", file=sys.stderr)
    if soak.wrong:
        print(f"soak: {len(soak.wrong)} things are wrong; the journal is in {soak.work}", file=sys.stderr)
        sys.exit(1)
    shutil.rmtree(soak.work)


if __name__ == "__main__":
    main()
