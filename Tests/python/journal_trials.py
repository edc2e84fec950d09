#!/usr/bin/env python3
"""Does to a journal what machines do to it, and looks whether it keeps what it promises (docs/reliability.md).

usage: journal_trials.py CATWATCH TRIAL [--rounds N] [--seed S] [--long]

kill    an agent with some 5,000 events a second is killed (SIGKILL) at random moments, 40 times (1,000 by --long), and started again on what
        is left: what was durable is there, whole, once and in order, and `restart` says what is true
faults  reading, writing and syncing fail (EIO, ENOSPC, EINTR; by strace), and files may not grow (RLIMIT_FSIZE): watching
        goes on, one sentence says so, and afterwards every line is there or named in a gap
full    the same where the journal is in a tmpfs that has no room left

Prints what it did; exits 1 at the first thing that is wrong, with the seed that leads there again, and keeps the files.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import glob
import http.server
import itertools
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import journal_file
from journal_file import Wrong, need

# How long anything may take that is bound to happen.
PATIENCE = 90


def wait_for(what, condition):
    limit = time.monotonic() + PATIENCE
    while not (value := condition()):
        need(time.monotonic() < limit, f"waited in vain for {what}")
        time.sleep(0.005)
    return value


class Agent:
    """A catwatch with a journal, whose lines are collected, whole ones only; it is fed on its standard input, if at all."""

    def __init__(self, catwatch, journal, *options, rate=0, sources=("-",), prefix=(), prepare=None):
        self.process = subprocess.Popen(
            [*prefix, catwatch, *(sources if rate else ()), "-o", "ndjson", "--interval", "1s", "--journal", journal, *options],
            stdin=subprocess.PIPE if rate else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=prepare, bufsize=0)
        self.run = None
        self.lines = []  # the numbered ones, each with its number
        self.special = []  # of the types that say how things are
        self.durable, self.state = 0, None
        self.complaints = b""
        self.ending = None
        self.threads = [threading.Thread(target=self.read), threading.Thread(target=self.read_complaints)]
        if rate:
            self.threads.append(threading.Thread(target=self.feed, args=(rate,)))
        for thread in self.threads:
            thread.start()

    def feed(self, rate):
        begun, fed = time.monotonic(), 0
        with contextlib.suppress(OSError, ValueError):
            while True:
                due = int((time.monotonic() - begun) * rate) + 1
                self.process.stdin.write(b"".join(
                    b'{"value":%d,"text":"the cat of number %d sits on the mat"}\n' % (n, n) for n in range(fed, due)))
                fed = due
                time.sleep(0.004)

    def read(self):
        rest = b""
        while piece := self.process.stdout.read(1 << 16):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self.see(line)

    def see(self, line):
        if line.startswith(b'{"seq":'):
            self.lines.append((int(line[7:line.index(b",")]), line))
        if any(word in line for word in (b'"type":"agent"', b'"type":"restart"', b'"type":"error"',
                                         b'"type":"recovered"', b'"type":"hello"', b'"type":"bye"')):
            self.notice(json.loads(line))

    def notice(self, line):
        if line["type"] == "hello":
            self.run = line["run"]
        elif line["type"] == "bye":
            self.ending = line
        elif line["type"] == "agent":
            for output in line["outputs"]:
                if output["output"].startswith("journal:"):
                    self.durable = output["durable_seq"]
                    self.state = output["state"]
        self.special.append(line)

    def read_complaints(self):
        while piece := self.process.stderr.read(1 << 12):
            self.complaints += piece

    def said(self, kind):
        return [line for line in self.special if line["type"] == kind]

    @property
    def restart(self):
        return next(iter(self.said("restart")), None)

    def wait_for(self, what, condition):
        def looked_at():
            if value := condition():
                return value
            need(self.process.poll() is None, f"the agent has ended while waited for {what}: {self.complaints.decode()}")

        return wait_for(what, looked_at)

    def collect(self):
        """Reads on until there is nothing left."""
        self.process.wait(PATIENCE)
        for thread in self.threads:
            thread.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()

    def kill(self):
        self.process.kill()
        self.collect()

    def stop(self):
        self.process.terminate()
        self.collect()
        need(self.process.returncode == 0, f"the agent ended with {self.process.returncode}: {self.complaints.decode()}")

    def discard(self):
        if self.process.poll() is None:
            self.kill()


@contextlib.contextmanager
def started(*arguments, new=Agent, **options):
    agent = new(*arguments, **options)
    try:
        yield agent
    finally:
        agent.discard()



# Killed.


class Onlooker:
    """Reads the newest run in the file, as anybody may, every few milliseconds: what it has seen there is durable."""

    def __init__(self, journal):
        self.journal, self.over, self.run, self.last = journal, threading.Event(), None, 0
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        with contextlib.closing(journal_file.opened(self.journal)) as connection:
            while not self.over.wait(0.01):
                with contextlib.suppress(sqlite3.OperationalError):  # somebody's turn took too long
                    for name, number, base in journal_file.runs(connection)[-1:]:
                        last = journal_file.last(connection, number, base)
                        self.run, self.last = name, last

    def stop(self):
        self.over.set()
        self.thread.join()


class Ledger:
    """What is known of runs that were killed, held against the file once the next agent has opened it."""

    def __init__(self, journal):
        self.journal = journal
        self.waiting = []
        self.known = {}  # by run: hashes of the lines that a reader has seen, by number
        self.count = collections.Counter()

    def add(self, agent, onlooker):
        durable = agent.durable
        if onlooker and onlooker.run == agent.run:
            durable = max(durable, onlooker.last)
            self.count["runs whose file was seen"] += onlooker.last > 0
        self.count["runs with durable_seq"] += agent.durable > 0
        self.count["lines seen"] += len(agent.lines)
        self.waiting.append((agent, durable))

    def check(self, restart):
        """Looks at what has waited for it; `restart` is the line of the agent that has opened the file since."""
        with contextlib.closing(journal_file.opened(self.journal)) as connection:
            runs = {name: (number, base) for name, number, base in journal_file.runs(connection)}
            for agent, durable in self.waiting:
                last = self.check_run(connection, runs.get(agent.run), agent, durable)
                if last:
                    self.count["lines lost at most"] = max(self.count["lines lost at most"], len(agent.lines) - last)
            before = list(runs)[:-1] if list(runs)[-1:] == [restart["run"]] else list(runs)
            name = before[-1] if before else None
            need(restart.get("last_run") == name, f"restart says {restart} of a journal whose last run is {name}")
            if name:
                last = journal_file.last(connection, *runs[name])
                need(restart["last_seq"] == last, f"restart says {restart} of a run that ends at {last}")
        self.waiting = []

    def check_run(self, connection, place, agent, durable):
        if place is None:
            need(durable == 0, f"nothing is left of {agent.run}, of which {durable} lines were durable")
            return 0
        lines, gaps = journal_file.whole(connection, *place)
        last = max(lines, default=0)
        need(last >= durable, f"{agent.run} ends at {last}, and {durable} was durable")
        need(not gaps and (not lines or min(lines) == 1), f"{agent.run} has lines from {min(lines, default=0)}, gaps {gaps}")
        self.compare(agent, lines)
        self.known[agent.run] = {sequence: hash(line) for sequence, line in lines.items()}
        self.count["lines kept"] += len(lines)
        return last

    @staticmethod
    def compare(agent, lines):
        """Whether the lines in the file are those that came out."""
        for sequence, line in agent.lines:
            need(lines.get(sequence, line) == line, f"{agent.run}: line {sequence} is {lines.get(sequence)!r}, was {line!r}")

    def check_all(self):
        """All that is left at the end, once more."""
        with contextlib.closing(journal_file.opened(self.journal)) as connection:
            need(connection.execute("PRAGMA integrity_check").fetchall() == [(b"ok",)], "the file is corrupt")
            for name, number, base in journal_file.runs(connection):
                lines, _ = journal_file.whole(connection, number, base)
                for sequence, line in lines.items():
                    known = self.known.get(name, {}).get(sequence, hash(line))
                    need(known == hash(line), f"{name}: line {sequence} has changed since: {line!r}")
                self.count["lines in the end"] += len(lines)


def kill(catwatch, folder, rounds, dice):
    """Kills an agent again and again."""
    journal = folder / "journal"
    ledger = Ledger(journal)
    for number in range(rounds):
        # Now and then while it starts.
        limit = time.monotonic() + (dice.uniform(0.05, 0.4) if dice.random() < 0.9 else dice.uniform(0, 0.05))
        onlooker = None
        # Small enough that old lines are let go of as well.
        with contextlib.ExitStack() as stack:
            agent = stack.enter_context(started(catwatch, journal, "--journal-bytes", "16MiB", rate=5_000))
            while time.monotonic() < limit and not agent.restart:
                time.sleep(0.001)
            if agent.restart:
                onlooker = Onlooker(journal)
                stack.callback(onlooker.stop)
                ledger.check(agent.restart | {"run": agent.run})
            if number % 10 == 9:
                # Said once a second, in its middle.
                agent.wait_for("a durable_seq", lambda: agent.durable)
                time.sleep(dice.uniform(0, 0.1))
            time.sleep(max(0, limit - time.monotonic()))
            need(agent.process.poll() is None, f"the agent has ended by itself: {agent.complaints.decode()}")
            agent.kill()
        need(not agent.said("error"), f"an error was told: {agent.said('error')}")
        ledger.add(agent, onlooker)
    last = None
    for _ in range(2):
        with started(catwatch, journal, rate=5_000) as agent:
            agent.wait_for("its first line", lambda: agent.restart and len(agent.lines) > 100)
            ledger.check(agent.restart | {"run": agent.run})
            if last:
                need(agent.restart.get("ended") == "SIGTERM", f"restart says {agent.restart} of a run that ended by SIGTERM")
                need(agent.restart["last_seq"] == last["last_seq"], f"restart says {agent.restart} behind {last}")
            agent.stop()
        last = agent.ending
    ledger.check_all()
    return f"{rounds} kills; " + ", ".join(f"{value} {key}" for key, value in sorted(ledger.count.items()))


# Moved.


# Has the file open, and is in the middle of a SELECT for most of the time. Opened once: SQLite itself removes a log beside an empty
# file when it opens that.
HOLDER = """
import random, sqlite3, sys, time
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, isolation_level=None)
while True:
    try:
        rows = connection.execute("SELECT line FROM lines")
        rows.fetchone()
        time.sleep(random.uniform(0, 0.1))
        rows.close()
    except sqlite3.Error:
        time.sleep(0.05)
"""

# What a line begins with, which no other line of any run does.
BEGINNING = re.compile(rb'\{"seq":\d+,"time":"[^"]{27}"')


# Faults of the disk.


class Documents(http.server.BaseHTTPRequestHandler):
    """Large ones, so that the log is full within a second or two."""

    protocol_version = "HTTP/1.1"
    body = json.dumps({"value": 1, "text": "x", "rest": "cat " * 5_000}).encode()

    def handle(self):
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


class LeftOut(Exception):
    """Why something cannot be tried on this machine."""


def injecting(*faults):
    """Has system calls of an agent fail, by strace(1)."""

    def begin(agent):
        if not shutil.which("strace"):
            raise LeftOut("strace is not installed")
        calls = ",".join(fault.split(":")[0] for fault in faults)
        tracer = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", os.devnull, "-p", str(agent.process.pid), "-e", f"trace={calls}"]
            + [f"--inject={fault}" for fault in faults], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

        def is_attached():
            if tracer.poll() is not None:
                raise LeftOut(f"strace: {tracer.stderr.read().decode().strip()}")
            threads = glob.glob(f"/proc/{agent.process.pid}/task/*/status")
            return all("TracerPid:\t0\n" not in pathlib.Path(thread).read_text() for thread in threads)

        wait_for("strace", is_attached)

        def end():
            tracer.send_signal(signal.SIGINT)
            tracer.wait(PATIENCE)
            tracer.stderr.close()

        return end

    return begin


def limiting(agent):
    """Has the agent's files not grow: a write that goes over the end is cut short, further ones fail."""
    process = agent.process.pid
    size = max(os.path.getsize(path) for path in glob.glob(f"{agent.journal}*"))
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size + 5_000, resource.RLIM_INFINITY))
    return lambda: resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)


def filling(agent):
    """Leaves no room where the journal is."""
    filler = agent.journal.parent / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler.unlink


def endure(catwatch, folder, begin, options=(), is_told=True):
    """Has something go wrong with a journal for a while: watching goes on, it is said once, and nothing is lost silently."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Documents)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    journal = folder / "journal"
    url = f"http://127.0.0.1:{server.server_port}/cats"
    with started(catwatch, journal, "-u", url, "-e", "10ms", "--log-bytes", "1MiB", *options) as agent:
        agent.journal = journal
        agent.wait_for("durable lines", lambda: agent.durable > 20)
        end = begin(agent)

        def faults():
            return [line for line in agent.said("error") if line["code"] == "disk"]

        try:
            if is_told:
                agent.wait_for("a word about it", faults)
            begun = len(agent.lines)
            # Of 20 KB each: more than the log has.
            agent.wait_for("watching to go on", lambda: len(agent.lines) > begun + 250)
        finally:
            end()
        goal = agent.lines[-1][0]
        agent.wait_for("the journal to catch up", lambda: agent.durable >= goal and agent.state == "ok")
        agent.stop()
    server.shutdown()
    server.server_close()
    # Each outage once: where a new log of changes can be begun it may be over for a moment.
    told = [line.get("message", "recovered") for line in agent.special if line in faults() or line["type"] == "recovered"]
    # A fault is said once, another one of the same outage as well.
    once = all(before != after for before, after in itertools.pairwise(told))
    need(once and told[-1:] == ["recovered"] * bool(told) and bool(told) == is_told, f"says {told}")
    for fault in faults():
        need(str(journal) in fault["message"] and len(fault["message"]) < 400, f"says {fault['message']}")
        times = agent.complaints.decode().count(fault["message"])
        need(1 <= times <= len(faults()), f"stderr says {agent.complaints.decode()}")
    need(not list(folder.glob("journal.corrupt-*")), "it was moved aside")
    with contextlib.closing(sqlite3.connect(journal)) as connection:
        connection.text_factory = bytes
        need(connection.execute("PRAGMA integrity_check").fetchall() == [(b"ok",)], "the file is corrupt")
        (_, number, base), = journal_file.runs(connection)
        lines, gaps = journal_file.whole(connection, number, base)
    Ledger.compare(agent, lines)
    first, last = min(lines), max(max(lines), *(end for _, end in gaps), 0)
    need((first, last) == (1, agent.ending["last_seq"]), f"has {first} to {last} of {agent.ending}")
    return f"{len(lines)} lines, {sum(end - start + 1 for start, end in gaps)} named in {len(gaps)} gaps" + (
        f"; {faults()[0]['message'].replace(str(journal), 'FILE')}" if is_told else "")


FAULTS = {
    "writes fail": (injecting("pwrite64:error=EIO"), (), True),
    "writes find no room": (injecting("pwrite64:error=ENOSPC", "fallocate:error=ENOSPC"), (), True),
    # Over before strace leaves: a call that it is in the middle of then is one that the system does not know.
    "writes are interrupted": (injecting("pwrite64:error=EINTR:when=1..999+2"), (), False),
    "syncs fail": (injecting("fdatasync:error=EIO", "fsync:error=EIO"), ("--journal-sync", "full"), True),
    "some writes fail": (injecting("pwrite64:error=EIO:when=3+7"), (), True),
    "files may not grow": (limiting, (), True),
}


def faults(catwatch, folder, rounds, dice):
    """Each kind of fault of a disk, with an agent of its own."""

    def result(title):
        place = folder / title.replace(" ", "-")
        place.mkdir()
        try:
            return f"{title}: {endure(catwatch, place, *FAULTS[title])}"
        except LeftOut as reason:
            return f"{title}: left out, {reason}"
        except Wrong as error:
            raise Wrong(f"{title}: {error}") from None

    # They mostly wait.
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return "\n".join(pool.map(result, FAULTS))


def full(catwatch, folder, rounds, dice):
    """A tmpfs of its own that is full, in a namespace of its own, so that nothing of it is left."""
    if os.environ.get("CATWATCH_MOUNTED") != "1":
        # For root, and for who is not, where that is allowed.
        for flags in ("-m", "-rm"):
            if subprocess.run(["unshare", flags, "mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode == 0:
                trial = subprocess.run(
                    ["unshare", flags, sys.executable, __file__, catwatch, "full"], stdout=subprocess.PIPE, text=True,
                    env=os.environ | {"CATWATCH_MOUNTED": "1"})
                need(trial.returncode == 0, trial.stdout)
                return trial.stdout.strip()
        return "left out, nothing can be mounted here"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", folder], check=True)
    try:
        result = "a tmpfs is full: " + endure(catwatch, folder, filling)
        # Nor is there room for anything beside it, for who reads it.
        with contextlib.suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        log = subprocess.run([catwatch, "log", folder / "journal"], capture_output=True)
        need(log.returncode == 0 and log.stdout.count(b"\n") > 20, f"log ended with {log.returncode}: {log.stderr.decode()}")
        return result
    finally:
        subprocess.run(["umount", folder], check=True)


TRIALS = {"kill": (kill, 40, 1_000), "faults": (faults, 1, 1), "full": (full, 1, 1)}


def main(description=__doc__, trials=TRIALS):
    parser = argparse.ArgumentParser(usage=description.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("catwatch", type=os.path.abspath)
    parser.add_argument("trial", choices=trials)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    trial, short, long = trials[options.trial]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="catwatch-trial-"))
    rounds = options.rounds or (long if options.long else short)
    begun = time.monotonic()
    try:
        print(trial(options.catwatch, folder, rounds, random.Random(options.seed)))
    except Wrong as error:
        print(f"{pathlib.Path(sys.argv[0]).stem}: {options.trial} --rounds {rounds} --seed {options.seed}: {error}; the files are in {folder}",
              file=sys.stderr)
        sys.exit(1)
    print(f"{time.monotonic() - begun:.0f} s, seed {options.seed}", file=sys.stderr)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
