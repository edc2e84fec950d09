#!/usr/bin/env python3
"""Has a fleet read agents that are ended and begun anew, and looks whether all they said is there once and in order.

usage: fleet_trials.py CATWATCH TRIAL [--agents N]

term    each agent is ended (SIGTERM) once and begun anew; half of them are read by their sockets, half by HTTP,
        and half of each have a journal
kill    each agent has a journal, and is killed (SIGKILL) once, some of them while the fleet is away: that has a journal too,
        and is killed and begun anew. What the agents' journals had is in the fleet's, and lines of some time can be had of it

What a killed agent said beyond its journal counts as said by nobody. Prints what it did; exits 1 at the first thing that is
wrong, and keeps the files then.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

PATIENCE = 60


class Wrong(Exception):
    """Something that was promised is not so."""


def need(condition, message):
    if not condition:
        raise Wrong(message)


def wait_for(what, condition):
    limit = time.monotonic() + PATIENCE
    while not (value := condition()):
        need(time.monotonic() < limit, f"waited in vain for {what}")
        time.sleep(0.05)
    return value


def free_address():
    """A host and port for one after the other; nobody else looks for a port of that host in between."""
    host = f"127.{os.getpid() >> 14 & 127 | 128}.{os.getpid() >> 7 & 127}.{os.getpid() & 127 | 128}"
    with socket.socket() as own:
        own.bind((host, 0))
        return f"{host}:{own.getsockname()[1]}"


class Program:
    """A catwatch whose lines go to a file."""

    def __init__(self, catwatch, output, *arguments, fed=False):
        self.output = output
        with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
            self.process = subprocess.Popen(
                [catwatch, *arguments, "-o", "ndjson", "-q", "--interval", "2s"],
                stdin=subprocess.PIPE if fed else subprocess.DEVNULL, stdout=out, stderr=err)

    def lines(self):
        whole = self.output.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.split(b"\n") if line]

    def end(self, number):
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        need(status in (0, -signal.SIGKILL), f"{self.output.name} ended with {status}: {self.errors()}")

    def errors(self):
        return self.output.with_suffix(".err").read_text(errors="replace")


class Agent:
    """One that is fed on its standard input, in one life after the other."""

    def __init__(self, catwatch, folder, number, has_journal):
        self.catwatch, self.folder, self.name = catwatch, folder, f"m{number}"
        if number % 2:
            address = free_address()
            self.url, place = f"http://{address}", f"--http={address}"
        else:
            self.url, place = f"unix:{folder}/{self.name}.sock", f"--listen={folder}/{self.name}.sock"
        self.arguments = ["-", place]
        if has_journal:
            self.arguments += [f"--journal={folder}/{self.name}.db", "--journal-commit=100ms"]
        self.lives, self.fed = [], 0
        self.begin()

    def begin(self):
        output = self.folder / f"{self.name}-{len(self.lives)}.ndjson"
        self.lives.append(Program(self.catwatch, output, *self.arguments, fed=True))

    def feed(self, count):
        text = "".join(f'{{"value":{n}}}\n' for n in range(self.fed, self.fed + count))
        self.fed += count
        with contextlib.suppress(OSError):
            self.lives[-1].process.stdin.write(text.encode())
            self.lives[-1].process.stdin.flush()

    def end(self, number):
        self.lives[-1].end(number)
        with contextlib.suppress(OSError):
            self.lives[-1].process.stdin.close()

    def truth(self):
        """By runs: the numbers that have to be in the fleet's feed, and how many at the least were fed."""
        said = collections.OrderedDict()
        lives = [life.lines() for life in self.lives]
        for index, lines in enumerate(lives):
            last = float("inf")
            if self.lives[index].process.returncode == -signal.SIGKILL:
                restart = next(line for line in lives[index + 1] if line["type"] == "restart")
                need(restart["last_run"] == lines[0]["run"], f"{self.name} forgets a run")
                last = restart["last_seq"]
                need(last > 0, f"{self.name} has nothing in its journal")
            said[lines[0]["run"]] = {
                line["seq"] for line in lines if "seq" in line and line["seq"] <= last and line["type"] != "window"}
        return said


class Feeder(threading.Thread):
    """Has all agents say something, until it is stopped."""

    def __init__(self, agents):
        super().__init__(daemon=True)
        self.agents, self.lock, self.is_over = agents, threading.Lock(), False
        self.start()

    def run(self):
        while not self.is_over:
            for agent in self.agents:
                with self.lock:
                    agent.feed(3)
            time.sleep(0.2)

    def stop(self):
        self.is_over = True
        self.join(PATIENCE)


def check(agents, lines):
    """Each line of every agent once and in order, and nothing lost; the lines of the fleet's own, in their order."""
    seen = collections.defaultdict(list)
    for line in lines:
        need(line["type"] != "lost", f"something is lost: {line}")
        if "origin_seq" in line:
            need(line["source"].startswith(line["agent"] + "."), f"whose is {line}")
            seen[line["agent"], line["origin_run"]].append(line["origin_seq"])
    total = 0
    for agent in agents:
        for life, (run, numbers) in enumerate(agent.truth().items()):
            had = seen.pop((agent.name, run), [])
            need(all(a < b for a, b in zip(had, had[1:])), f"{agent.name}, life {life}: out of order, or twice")
            missing = sorted(numbers - set(had))
            need(not missing, f"{agent.name}, life {life}: {len(missing)} of {len(numbers)} are missing: {missing[:9]}")
            total += len(numbers)
    need(not seen, f"somebody else's lines: {list(seen)[:5]}")
    return total


def count_of(fleet, agent):
    """How many lines of an agent a fleet has said so far, and what it says of it last."""
    marker = f'"agent":"{agent.name}","origin_run"'.encode()
    return fleet.output.read_bytes().count(marker)


def begin(catwatch, folder, agents, *more):
    sources = [{"kind": "feed", "name": agent.name, "url": agent.url} for agent in agents]
    configuration = folder / "fleet.json"
    configuration.write_text(json.dumps({"sources": sources}))
    output = folder / f"fleet-{len(list(folder.glob('fleet-*.ndjson')))}.ndjson"
    return Program(catwatch, output, "-c", str(configuration), *more)


def wait_until_read(fleet, agents):
    """Until the fleet has the last line of every agent, which has ended."""
    def is_behind(agent):
        last = max((line.get("seq", 0) for line in agent.lives[-1].lines() if line["type"] != "window"), default=0)
        run = agent.lives[-1].lines()[0]["run"]
        return f'"origin_run":"{run}","origin_seq":{last}}}'.encode() not in fleet.output.read_bytes()

    behind = list(agents)
    limit = time.monotonic() + PATIENCE
    while behind := [agent for agent in behind if is_behind(agent)]:
        need(time.monotonic() < limit, f"waited in vain for the last lines of {[agent.name for agent in behind]}")
        time.sleep(0.2)


def term(catwatch, folder, count):
    agents = [Agent(catwatch, folder, number, has_journal=number % 4 > 1) for number in range(count)]
    for agent in agents:
        wait_for(f"{agent.name}'s first line", lambda agent=agent: agent.lives[0].lines())
    fleet = begin(catwatch, folder, agents)
    feeder = Feeder(agents)
    for agent in agents:
        wait_for(f"lines of {agent.name}", lambda agent=agent: count_of(fleet, agent) > 3)
    for agent in agents:
        with feeder.lock:
            agent.end(signal.SIGTERM)
            agent.begin()
    for agent in agents:
        wait_for(f"{agent.name}'s second life", lambda agent=agent: len(agent.lives[1].lines()) > 5)
        before = count_of(fleet, agent)
        wait_for(f"more lines of {agent.name}", lambda agent=agent, before=before: count_of(fleet, agent) > before)
    feeder.stop()
    for agent in agents:
        agent.end(signal.SIGTERM)
    wait_until_read(fleet, agents)
    fleet.end(signal.SIGTERM)
    lines = fleet.lines()
    numbers = [line["seq"] for line in lines if "seq" in line]
    need(numbers == list(range(1, len(numbers) + 1)), "the fleet's own numbers have holes")
    need(lines[0].get("fleet") is True, f"the fleet begins with {lines[0]}")
    validate(fleet.output)
    return check(agents, lines)


def journal(folder):
    """The lines of a fleet's journal, run by run."""
    result = subprocess.run(
        [CATWATCH, "log", str(folder / "fleet.db"), "--format", "ndjson"], capture_output=True, timeout=PATIENCE, check=True)
    return [json.loads(line) for line in result.stdout.split(b"\n") if line]


def validate(output):
    """Whether each line is as the format says."""
    checker = pathlib.Path(__file__).with_name("validate_lines.py")
    with output.open("rb") as lines:
        result = subprocess.run([sys.executable, checker], stdin=lines, capture_output=True, timeout=PATIENCE)
    need(result.returncode == 0, f"{output.name}: {result.stderr.decode()[-2000:]}")


def past(address, start, end):
    query = urllib.parse.urlencode({"from": start, "until": end})
    with urllib.request.urlopen(f"http://{address}/feed?{query}", timeout=PATIENCE) as answer:
        return [json.loads(line) for line in answer.read().split(b"\n") if line]


def kill(catwatch, folder, count):
    agents = [Agent(catwatch, folder, number, has_journal=True) for number in range(count)]
    for agent in agents:
        wait_for(f"{agent.name}'s first line", lambda agent=agent: agent.lives[0].lines())
    address = free_address()
    options = [f"--journal={folder}/fleet.db", "--journal-commit=100ms", f"--http={address}"]
    first = begin(catwatch, folder, agents, *options)
    feeder = Feeder(agents)
    for agent in agents:
        wait_for(f"lines of {agent.name}", lambda agent=agent: count_of(first, agent) > 3)

    def restart(some):
        for agent in some:
            with feeder.lock:
                agent.end(signal.SIGKILL)
                agent.begin()

    restart(agents[:count // 2])
    time.sleep(1)
    first.end(signal.SIGKILL)
    restart(agents[count // 2:])
    for agent in agents:
        wait_for(f"{agent.name}'s second life", lambda agent=agent: len(agent.lives[1].lines()) > 5)
    second = begin(catwatch, folder, agents, *options)
    for agent in agents:
        wait_for(f"lines of {agent.name}", lambda agent=agent: count_of(second, agent) > 3)
    # The past is asked for by whole seconds, of which this run has to have begun one before.
    time.sleep(1)
    feeder.stop()
    for agent in agents:
        agent.end(signal.SIGTERM)
    wait_until_read(second, agents)
    # What it has, it gives: across its own two runs, the rest of which is in no log any more.
    lines = second.lines()
    end = max(line["time"] for line in lines if "seq" in line)
    told = past(address, "2020-01-01T00:00:00Z", end[:19] + "Z")
    second.end(signal.SIGTERM)
    kept = [line for line in journal(folder) if "seq" in line]
    early = [line for line in kept if "agent" not in line or line["time"][:19] < end[:19]]
    had = {(line["agent"], line["origin_run"], line["origin_seq"]) for line in told if "origin_seq" in line}
    want = {(line["agent"], line["origin_run"], line["origin_seq"]) for line in early if "origin_seq" in line}
    need(want and want <= had, f"of {len(want)} lines the past lacks {len(want - had)}")
    runs = [line["run"] for line in told if line["type"] == "hello"]
    need(len(set(runs)) == 2, f"the past has the runs {runs}")
    return check(agents, kept)


def main():
    global CATWATCH
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catwatch")
    parser.add_argument("trial", choices=["term", "kill"])
    parser.add_argument("--agents", type=int, default=20)
    asked = parser.parse_args()
    CATWATCH = asked.catwatch
    folder = pathlib.Path(tempfile.mkdtemp(prefix="catwatch-fleet-"))
    begun, programs = time.monotonic(), []
    made = Program.__init__

    def remembered(self, *arguments, **more):
        made(self, *arguments, **more)
        programs.append(self.process)

    Program.__init__ = remembered
    try:
        total = {"term": term, "kill": kill}[asked.trial](asked.catwatch, folder, asked.agents)
        print(f"{asked.trial}: {asked.agents} agents, {total} lines, all there once: {time.monotonic() - begun:.1f} s")
        shutil.rmtree(folder)
    except Wrong as fault:
        print(f"{asked.trial}: {fault}\nthe files are in {folder}")
        sys.exit(1)
    finally:
        for process in programs:
            if process.poll() is None:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
