#!/usr/bin/env python3
"""Has a fleet read what agents publish to real servers of NATS, does to them what happens to servers, and looks at what the fleet
says (docs/fleet.md).

usage: nats_fleet_trials.py CATWATCH TRIAL [--long]

fleet     three servers, 5 agents; whichever server leads is killed, 2 times (20 by --long): every line once and in order per agent
anew      the stream is emptied, deleted and made anew: another one is said to be so, and reading goes on
restart   the fleet is killed 3 times: with a journal nothing is missing and nothing there twice; an agent that is gone is seen
hostile   subjects, messages and lines as no agent has them: one error each, and everything else is there
times     an hour's backlog and a clock that is ten minutes slow: the windows that live lines have
reader    `catwatch nats permissions` lets a fleet read and nothing else; check --online says what is missing
ready     /readyz of a fleet by NATS, by a socket and by HTTP, and what becomes of that when something else than an agent speaks there
asked     polls by HTTP of agents at a socket, at a port and behind a broker, and who is forgotten when it is asked for

Prints what it did; exits 1 at the first thing that is wrong, and keeps the files.
"""

import asyncio
import collections
import datetime
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import nats
import nkeys

from nats_servers import (
    PATIENCE, PREFIX, STREAM, Agent, configuration, key_pair, make_stream, need, request, run_trial, servers,
    stream_information, telling, wait_for)
from nats_trials import Generator, secret, urls


def page_port(said):
    """Which port a program has chosen, that says so on its standard error."""
    start = "the page is at http://127.0.0.1:"
    text = wait_for("the page", lambda: start in said() and said())
    return int(text.split(start)[1].split("/")[0])


class Fleet:
    """A catwatch that reads a stream, and its own lines."""

    def __init__(self, catwatch, folder, addresses, *options, source=None, history="2m"):
        path = pathlib.Path(folder) / f"fleet-{time.monotonic_ns()}.jsonc"
        entry = {"kind": "feed", "name": "nats", "url": ",".join(addresses), **(source or {})}
        path.write_text(json.dumps({"sources": [entry]}))
        self.configuration = path
        self.output = open(str(path) + ".ndjson", "w+b")
        self.errors = open(str(path) + ".stderr", "w+b")
        self.process = subprocess.Popen(
            [catwatch, "-c", path, "-o", "ndjson", "-i", "1", "--history", history, *options],
            stdin=subprocess.DEVNULL,
            # Of their own: what is read here would move the place that is written at.
            stdout=open(self.output.name, "ab"), stderr=open(self.errors.name, "ab"),
            env={"PATH": os.environ["PATH"], "HOME": str(folder)})
        self.read, self.place = [], 0
        Agent.started.append(self)

    def lines(self):
        need(self.process.poll() in (None, 0, -9), f"the fleet has ended: {self.said()}")
        self.output.seek(self.place)
        text = self.output.read()
        end = text.rfind(b"\n") + 1
        self.place += end
        self.read += [json.loads(line) for line in text[:end].split(b"\n")[:-1]]
        return self.read

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode()

    def errors_of(self, *sources):
        return telling([line["message"] for line in self.lines()
                        if line["type"] == "error" and (not sources or line["source"] in sources)])

    def wait_for_error(self, *words):
        return wait_for(f"an error about {words}; there are {self.errors_of()}", lambda: [
            text for text in self.errors_of() if all(word in text for word in words)])

    def recovered(self):
        return [line for line in self.lines() if line["type"] == "recovered" and line["source"] == "nats"]

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=PATIENCE)
        return self.lines()

    def kill(self):
        self.process.kill()
        self.process.wait()
        return self.lines()


def taken(lines):
    """By agents and runs: which lines came, and which are said to be lost; each once, and in order."""
    came, lost, last = collections.defaultdict(set), collections.defaultdict(set), {}
    for line in lines:
        if "origin_run" not in line:
            continue
        key = (line["agent"], line["origin_run"])
        if line["type"] == "lost":
            numbers = range(line["from"], line["to"] + 1)
            lost[key] |= set(numbers)
        else:
            numbers = range(line["origin_seq"], line["origin_seq"] + 1)
            came[key] |= set(numbers)
        need(numbers[0] > last.get(key, 0), f"{key}: line {numbers[0]} behind {last.get(key)}")
        last[key] = numbers[-1]
    return came, lost


def expected(agent):
    """What a fleet gets of an agent: its run, and the numbers of its lines but windows, which are computed anew."""
    lines = agent.own_lines()
    run = next(line["run"] for line in lines if line["type"] == "hello")
    return run, {line["seq"] for line in lines if "seq" in line and line["type"] != "window"}


def has_all(lines, agents):
    came, _ = taken(lines)
    return all(wanted <= came[agent.name, run] for agent in agents for run, wanted in [expected(agent)])


def check_all(lines, agents):
    came, lost = taken(lines)
    need(not any(lost.values()), f"lines are lost: {dict(lost)}")
    total = 0
    for agent in agents:
        run, wanted = expected(agent)
        missing = sorted(wanted - came[agent.name, run])
        need(not missing, f"{agent.name}: {len(missing)} lines are missing without being lost, from {missing[:1]} on")
        need(came[agent.name, run] <= wanted, f"{agent.name}: lines that it never had")
        total += len(wanted)
    return total


def end_all(agents):
    for agent in agents:
        agent.process.stdin.close()
    for agent in agents:
        agent.process.wait(timeout=PATIENCE)


def fleet(catwatch, folder, long):
    kills = 20 if long else 2
    with servers(folder, 3) as all_of_them:
        make_stream(all_of_them[0].url, configuration(catwatch, replicas=3))
        reader = Fleet(catwatch, folder, urls(all_of_them))
        agents = [Agent(catwatch, folder, f"web{number}", urls(all_of_them), "-", stdin=True) for number in range(5)]
        generators = [Generator(agent, 200) for agent in agents]
        wait_for("the first lines", lambda: len({line.get("agent") for line in reader.lines()} - {None}) == 5)
        for number in range(kills):
            time.sleep(1)
            name = stream_information(all_of_them[0].url)["cluster"]["leader"]
            victim = next(one for one in all_of_them if one.name == name)
            victim.kill()
            seen = len(reader.lines())
            wait_for("lines after a kill", lambda: len([
                line for line in reader.lines()[seen:] if line.get("agent")]) > 500)
            victim.start()
        for generator in generators:
            generator.stop()
        end_all(agents)
        wait_for("all lines", lambda: has_all(reader.lines(), agents))
        lines = reader.end()
        total = check_all(lines, agents)
        texts = [line["message"] for line in lines if line["type"] == "error" and line["source"] == "nats"]
        need(len(texts) <= kills and len(reader.recovered()) == len(texts), f"errors: {texts}")
        own = [line for line in lines if line["type"] == "error" and line.get("agent") and "origin_seq" not in line]
        need(not own, f"errors of agents: {own[:1]}")
        print(f"fleet: {kills} kills, {total} lines of 5 agents, each once and in order; said: {texts}")


def anew(catwatch, folder, long):
    def api(verb, payload=b""):
        answer = asyncio.run(request(server.url, f"$JS.API.STREAM.{verb}.{STREAM}", payload))
        need("error" not in answer, f"{verb}: {answer}")

    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        reader = Fleet(catwatch, folder, [server.url])
        agent = Agent(catwatch, folder, "web1", [server.url], "--demo", "-e", "100ms")
        def newest():
            return max((line["origin_seq"] for line in reader.lines() if "origin_seq" in line), default=0)
        wait_for("lines", lambda: newest() > 20)
        api("PURGE")
        before = newest()
        wait_for("lines after it was emptied", lambda: newest() > before + 20)
        need(not reader.errors_of(), f"errors: {reader.errors_of()}")
        api("DELETE")
        text = reader.wait_for_error("no such stream")[0]
        make_stream(server.url, configuration(catwatch))
        wait_for("a recovery", reader.recovered)
        before = newest()
        wait_for("lines of the new stream", lambda: newest() > before + 20)
        # The servers go away altogether, and another stream is there when they are back.
        server.kill()
        reader.wait_for_error("no server is there")
        shutil.rmtree(server.folder / "store")
        server.start()
        make_stream(server.url, configuration(catwatch))
        wait_for("a recovery", lambda: len(reader.recovered()) >= 2)
        before = newest()
        wait_for("lines of the third stream", lambda: newest() > before + 20)
        agent.end()
        lines = reader.end()
        taken(lines)
        anew = [text for text in reader.errors_of("nats") if "made anew" in text]
        need(len(anew) == 2 and len(reader.errors_of("nats")) == 4, f"errors: {reader.errors_of('nats')}")
        print(f"anew: {text}; recovered")


def restart(catwatch, folder, long):
    journal = pathlib.Path(folder) / "fleet.db"
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        gone = Agent(catwatch, folder, "gone", [server.url], "-", stdin=True)
        gone.process.stdin.write(b"1\n2\n")
        end_all([gone])
        agents = [Agent(catwatch, folder, f"web{number}", [server.url], "-", stdin=True) for number in range(3)]
        generators = [Generator(agent, 300) for agent in agents]
        for number in range(3):
            # The second one finds no trace of what is gone in its own time.
            reader = Fleet(catwatch, folder, [server.url], "--journal", str(journal), "--journal-commit", "20ms",
                           history="1s" if number else "2m")
            wait_for("lines", lambda: len({line.get("agent") for line in reader.lines() if "origin_seq" in line}) >= 3)
            time.sleep(random.uniform(0.5, 1.5))
            reader.kill()
            time.sleep(1)
        for generator in generators:
            generator.stop()
        end_all(agents)

        def kept():
            run = subprocess.run([catwatch, "log", journal], check=True, capture_output=True)
            return [json.loads(line) for line in run.stdout.split(b"\n")[:-1]]
        reader = Fleet(catwatch, folder, [server.url], "--journal", str(journal), history="1s")
        wait_for("all lines", lambda: has_all(kept(), agents))
        reader.end()
        lines = kept()
        total = check_all(lines, agents + [gone])
        runs = {line["run"] for line in lines if line["type"] == "restart" and "run" in line and "agent" not in line}
        sources = {source["source"] for line in reader.lines() if line["type"] == "stats" for source in line["sources"]}
        need("gone.catwatch" in sources, f"an agent that is gone is not seen: {sources}")
        print(f"restart: 3 kills, {total} lines in the journal, each once; {len(runs)} restarts")


class Script:
    """An agent as somebody might write one."""

    def __init__(self, server, name, run="r1", clock=0):
        self.server, self.name, self.run, self.clock, self.number = server, name, run, clock, 0

    def hello(self, **more):
        return {"type": "hello", "time": text_of(time.time() + self.clock), "format": 1, "run": self.run,
                "first_seq": 1, "next_seq": 1} | more

    def line(self, value, at=None, source="s", series=None, **more):
        self.number += 1
        return {"seq": self.number, "time": text_of((time.time() + self.clock) if at is None else at), "type": source,
                "source": source, "series": series or source, "value": value} | more

    def message(self, lines, subject=None, headers=True, raw=None):
        data = raw if raw is not None else b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return subject or PREFIX + self.name, data, {"Catwatch-Run": self.run} if headers else None

    def send(self, lines=(), **options):
        publish(self.server, [self.message(lines, **options)])


def text_of(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def publish(server, messages):
    async def run():
        client = await nats.connect(server.url)
        stream = client.jetstream()
        for subject, data, headers in messages:
            await stream.publish(subject, data, headers=headers)
        await client.close()
    asyncio.run(run())


def hostile(catwatch, folder, long):
    with servers(folder, max_payload="8MB") as (server,):
        make_stream(server.url, configuration(catwatch, max_msg_size=4_000_000))
        reader = Fleet(catwatch, folder, [server.url])
        good, bad, late = Script(server, "good"), Script(server, "bad"), Script(server, "late")
        good.send([good.hello(), good.line(1)])
        nobody = ("we%b", "ünï", "x" * 64, "a\u202eb", "$(reboot)")
        for subject in nobody:
            good.send([good.hello()], subject=PREFIX + subject)
        bad.send([bad.hello(), bad.line(1), bad.line(2, source="s", series="other"), bad.line(3)])
        bad.send(raw=b"this is no line\n\x00\xff\n{}\n[1]\n\n" + b"[" * 100_000)
        bad.send(raw=b"\n" * 500_000)
        bad.send(raw=b'{"seq":' + b"9" * 1_200_000 + b"}\n")
        bad.send(raw=b"x" * 3_000_000)
        bad.send([bad.line(4)], headers=False)
        bad.send([bad.line(5, agent="good", origin_run="r9", origin_seq=9)])
        late.send([late.hello(format=2), late.line(1)])
        late.send([late.line(2)])
        circle = Script(server, "circle")
        circle.send([circle.hello(fleet=True), circle.line(1)])
        circle.send([circle.line(2)])
        good.send([good.line(2)])
        for name in ("catwatch", "last"):
            good.send([good.line(3)], subject=PREFIX + name)
        wait_for("the last line", lambda: [line for line in reader.lines() if line.get("agent") == "last"])
        lines = reader.end()
        came, lost = taken(lines)
        need(came["good", "r1"] == {1, 2}, f"of good came {came['good', 'r1']}")
        need(came["bad", "r1"] == {1, 3, 5}, f"of bad came {came['bad', 'r1']}")
        need(lost["bad", "r1"] == {2, 4}, f"of bad is lost {lost['bad', 'r1']}")
        need(not came["circle", "r1"] and not came["late", "r1"], "a fleet, or what is newer, is a member")
        texts = reader.errors_of()
        need(len([text for text in texts if "names no agent" in text]) == len(nobody), f"not once for each name: {texts}")
        for words in ("a series that is not of its source", "bad sends what is no line of this version", "3000000 bytes",
                      "does not say of which run", "newer than this program", "a fleet itself",
                      "agent catwatch is not read, as no source may be called so"):
            need(len([text for text in texts if words in text]) == 1, f"{words} is not said once: {texts}")
        need(len(texts) == 7 + len(nobody), f"{len(texts)} errors: {texts}")
        need(all(line["agent"] != "good" or "origin_seq" not in line or line["origin_run"] == "r1"
                 for line in lines if "agent" in line), "in the name of another")
        print(f"hostile: {len(texts)} errors, each once")
        # Two sources with the same agents: the second one is refused each of them, in words.
        path = pathlib.Path(folder) / "twice.jsonc"
        both = [{"kind": "feed", "name": name, "url": server.url} for name in ("one", "two")]
        path.write_text(json.dumps({"sources": both + [{"kind": "stdin", "name": "bad.s"}]}))
        run = subprocess.run([catwatch, "-c", path, "-o", "ndjson", "-d", "2"], input=b"", capture_output=True,
                             env={"PATH": os.environ["PATH"], "HOME": str(folder)}, timeout=PATIENCE)
        lines = [json.loads(line) for line in run.stdout.split(b"\n")[:-1]]
        taken(lines)
        texts = [line["message"] for line in lines if line["type"] == "error" and line["source"] in ("one", "two")]
        need(len([text for text in texts if "agent good is not read, as that name is taken" in text]) == 1, f"{texts}")
        need(len([text for text in texts if "agent bad is not read" in text]) == 2, f"{texts}")


def times(catwatch, folder, long):
    """Windows of one second by each agent's own clock, against those that are computed here."""
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        now = int(time.time())
        hour = Script(server, "hour")
        slow = Script(server, "slow", clock=-600)
        moments = [now - 3_600 + step * 0.25 for step in range(4 * 3_600)]
        lines = [hour.line(step % 97, at=moment) for step, moment in enumerate(moments)]
        publish(server, [hour.message([hour.hello()] + lines[place:place + 400]) for place in range(0, len(lines), 400)])
        reader = Fleet(catwatch, folder, [server.url], "--log-bytes", "64MiB")
        values = []
        for step in range(20):
            line = slow.line(step)
            values.append((line["time"], step))
            slow.send([slow.hello(), line] if step == 0 else [line])
            time.sleep(0.2)
        last = lambda agent: [line for line in reader.lines() if line.get("agent") == agent and line["type"] == "window"]
        wait_for("windows", lambda: len(last("hour")) >= 3_600 and sum(line["count"] for line in last("slow")) == 20)
        reader.end()

        def windows(name):
            return {line["start"][:19]: (line["count"], line["min"], line["max"], round(line["mean"], 6)) for line in last(name)
                    if line["count"] and line["series"] == f"{name}.s"}

        def computed(pairs):
            of = collections.defaultdict(list)
            for moment, value in pairs:
                of[moment[:19]].append(value)
            return {key: (len(some), min(some), max(some), round(sum(some) / len(some), 6)) for key, some in of.items()}

        wanted = computed((text_of(moment), step % 97) for step, moment in enumerate(moments))
        got = windows("hour")
        need(got == wanted, f"hour: {[(key, got.get(key), wanted.get(key)) for key in wanted if got.get(key) != wanted[key]][:3]}")
        need(windows("slow") == computed(values), f"slow: {windows('slow')}, not {computed(values)}")
        need(not reader.errors_of(), f"errors: {reader.errors_of()}")
        print(f"times: {len(got)} windows of an hour's backlog, {len(windows('slow'))} of a slow clock, as live ones")


def reader(catwatch, folder, long):
    text = subprocess.run([catwatch, "nats", "permissions", "--agent-name", "web1"], check=True, capture_output=True,
                          text=True).stdout
    of_agent, of_reader = ("permissions" + part.split("\n# ")[0] for part in text.split("permissions")[1:3])
    permissions = {"boss": "", "web1": of_agent, "reader": of_reader,
                   "blind": f'permissions {{ publish: "$JS.API.STREAM.INFO.{STREAM}", subscribe: "_INBOX.catwatch-reader.>" }}'}
    seeds, users = {}, ""
    for name, text in permissions.items():
        user, seed = key_pair(nkeys.PREFIX_BYTE_USER)
        seeds[name] = secret(folder, f"{name}.nk", seed)
        users += f"{{ nkey: {user.public_key.decode()}, {text} }}\n"
    with servers(folder, more=f"authorization {{ users: [ {users} ] }}") as (server,):
        def check(who, *words, status=1, **more):
            path = pathlib.Path(folder) / "check.jsonc"
            entry = {"kind": "feed", "url": server.url, "nkey_file": seeds[who], **more}
            path.write_text(json.dumps({"sources": [entry]}))
            run = subprocess.run([catwatch, "check", "--online", "-c", path], capture_output=True, text=True, timeout=PATIENCE)
            need(run.returncode == status and all(word in run.stderr for word in words), f"check: {run.returncode}, {run.stderr}")
            print("reader: check says " + next(line for line in run.stderr.split("\n") if line.startswith("nats:")))

        boss = {"nkeys_seed": seeds["boss"]}
        check("reader", "no such stream")
        make_stream(server.url, configuration(catwatch), **boss)
        check("reader", "can be read", status=0)
        check("blind", "Permissions Violation")
        check("reader", "takes catwatch.v1.*, and not other.*", subject="other.*")
        agent = Agent(catwatch, folder, "web1", [server.url], "-", stdin=True, nats={"nkey_file": seeds["web1"]})
        one = Fleet(catwatch, folder, [server.url], source={"nkey_file": seeds["reader"]})
        other = Fleet(catwatch, folder, [server.url], source={"nkey_file": seeds["blind"]})
        for number in range(100):
            agent.process.stdin.write(b"%d\n" % number)
        end_all([agent])
        wait_for("all lines", lambda: has_all(one.lines(), [agent]))
        print(f"reader: {other.wait_for_error('Permissions Violation')[0]}")
        check_all(one.end(), [agent])
        need(not one.errors_of() and len(other.errors_of()) == 1, f"errors: {one.errors_of()}, {other.errors_of()}")
        other.end()


class JoinRefusal:
    """Something that is no agent, at a socket or a port."""

    def __init__(self, family, address, says):
        self.listener = socket.socket(family)
        self.listener.bind(address)
        self.listener.listen()
        self.address, self.says, self.heard = self.listener.getsockname(), says, 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                connection.sendall(self.says)
                self.heard += 1


def ready(catwatch, folder, long):
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))

        def readiness(one):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{page_port(one.said)}/readyz", timeout=PATIENCE) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                return error.code, json.load(error)

        # Without a message it is a stream that is read as well.
        quiet = Fleet(catwatch, folder, [server.url], f"--attach={server.url}", "--http=127.0.0.1:0")
        wait_for("an empty stream to be ready", lambda: readiness(quiet)[0] == 200)
        web = Agent(catwatch, folder, "web", [server.url], "--demo", "-e", "1s", f"--listen={folder}/web.sock", "--http=127.0.0.1:0")
        port = page_port(web.said)
        evil = JoinRefusal(socket.AF_UNIX, f"{folder}/evil.sock", b"hi\n")
        worse = JoinRefusal(socket.AF_INET, ("127.0.0.1", 0), b"HTTP/1.1 200 OK\r\n\r\nhi\n")
        ways = {"NATS": [f"--attach={server.url}"], "a socket": [f"--attach={folder}/web.sock", f"--attach={folder}/evil.sock"],
                "HTTP": [f"--attach=http://127.0.0.1:{port}", f"--attach=http://localhost:{worse.address[1]}"]}
        # One alone would be passed on.
        fleets = {way: Fleet(catwatch, folder, [server.url], *options, "--http=127.0.0.1:0") for way, options in ways.items()}

        fleets["an empty stream"] = quiet
        for way, one in fleets.items():
            wait_for(f"a fleet by {way} to be ready: {readiness(one)}", lambda: readiness(one)[0] == 200)
        script = Script(server, "evil")
        script.send(raw=b"hi", headers=False)
        script.send(raw=b"hi", headers=False, subject=PREFIX + "we%b")
        wait_for("what strangers said", lambda: evil.heard > 1 and worse.heard > 1)
        for way, one in fleets.items():
            wait_for(f"errors of a fleet by {way}", lambda: one.errors_of())
            # Somebody looked within the last second.
            time.sleep(1.1)
            status, body = readiness(one)
            need(status == 200 and body["ready"], f"by {way}: {status} {body}")
        for one in (quiet, fleets["NATS"]):
            own = [line for line in one.lines() if line["type"] == "error" and line["source"] == "evil.catwatch"]
            need(len(own) == 1 and own[0]["agent"] == "evil", f"errors: {one.errors_of()}")
            wait_for("that it is refused", lambda: [
                line for line in one.lines() if line["type"] == "peer" and line["agent"] == "evil" and line["state"] == "refused"])
            need(len(one.errors_of("nats")) == len(one.recovered()) == 1, f"errors: {one.errors_of('nats')}")
        for one in fleets.values():
            one.end()
        web.end()
        print(f"ready: fleets by {', '.join(fleets)}: 200 before and after")


def asked(catwatch, folder, long):
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        # Three windows without a line are silence, and a machine with much to do lets agents wait.
        rare = ("--demo", "-e", "1h", "-i", "60s")
        far_name = "127-0-0-1"
        agents = [Agent(catwatch, folder, "away", [server.url], *rare),
                  Agent(catwatch, folder, "near", [], *rare, f"--listen={folder}/near.sock"),
                  Agent(catwatch, folder, far_name, [], *rare, "--http=127.0.0.1:0")]
        far = f"http://127.0.0.1:{page_port(agents[2].said)}"
        # What is named here comes instead of what the configuration has.
        fleet = Fleet(catwatch, folder, [server.url], f"--attach={server.url}", f"--attach={folder}/near.sock", f"--attach={far}", "--http=127.0.0.1:0", f"--listen={folder}/fleet.sock")
        page = f"http://127.0.0.1:{page_port(fleet.said)}"

        def events(name):
            return [line for line in fleet.lines() if line["type"] == "fact" and line["source"] == f"{name}.fact"]

        def standing(name):
            return next((line["state"] for line in reversed(fleet.lines())
                         if line["type"] == "peer" and line["agent"] == name), None)

        def call(path, body=None):
            head = {"Content-Type": "application/json"}
            try:
                with urllib.request.urlopen(urllib.request.Request(
                        f"{page}{path}", body, head), timeout=PATIENCE) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()

        def forget(name):
            """Why not; nothing when it does."""
            with socket.socket(socket.AF_UNIX) as own:
                own.settimeout(PATIENCE)
                own.connect(f"{folder}/fleet.sock")
                # What is asked for last is answered; a request that is met is not.
                own.sendall(json.dumps({"forget": name}).encode() + b"\n" + b'{"types":["peer"]}\n')
                refusals, greetings = [], 0
                for line in own.makefile("rb"):
                    line = json.loads(line)
                    refusals += [line["message"]] if line["type"] == "error" and "seq" not in line else []
                    greetings += line["type"] == "hello"
                    if greetings == 2:
                        return refusals

        wait_for("all agents", lambda: all(standing(agent.name) == "live" and events(agent.name) for agent in agents))
        for name in ("near", far_name):
            before = len(events(name))
            need(call(f"/poll/{name}.fact", b"{}")[0] == 202, f"{name} is not polled")
            wait_for(f"another event of {name}", lambda: len(events(name)) > before)
        status, text = call("/poll/away.fact", b"{}")
        need(status == 400 and "comes by a broker" in text, f"a poll of who cannot be asked: {status} {text}")
        need(call("/poll/nobody.fact", b"{}")[0] == 404, "somebody unknown is polled")
        print(f"asked: two agents were polled; of the third: {text.strip()}")
        for name, words in (("away", "is live"), ("near", "is configured here"), ("nobody", "there is no agent")):
            refusals = forget(name)
            need(len(refusals) == 1 and words in refusals[0], f"forget {name}: {refusals}")
        need('agent="away"' in call("/metrics")[1], "the agent is not in /metrics")
        agents[0].end()
        wait_for("its end", lambda: standing("away") == "ended")
        need(forget("away") == [], "it is not forgotten")
        wait_for("that it is forgotten", lambda: standing("away") == "forgotten")
        need('catwatch_agent_up{agent="away"' not in call("/metrics")[1], "it is in /metrics")
        need("there is no agent" in forget("away")[0], "it is forgotten twice")
        # It comes back as itself.
        agents[0] = Agent(catwatch, folder, "away", [server.url], *rare)
        wait_for("it again", lambda: standing("away") == "live")
        for agent in agents:
            agent.end()
        need(not [line for line in fleet.end() if line["type"] == "lost"], "lines are lost")
        print("asked: one was forgotten, and came back")


if __name__ == "__main__":
    sys.exit(run_trial(__doc__, fleet, anew, restart, hostile, times, reader, ready, asked))
