#!/usr/bin/env python3
"""Has agents with random alerts write a journal, and looks whether its lines give the same alerts again (docs/conditions.md).

usage: same_trials.py CATWATCH [--long] [--seeds N] [--first SEED] [--at-once N] [--also reloads|kills|times]…

For each of 4 seeds, or 50 with --long: some 15 conditions about three polled sources, which fail in many ways, and about standard
input; three to five runs on one journal, of a second or two each, with pauses. The wall clock is set forward and back by seconds,
minutes and hours, in runs and between them, while the monotonic one goes on (libfaketime, Debian package faketime; without it this is
left out). Then `catwatch check --against JOURNAL --same` has to end with 0.

--also   adds what may make a difference: reloads that change no condition; runs that are killed (SIGKILL), which loses lines, in a
         third of the seeds, which are counted apart; events with times of their own, in a third of the seeds

Prints a line for each seed; exits 1 if alerts of a seed without kills differ, and keeps the files of seeds that differ.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import datetime
import glob
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import journal_file
import journal_trials
from journal_file import Wrong, need

LIBRARY = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
NAMES = ["rooms", "job", "load"]
SERIES = {"rooms": ["rooms", "rooms/a", "rooms/*"], "job": ["job"], "load": ["load"], "stdin": ["stdin", "stdin/b", "stdin/*"]}
# How far the clock is set forward at most while no agent runs, in all: that looks like stops, and what is older than two minutes is
# not read again.
LONGEST_STOP = 90


# What is watched.


class Walks:
    """Values that go up and down at random."""

    def __init__(self, dice):
        self.dice, self.values = dice, {}

    def step(self, key):
        value = self.values.get(key, 50)
        near = self.dice.random() < 0.85
        self.values[key] = min(100, max(0, self.dice.randint(value - 9, value + 9) if near else self.dice.randint(0, 100)))
        return self.values[key]

    def event(self, key):
        """A document in which anything may be missing, or be of another type."""
        value = self.step(key)
        event = {"k": key, "v": value, "n": {"q": self.step(key + "q")}, "lamp": value % 7 < 3,
                 "t": self.dice.choice(("all is calm", "a cat sits here", "")) if value % 5 else "gone"}
        if self.dice.random() < 0.06:
            del event[self.dice.choice(("n", "lamp", "t"))]
        if self.dice.random() < 0.03:
            event["v"] = self.dice.choice((None, "none"))
        return event


class Source:
    """What an address answers: documents for a while, then some kind of failure for a while."""

    def __init__(self, name, dice):
        self.name, self.dice, self.walks = name, dice, Walks(dice)
        self.kind, self.there, self.body = "well", set("abc"), b""

    def answer(self, handler):
        if self.dice.random() < (0.06 if self.kind == "well" else 0.25):
            self.kind = self.dice.choice(("well", "well", "well", "error", "slow", "torn", "closed", "limited", "empty"))
        if self.kind == "closed":
            handler.close_connection = True
            return
        if self.kind == "slow":
            time.sleep(self.dice.choice((0.02, 0.25)))
        if self.dice.random() < 0.7 or not self.body:
            self.body = self.document()
        body = {"torn": self.body[:-3], "empty": b'{"rooms":[],"n":1}'}.get(self.kind, self.body)
        tag = f'"{hash(body)}"'
        status = {"error": 500, "limited": 429}.get(self.kind, 200)
        if status == 200 and handler.headers.get("If-None-Match") == tag:
            status, body = 304, b""
        handler.send_response(status)
        if status == 200:
            handler.send_header("ETag", tag)
        if status != 304:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def document(self):
        if self.name != "rooms":
            return json.dumps(self.walks.event("x") | {"state": self.dice.choice(("ok", "ok", "busy", "down"))}).encode()
        if self.dice.random() < 0.15:
            self.there ^= {self.dice.choice("abc")}
        return json.dumps({"rooms": [self.walks.event(key) for key in sorted(self.there)]}).encode()


@contextlib.contextmanager
def served(dice):
    """An HTTP server with the sources; gives its address."""
    answering = {name: Source(name, random.Random(dice.random())) for name in (*NAMES, "spare")}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            with contextlib.suppress(OSError):
                answering[self.path[1:]].answer(self)

        def handle(self):
            with contextlib.suppress(OSError):
                super().handle()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


# What is asked of it.


def span(dice):
    return f"{dice.choice((60, 100, 150, 250, 400, 700, 1200))}ms"


def tests(dice, source):
    """A random test of a source's data, and one of its answers, each with one that excludes it, if there is one."""
    low = dice.randint(10, 85)
    measure = dice.choice(("value", "/v", "/n/q", "/n/q", "last", "mean", "max", *(
        f"{part} over {dice.choice(('300ms', '1s', '2s'))}" for part in ("mean", "min", "max", "count"))))
    data = dice.choice((
        (f"{measure} > {low}", f"{measure} < {low - 8}"), (f"{measure} <= {low}", f"{measure} > {low + 3}"),
        (f"{measure} in {low}..{low + 25}", f"{measure} not in {low - 5}..{low + 30}"), (f"value not in {low}..{low + 25}", None),
        ("/lamp = true", "/lamp = false"), ("/lamp missing", "/lamp exists"), ('text contains "cat"', 'text not contains "cat"'),
        ('/t = "gone"', '/t != "gone"'),
        ("value = down", "value = ok") if source == "job" else ("band != good", "band = good") if source == "rooms" else ("value >= 40", "value < 40")))
    if source == "stdin":
        return data, dice.choice(((f"silent {span(dice)}", None), ("fails", None)))
    over, limit = dice.choice((1, 3)), dice.choice((5, 20, 50))
    return data, dice.choice((
        ("status = 200", "status != 200"), ("status != 200", "status = 200"), (f"ms > {over}", f"ms < {over}"),
        ("fails", None), (f"fails {dice.choice(('status', 'timeout', 'not_json', 'closed', 'rate_limited'))}", None),
        (f"silent {span(dice)}", None), (f"errors over {over}s > {limit}%", f"errors over {over}s < {limit}%"),
        (f"p50 over 1s > {over}ms", f"p50 over 1s < {over}ms")))


def condition(dice):
    source = dice.choice(list(SERIES))
    is_of_answers = dice.random() < 0.4
    test, opposite = tests(dice, source)[is_of_answers]
    subject = source if is_of_answers else "job*" if source == "job" and dice.random() < 0.3 else dice.choice(SERIES[source])
    line = dice.choice(("", "", "", "any ", "all ")) + f"{subject} {test}"
    if dice.random() < 0.2:
        line += " and " + tests(dice, source)[not is_of_answers][0]
    if dice.random() < 0.5:
        line += f" for {span(dice)}"
    # Both may hold.
    if dice.random() < 0.1:
        opposite = tests(dice, source)[not is_of_answers][0]
    if opposite and dice.random() < 0.5:
        line += f" until {opposite}" + dice.choice(("", f" for {span(dice)}"))
    return line


def sources(dice, address, has_times):
    """Other periods each time, and one source that comes and goes."""
    def source(name, **keys):
        period = f"{dice.choice((50, 70, 100, 150, 200))}ms"
        return {"url": f"{address}/{name}", "every": period, "timeout": "150ms", "retry_most": "100ms", "value": "/v", "text": "/t"} | keys

    stdin = {"name": "stdin", "kind": "stdin", "key": "/k", "value": "/v", "text": "/t"} | ({"time": "/at"} if has_times else {})
    return [source("rooms", items="/rooms", key="/k", bands="cpcb"), source("load"),
            source("job", value="/state", states=["ok", "busy", "down"]), stdin] + [source("spare")] * (dice.random() < 0.5)


# Runs.


class Clock:
    """The wall clock of the agents of a seed, which may be set."""

    def __init__(self, folder):
        self.path, self.ahead = folder / "clock", 0.0
        self.set(0)

    def set(self, step):
        """Sets it forward by so many seconds, if that can be done; returns whether it can."""
        self.ahead += step if LIBRARY else 0
        # Replaced at once, as it is read at each look at the clock.
        new = self.path.with_suffix(".new")
        new.write_text(f"{self.ahead:+.6f}\n")
        new.rename(self.path)
        return LIBRARY is not None

    @property
    def settings(self):
        if not LIBRARY:
            return ()
        return (f"LD_PRELOAD={LIBRARY}", f"FAKETIME_TIMESTAMP_FILE={self.path}", "FAKETIME_NO_CACHE=1",
                "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1")

    @staticmethod
    def tidy_up(pid):
        """Removes what libfaketime leaves of a process that was killed."""
        for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
            pathlib.Path("/dev/shm", name).unlink(missing_ok=True)


class Watcher(journal_trials.Agent):
    """An agent that is told everything by a file, and fed on its standard input."""

    def __init__(self, catwatch, journal, file, *, clock, has_times, dice):
        self.has_times, self.clock, self.dice = has_times, clock, random.Random(dice.random())
        self.walks = Walks(self.dice)
        # libfaketime moves the environment, where Swift looks for the arguments: with it there are none.
        super().__init__(
            catwatch, journal, rate=1, sources=(), prefix=("env", f"CATWATCH_CONFIG={file}", *clock.settings))

    def collect(self):
        super().collect()
        self.clock.tidy_up(self.process.pid)

    def feed(self, rate):
        with contextlib.suppress(OSError, ValueError):
            while True:
                self.process.stdin.write(b"".join(self.random_line() for _ in range(self.dice.choice((1, 1, 1, 2, 5)))))
                time.sleep(self.dice.choice((0.002, 0.01, 0.03, 0.1, 0.1, 0.3)))

    def random_line(self):
        if self.dice.random() < 0.03:
            return b"{no line\n"
        event = self.walks.event(self.dice.choice("abc"))
        if self.has_times:
            # More than a window ahead counts as now.
            late = self.dice.uniform(-1.5, 2.5) if self.dice.random() < 0.2 else self.dice.uniform(0, 0.1)
            moment = time.time() + self.clock.ahead - late
            event["at"] = datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).isoformat()
        return json.dumps(event).encode() + b"\n"


def step(dice, most=None):
    """By how many seconds the clock is set: seconds, minutes or hours, forward by at most `most`."""
    seconds = dice.choice((dice.uniform(0.6, 5), dice.uniform(5, 90), dice.uniform(90, 900), dice.uniform(3_600, 20_000)))
    return min(seconds, most or seconds) if dice.random() < 0.5 else -seconds


def trial(catwatch, folder, seed, options):
    """Writes a journal and checks it; returns whether it gives the same alerts, what was done, and what the program says."""
    dice = random.Random(seed)
    journal, file, clock = folder / "journal", folder / "catwatch.jsonc", Clock(folder)
    has_kills = seed % 3 == 0 and "kills" in options.also
    has_times = dice.random() < 0.33 and "times" in options.also
    count, seen, stopped = collections.Counter(), {}, 0
    with served(dice) as address:
        settings = {
            "output": "ndjson", "interval": "1s", "journal": str(journal), "journal_commit": dice.choice(("10ms", "100ms")),
            "alerts": [{"name": f"c{number}", "when": [condition(dice) for _ in range(dice.choice((1, 1, 1, 1, 2)))]}
                       for number in range(dice.randint(10, 20))]}

        def configure():
            file.write_text(json.dumps(settings | {"sources": sources(dice, address, has_times)}, indent=1))

        for number in range(runs := dice.randint(3, 5)):
            configure()
            with journal_trials.started(
                    catwatch, journal, file, clock=clock, has_times=has_times, dice=dice, new=Watcher) as agent:
                agent.wait_for("its first line", lambda: agent.restart)
                for _ in range(dice.randint(1, 4)):
                    time.sleep(dice.uniform(0.1, 0.8))
                    if dice.random() < 0.5:
                        count["steps in runs"] += clock.set(step(dice))
                    if dice.random() < 0.2 and "reloads" in options.also:
                        configure()
                        agent.process.send_signal(signal.SIGHUP)
                        count["reloads"] += 1
                time.sleep(dice.uniform(0.02, 0.5))
                if has_kills and (dice.random() < 0.6 or number == 0):
                    agent.kill()
                    count["kills"] += 1
                    seen[agent.run] = agent.lines[-1][0]
                else:
                    agent.stop()
            if number < runs - 1:
                if dice.random() < 0.4:
                    ahead = step(dice, LONGEST_STOP - stopped)
                    stopped += max(0, ahead)
                    count["between them"] += clock.set(ahead)
                time.sleep(dice.choice((0, 0.2, dice.uniform(0.1, 1))))
    with contextlib.closing(journal_file.opened(journal)) as connection:
        kept = {name: journal_file.last(connection, number, base) for name, number, base in journal_file.runs(connection)}
        for kind in ("clock", "alert"):
            count[f"{kind} lines"] = connection.execute("SELECT count(*) FROM lines WHERE type = ?", (kind,)).fetchone()[0]
    # The step right before a stop, and those behind the last line before a kill, may not be told.
    need(count["clock lines"] >= count["steps in runs"] - runs, f"seed {seed}: {count['clock lines']} clock lines of {dict(count)}")
    check = subprocess.run(
        [catwatch, "check", "-c", file, "--against", journal, "--same", "--format", "ndjson"], capture_output=True, text=True)
    same = re.search(r"are the same: (\d+)", check.stderr)
    count["lines lost"] = sum(max(0, last - kept.get(run, 0)) for run, last in seen.items())
    count["runs"], count["episodes"] = runs, check.stdout.count("\n")
    count["compared"] = int(same[1]) if same else 0
    said = ", ".join(f"{count[name]} {name}" for name in SAID) + f", exit {check.returncode}"
    return check.returncode == 0 and count["compared"] > 0, count, f"seed {seed}: {said}", check.stderr


SAID = ("runs", "reloads", "kills", "lines lost", "steps in runs", "between them", "clock lines", "alert lines", "episodes", "compared")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("catwatch", type=os.path.abspath)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--first", type=int, default=1)
    # They mostly wait.
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--also", action="append", default=[], choices=["reloads", "kills", "times"])
    options = parser.parse_args()
    options.seeds = options.seeds or (50 if options.long else 4)
    if not LIBRARY:
        print("the clock is not set: libfaketime is missing (Debian package faketime)")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="catwatch-trial-"))
    total, groups = collections.Counter(), collections.Counter()

    def one(seed):
        place = folder / str(seed)
        place.mkdir()
        try:
            return seed, *trial(options.catwatch, place, seed, options)
        except Wrong as error:
            return seed, False, collections.Counter(), f"seed {seed}: {error}", ""

    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        for seed, is_same, count, text, said in pool.map(one, range(options.first, options.first + options.seeds)):
            print(text, flush=True)
            total.update(count)
            groups["with kills" if count["kills"] else "without kills", is_same] += 1
            if is_same:
                shutil.rmtree(folder / str(seed))
            else:
                print(f"{said}the files are in {folder / str(seed)}", flush=True)
    print(", ".join(f"{total[name]} {name}" for name in SAID))
    for group in ("without kills", "with kills"):
        print(f"{group}: {groups[group, True]} seeds with the same alerts, {groups[group, False]} with others")
    if groups["without kills", False]:
        sys.exit(1)
    with contextlib.suppress(OSError):
        folder.rmdir()


if __name__ == "__main__":
    main()
