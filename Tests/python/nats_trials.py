#!/usr/bin/env python3
"""Publishes to real servers of NATS, does to them what happens to servers, and looks at what a consumer gets that uses nothing
of ours (docs/fleet.md).

usage: nats_trials.py CATWATCH TRIAL [--long]

leader    three servers; 5 agents with 1,000 lines/s each; whichever server leads is killed, 3 times (20 by --long), and nothing
          is stored for no longer than of a client that is nats.c and nothing else
cut       the same, but the agents' network is cut, and then all servers are stopped, for 5 s (60 by --long)
stopped   polls of agents whose server is stopped, away, or has no address, beside those of one that publishes nothing
overtaken the log is too small for that: what is missing is named
access    a token, an nkey, credentials; then wrong, expired, revoked and missing ones
tls       TLS of one's own authority; then of another one, of another host, without a certificate, and none
setup     JetStream off, no stream, another subject, max_payload less than a line: told in words, and by check --online
rights    `catwatch nats`: an agent with its permissions publishes as itself, and neither as another nor overhears one
names     two agents of one name: what both say is in the stream, and who reads it learns of the conflict
slow      answers take a second: at the end of an agent it says how many lines were not published
lines     each line a message that says where it comes from

Prints what it did; exits 1 at the first thing that is wrong, and keeps the files.
"""

import asyncio
import bisect
import functools
import json
import math
import os
import pathlib
import re
import shutil
import signal
import ssl
import statistics
import subprocess
import sys
import threading
import time

import nats

from nats_servers import (
    PREFIX, STREAM, Agent, Bare, Operator, Proxy, Reader, configuration, make_stream, need, request,
    run_trial, servers, stream_information, wait_for)

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "fleet"
sys.path.append(str(EXAMPLES))
from natsadmin import user_key  # noqa: E402


class Generator:
    """Writes so many lines a second to an agent's standard input."""

    def __init__(self, agent, rate, length=200):
        self.agent, self.rate, self.text = agent, rate, "x" * length
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        sent, begin = 0, time.monotonic()
        while not self.is_over.is_set():
            due = int((time.monotonic() - begin) * self.rate)
            lines = "".join(f'{{"n":{number},"text":"{self.text}"}}\n' for number in range(sent, due))
            try:
                self.agent.process.stdin.write(lines.encode())
                self.agent.process.stdin.flush()
            except BrokenPipeError:
                return
            sent = due
            time.sleep(0.02)

    def stop(self):
        self.is_over.set()
        self.thread.join(timeout=10)


def urls(all_of_them):
    return [one.url for one in all_of_them]


def start_five(catwatch, folder, all_of_them, room="64MiB"):
    """Agents, and who gives them 5,000 lines a second together."""
    agents = [Agent(catwatch, folder, f"web{number}", urls(all_of_them), "-", "--log-bytes", room, stdin=True)
              for number in range(5)]
    return agents, [Generator(agent, 1_000) for agent in agents]


def end_five(agents, generators, url, gaps_allowed=False):
    """Every line is there once and in order, or named by a gap; returns the reader, and how many there are."""
    for generator in generators:
        generator.stop()
    for agent in agents:
        agent.process.stdin.close()
        agent.process.wait(timeout=60)
    reader = Reader(url).read()
    total, named = 0, 0
    for agent in agents:
        kept, missed = reader.check(agent.name, gaps_allowed)
        numbered = [line for line in agent.own_lines() if "seq" in line]
        need(kept + len(missed) == len(numbered), f"{agent.name}: {kept} lines and {len(missed)} of {len(numbered)}")
        total += kept
        named += len(missed)
    return reader, total, named


def leader(catwatch, folder, long):
    with servers(folder, 3) as all_of_them:
        make_stream(all_of_them[0].url, configuration(catwatch, replicas=3))
        agents, generators = start_five(catwatch, folder, all_of_them)
        bare = Bare(urls(all_of_them), "bare")
        kills = []
        for number in range(20 if long else 3):
            time.sleep(2)
            name = wait_for("a leader", lambda: stream_information(all_of_them[0].url)["cluster"].get("leader"))
            victim = next(one for one in all_of_them if one.name == name)
            other = next(one for one in all_of_them if one is not victim)
            before = stream_information(other.url)["state"]["last_seq"]
            victim.kill()
            kills.append(time.time())
            # Who leads now has no more than was acknowledged, and a message more of each agent.
            wait_for("messages after a kill", lambda: stream_information(other.url)["state"]["last_seq"] > before + 10)
            victim.start()
        time.sleep(2)
        bare.stop()
        reader, total, _ = end_five(agents, generators, all_of_them[0].url)
        pauses, differences = [], []
        for since, until in zip(kills, kills[1:] + [time.time()]):
            of_bare = reader.pause("bare", since, until)
            pauses += [reader.pause(agent.name, since, until) for agent in agents]
            differences += [pause - of_bare for pause in pauses[-len(agents):]]
        typical = statistics.median(differences)
        print(f"leader: {len(kills)} kills, {total} lines of 5 agents, each once and in order; nothing was stored for "
              f"{min(pauses):.1f} to {max(pauses):.1f} s, {statistics.median(pauses):.1f} mostly; that is {typical:+.2f} s beside "
              f"a bare client (median of {len(differences)} pairs, {min(differences):+.1f} to {max(differences):+.1f})")
        # Few kills say less.
        need(typical <= (0.5 if long else 3), f"it went on {typical:.2f} s behind a bare client")


def cut(catwatch, folder, long):
    seconds = 60 if long else 5
    with servers(folder, 3) as all_of_them:
        make_stream(all_of_them[0].url, configuration(catwatch, replicas=3))
        networks = [Proxy(one.port) for one in all_of_them]
        agents, generators = start_five(catwatch, folder, networks, "8MiB" if long else "64MiB")

        def count():
            return stream_information(all_of_them[0].url)["state"]["last_seq"]

        wait_for("messages", lambda: count() > 10)
        for network in networks:
            network.cut()
        time.sleep(1)
        before = count()
        time.sleep(seconds)
        need(count() == before, "the network is not cut")
        for network in networks:
            network.mend()
        wait_for("messages after the network was cut", lambda: count() > before + 10)
        for one in all_of_them:
            one.signal(signal.SIGSTOP)
        time.sleep(seconds)
        for one in all_of_them:
            one.signal(signal.SIGCONT)
        for agent in agents:
            wait_for(f"what {agent.name} has yet to publish", lambda: agent.state() == "ok" and agent.publishing()["behind"] < 2_000)
        # The log bridges what it has room for.
        _, total, named = end_five(agents, generators, all_of_them[0].url, gaps_allowed=long)
        for network in networks:
            network.stop()
        print(f"cut: the network for {seconds} s, then all servers: {total} lines of 5 agents, each once and in order, "
              f"{named} more named by gaps")


def stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{time.time_ns() // 1000 % 1_000_000:06}Z"


def lateness(lines, marks):
    """How late polls were, the 99th percentile, from each mark to the next one."""
    late = [[] for _ in marks]
    for line in lines:
        if line["type"] == "latency" and marks[0] <= line["time"] < marks[-1]:
            late[bisect.bisect_right(marks, line["time"]) - 1].append(line["late_ms"])
    return [sorted(some)[len(some) * 99 // 100] if len(some) > 10 else None for some in late[:-1]]


def compare(what, lines, plain, marks):
    """Polls of two agents in the same half seconds: whatever else the machine does meets both."""
    pairs = [(one, other) for one, other in zip(lateness(lines, marks), lateness(plain, marks))
             if one is not None and other is not None]
    need(len(pairs) >= 8, f"too few polls while the server is {what}")
    differences = sorted(one - other for one, other in pairs)
    later = sum(one > 1 for one in differences)
    # That so many of them are later by chance, if at least half of all are not, is as likely as this.
    chance = sum(math.comb(len(pairs), number) for number in range(later, len(pairs) + 1)) / 2 ** len(pairs)
    text = (f"{what}: {statistics.median(differences):+.2f} ms ({differences[0]:+.1f} to {differences[-1]:+.1f}, "
            f"{len(pairs)} pairs; {statistics.median(other for _, other in pairs):.2f} ms without)")
    need(chance >= 0.001, f"polls are more than 1 ms later while the server is {text}")
    return text


def stopped(catwatch, folder, long):
    seconds = 30 if long else 5
    demo = ("--demo", "-e", "10ms")
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        agent = Agent(catwatch, folder, "web1", [server.url], *demo)
        lost = Agent(catwatch, folder, "web2", ["nats://no-such-host.invalid"], *demo)
        plain = Agent(catwatch, folder, "web3", None, *demo)
        for one in (agent, lost, plain):
            wait_for("polls", lambda: len(one.own_lines()) > 20)
        states = {}

        def spend(state):
            states[state] = []
            for _ in range(2 * seconds + 1):
                states[state].append(stamp())
                time.sleep(0.5)

        spend("there")
        server.signal(signal.SIGSTOP)
        spend("stopped")
        server.signal(signal.SIGCONT)
        server.kill()
        spend("away")
        server.start()
        wait_for("the state ok", lambda: agent.state() == "ok")
        need(lost.state().startswith("retrying"), f"the state of a server without an address is {lost.state()}")
        lines, unresolved, others = agent.end(), lost.end(), plain.end()
        kept, _ = Reader(server.url).read().check("web1")
        need(kept == len([line for line in lines if "seq" in line]), "lines are missing")
        need(any(line["type"] == "recovered" and line["source"] == "catwatch" for line in lines), "nothing recovered")
        lost.need_one_error()
        texts = [compare(state, lines, others, marks) for state, marks in states.items()]
        texts.append(compare("without an address", unresolved, others, sum(states.values(), [])))
        print(f"stopped: {kept} lines; p99 of late_ms in half seconds, beside an agent that publishes nothing, while the server "
              f"is {'; '.join(texts)}")


def overtaken(catwatch, folder, long):
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        agent = Agent(catwatch, folder, "web1", [server.url], "-", "--log-bytes", "1MiB", stdin=True)
        generator = Generator(agent, 3_000)
        time.sleep(1)
        server.kill()
        time.sleep(4)
        server.start()
        wait_for("the state ok", lambda: agent.state() == "ok")
        generator.stop()
        agent.process.stdin.close()
        agent.process.wait(timeout=60)
        kept, missed = Reader(server.url).read().check("web1", gaps_allowed=True)
        numbered = [line for line in agent.own_lines() if "seq" in line]
        need(missed, "the log was not overtaken, so the trial shows nothing")
        need(kept + len(missed) == len(numbered), "what is missing is not named")
        print(f"overtaken: {kept} lines, {len(missed)} more named by gaps")


def certificates(folder):
    subprocess.run(
        [EXAMPLES / "certificates.sh", folder, "server=IP:127.0.0.1,DNS:localhost", "client=DNS:client"],
        check=True, capture_output=True)
    return pathlib.Path(folder)


def secret(folder, name, text):
    path = pathlib.Path(folder) / name
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


def published(agent, url, **options):
    wait_for(f"lines of {agent.name}; it tells {agent.error_lines()}", lambda: agent.name in Reader(url, **options).read().agents())


DEMO = ("--demo", "-e", "100ms")


def prove(catwatch, folder, name, server, settings, url=None, expect=None, **options):
    """An agent is let in, or says why not, once."""
    agent = Agent(catwatch, folder, name, [url or server.url], *DEMO, nats=settings)
    if expect is None:
        published(agent, server.url, **options)
        need(not agent.error_lines(), f"errors of {name}: {agent.error_lines()}")
    else:
        texts = agent.wait_for_error(expect)
        time.sleep(0.5)
        agent.need_one_error()
        need(agent.own_lines()[-1]["type"] != "bye", "it has ended")
        print(f"{name}: {texts[0]}")
    lines = agent.end()
    said = agent.said() + json.dumps(lines)
    for word in ("sesame-open", "wrong-token", "SUA"):
        need(word not in said, f"{name} tells a secret")


def access(catwatch, folder, long):
    run = functools.partial(prove, catwatch, folder)
    # A token is sent as it is, so there is TLS, or it is not taken.
    keys = certificates(folder)
    section = f'tls {{ cert_file: "{keys}/server.pem", key_file: "{keys}/server.key" }}\n'
    with servers(folder, more=section + 'authorization { token: "sesame-open" }') as (server,):
        right = {"token": "sesame-open", "tls": ssl.create_default_context(cafile=f"{keys}/ca.pem")}
        trust = {"ca_file": f"{keys}/ca.pem"}
        token = {"token_file": secret(folder, "token", "sesame-open\n")}
        make_stream(server.url, configuration(catwatch), **right)
        run("token", server, trust | token, **right)
        run("wrong", server, trust | {"token_file": secret(folder, "wrong", "wrong-token\n")}, expect="refuses the credentials")
        run("none", server, trust, expect="refuses the credentials")
        bare = Agent(catwatch, folder, "bare", [server.url], *DEMO, nats=token)
        need(bare.process.wait(timeout=60) == 2 and "is sent as it is" in bare.said(), f"a token without TLS: {bare.said()}")
    shutil.rmtree(f"{folder}/n1")

    path, other = f"{folder}/user.nk", f"{folder}/other.nk"
    user_key(other)
    with servers(folder, more=f"authorization {{ users: [{{ nkey: {user_key(path)} }}] }}") as (server,):
        right = {"nkeys_seed": path}
        make_stream(server.url, configuration(catwatch), **right)
        run("nkey", server, {"nkey_file": path}, **right)
        # As tools write them, with what else there is to say.
        seed = pathlib.Path(path).read_text()
        run("noted", server, {"nkey_file": secret(folder, "noted.nk", f"# SURELY a user\n{user_key(path)}\n{seed}")}, **right)
        run("other", server, {"nkey_file": other}, expect="refuses the credentials")
        run("noseed", server, {"nkey_file": secret(folder, "no.nk", "hello")}, expect="holds no seed")
    shutil.rmtree(f"{folder}/n1")

    operator = Operator()
    with servers(folder, more=operator.configuration) as (server,):
        right = {"user_credentials": operator.creds(f"{folder}/right.creds")}
        make_stream(server.url, configuration(catwatch), **right)
        run("creds", server, {"creds_file": right["user_credentials"]}, **right)
        # One signature of 256 is none, and another one is made then.
        path = secret(folder, "check.jsonc", json.dumps({"nats": {"urls": [server.url], "creds_file": right["user_credentials"]}}))
        for _ in range(100):
            checks = [subprocess.Popen([catwatch, "check", "--online", "-c", path, "--demo", "--agent-name", "web1"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(4)]
            said = [one.communicate(timeout=60)[1] for one in checks]
            need(not any("refuses the credentials" in text for text in said), f"creds: refused: {said}")
        run("expired", server, {"creds_file": operator.creds(f"{folder}/late.creds", -10)}, expect="refuses the credentials")
        run("others", server, {"creds_file": Operator().creds(f"{folder}/others.creds")}, expect="refuses the credentials")
        # They expire in the middle; others in their place let it in again.
        brief = operator.creds(f"{folder}/brief.creds", 3)
        agent = Agent(catwatch, folder, "brief", [server.url], *DEMO, nats={"creds_file": brief})
        published(agent, server.url, **right)
        agent.wait_for_error("refuses the credentials")
        operator.creds(brief)
        wait_for("the state ok", lambda: any(line["type"] == "recovered" for line in agent.own_lines()))
        agent.end()
        agent.need_one_error()
        Reader(server.url, **right).read().check("brief")
        # Revoked while it is connected.
        path = operator.creds(f"{folder}/revoked.creds")
        agent = Agent(catwatch, folder, "revoked", [server.url], *DEMO, nats={"creds_file": path})
        published(agent, server.url, **right)
        operator.revoke(path)
        server.reload(operator.configuration)
        print(f"access: revoked: {agent.wait_for_error('refuses the credentials')[0]}")
        time.sleep(0.5)
        agent.need_one_error()
        need(agent.end()[-1]["type"] == "bye", "it did not go on")


def tls(catwatch, folder, long):
    run = functools.partial(prove, catwatch, folder)
    keys = certificates(folder)
    section = f'tls {{ cert_file: "{keys}/server.pem", key_file: "{keys}/server.key", ca_file: "{keys}/ca.pem", verify: true }}'
    with servers(folder, more=section) as (server,):
        context = ssl.create_default_context(cafile=f"{keys}/ca.pem")
        context.load_cert_chain(f"{keys}/client.pem", f"{keys}/client.key")
        right = {"tls": context}
        secure = server.url.replace("nats:", "tls:")
        trust = {"ca_file": f"{keys}/ca.pem"}
        proof = {"certificate": f"{keys}/client.pem", "key_file": f"{keys}/client.key"}
        make_stream(server.url, configuration(catwatch), **right)
        run("tls", server, trust | proof, secure, **right)
        run("byname", server, trust | proof, secure.replace("127.0.0.1", "localhost"), **right)
        # A server that asks for TLS gets it.
        run("plain", server, {}, expect="certificate")
        run("untrusted", server, proof, secure, expect="certificate")
        run("noproof", server, trust, secure, expect="certificate")
    shutil.rmtree(f"{folder}/n1")
    # A server without TLS is not spoken to in plain text; nor one whose certificate is another host's.
    with servers(folder) as (server,):
        run("downgrade", server, {"ca_file": f"{keys}/ca.pem"}, server.url.replace("nats:", "tls:"), expect="no TLS")
    shutil.rmtree(f"{folder}/n1")
    section = f'tls {{ cert_file: "{keys}/client.pem", key_file: "{keys}/client.key" }}'
    with servers(folder, more=section) as (server,):
        for host in ("127.0.0.1", "localhost"):
            run(f"name-{host.split('.')[0]}", server, trust, f"tls://{host}:{server.port}", expect="mismatch")


def setup(catwatch, folder, long):
    demo = ("--demo", "-e", "100ms")

    def check(url, *words, status=1):
        path = pathlib.Path(folder) / "check.jsonc"
        path.write_text(json.dumps({"nats": {"urls": [url]}}))
        run = subprocess.run([catwatch, "check", "--online", "-c", path, "--demo", "--agent-name", "web1"],
                             capture_output=True, text=True, timeout=60)
        said = "\n".join(line for line in run.stderr.split("\n") if line.startswith("nats:"))
        need(run.returncode == status and all(word in said for word in words), f"check: {run.returncode}, {run.stderr}")
        print(f"setup: check says {said}")

    def trial(name, words, prepare=None, repair=None, **settings):
        with servers(folder, **settings) as (server,):
            if prepare:
                prepare(server)
            check(server.url, *words)
            agent = Agent(catwatch, folder, "web1", [server.url], *demo)
            texts = agent.wait_for_error(*words)
            print(f"setup: {name}: {texts[0]}")
            if repair:
                repair(server)
                wait_for("the state ok", lambda: agent.state() == "ok")
                check(server.url, "can be published", status=0)
            agent.end()
            agent.need_one_error()
            if repair:
                Reader(server.url).read().check("web1")
        shutil.rmtree(f"{folder}/n1")

    check("nats://127.0.0.1:1", "no server")
    trial("off", ["JetStream is off"], jetstream=False)
    trial("missing", ["no such stream"], repair=lambda server: make_stream(server.url, configuration(catwatch)))
    trial("subjects", ["takes other.*, and not catwatch.v1.web1"],
          lambda server: make_stream(server.url, configuration(catwatch, subjects=["other.*"])),
          lambda server: asyncio.run(request(server.url, f"$JS.API.STREAM.UPDATE.{STREAM}", json.dumps(configuration(catwatch)).encode())))
    trial("full", ["let discard be old"],
          lambda server: make_stream(server.url, configuration(catwatch, discard="new", max_msgs=3)),
          lambda server: asyncio.run(request(server.url, f"$JS.API.STREAM.UPDATE.{STREAM}", json.dumps(configuration(catwatch)).encode())))
    # A line that fits no message is left out and named; everything else is there.
    with servers(folder, max_payload="64KB") as (server,):
        make_stream(server.url, configuration(catwatch))
        check(server.url, "max_payload of 65536")
        agent = Agent(catwatch, folder, "web1", [server.url], "-", stdin=True)
        for number in range(2_000):
            length = 100_000 if number in (500, 1_500) else 200
            agent.process.stdin.write(json.dumps({"n": number, "data": "x" * length}).encode() + b"\n")
        agent.process.stdin.flush()
        # Behind the end of its feed it would be told to a person.
        text = agent.wait_for_error("fits no message")[0]
        agent.process.stdin.close()
        agent.process.wait(timeout=60)
        kept, missed = Reader(server.url).read().check("web1", gaps_allowed=True)
        numbered = [line for line in agent.own_lines() if "seq" in line]
        need(len(missed) == 2 and kept + 2 == len(numbered), f"{len(missed)} lines are missing")
        agent.need_one_error()
        print(f"setup: {text}")
    shutil.rmtree(f"{folder}/n1")
    # So is one that the stream does not take any more.
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        agent = Agent(catwatch, folder, "web1", [server.url], "-", stdin=True)

        def say(number, length):
            agent.process.stdin.write(json.dumps({"n": number, "data": "x" * length}).encode() + b"\n")
            agent.process.stdin.flush()

        say(0, 200)
        published(agent, server.url)
        smaller = json.dumps(configuration(catwatch, max_msg_size=65_536)).encode()
        answer = asyncio.run(request(server.url, f"$JS.API.STREAM.UPDATE.{STREAM}", smaller))
        need("error" not in answer, f"the stream was not changed: {answer}")
        for number in range(1, 600):
            say(number, 100_000 if number == 300 else 200)
        text = agent.wait_for_error("larger than the stream takes")[0]
        agent.process.stdin.close()
        agent.process.wait(timeout=60)
        kept, missed = Reader(server.url).read().check("web1", gaps_allowed=True)
        numbered = [line for line in agent.own_lines() if "seq" in line]
        need(len(missed) == 1 and kept + 1 == len(numbered), f"{len(missed)} lines are missing")
        agent.need_one_error()
        print(f"setup: {text}")


def rights(catwatch, folder, long):
    text = subprocess.run([catwatch, "nats", "permissions", "--agent-name", "web1"], check=True, capture_output=True,
                          text=True).stdout
    of_agent, of_reader = ("permissions" + part.split("\n# ")[0] for part in text.split("permissions")[1:3])
    blind = f'permissions {{ publish: "{PREFIX}web3", subscribe: "_INBOX.catwatch.web3.>" }}'
    permissions = {"boss": "", "web1": of_agent, "web2": of_agent.replace("web1", "web2"), "web3": blind, "reader": of_reader}
    seeds, users = {}, ""
    for name, text in permissions.items():
        seeds[name] = f"{folder}/{name}.nk"
        users += f"{{ nkey: {user_key(seeds[name])}, {text} }}\n"
    with servers(folder, more=f"authorization {{ users: [ {users} ] }}") as (server,):
        boss = {"nkeys_seed": seeds["boss"]}
        make_stream(server.url, configuration(catwatch), **boss)

        def start(name, who):
            return Agent(catwatch, folder, name, [server.url], "--demo", "-e", "100ms", nats={"nkey_file": seeds[who]})

        agent = start("web1", "web1")
        published(agent, server.url, **boss)
        # As another: no permission, in words, and the other's subject stays empty.
        other = start("web2", "web1")
        print(f"rights: {other.wait_for_error('Permissions Violation')[0]}")
        # Without the right to ask for the stream it publishes all the same.
        third = start("web3", "web3")
        published(third, server.url, **boss)
        for one in (other, agent, third):
            one.end()
        reader = Reader(server.url, nkeys_seed=seeds["reader"], inbox_prefix=b"_INBOX.catwatch-reader").read()
        other.need_one_error()
        need(reader.agents() == ["web1", "web3"], f"there are {reader.agents()}")
        for one in (agent, third):
            reader.check(one.name)
            need(not one.error_lines(), f"errors: {one.error_lines()}")

        # It was refused a look: that is not why nobody answers what it publishes.
        def last():
            return stream_information(server.url, **boss)["state"]["last_seq"]

        before, third = last(), start("web3", "web3")
        wait_for("a message of web3", lambda: last() > before)

        async def ignore():
            client = await nats.connect(server.url, **boss)
            await client.subscribe(PREFIX + "web3")
            await client.flush()
            await client.request("$JS.API.STREAM.DELETE." + STREAM, b"")
            await asyncio.to_thread(wait_for, "an error of web3", lambda: any(
                line["type"] == "error" and "no answer" in line["message"] for line in third.own_lines()))
            await client.close()
        asyncio.run(ignore())
        need(not third.error_lines(), f"it says {third.error_lines()}")
        make_stream(server.url, configuration(catwatch), **boss)
        wait_for("a message in the new stream", last)
        third.end()

        async def misuse():
            complaints = []
            async def complain(error):
                complaints.append(str(error))
            client = await nats.connect(server.url, nkeys_seed=seeds["web2"], error_cb=complain)
            for subject in (PREFIX + "web1", "$JS.API.STREAM.DELETE." + STREAM, "$JS.API.STREAM.MSG.GET." + STREAM,
                            f"$JS.API.DIRECT.GET.{STREAM}.{PREFIX}web1", f"$JS.API.DIRECT.GET.{STREAM}",
                            "$JS.API.CONSUMER.CREATE." + STREAM):
                await client.publish(subject, b"{}")
            for subject in (PREFIX + ">", "_INBOX.catwatch.web1.>", "_INBOX.>", ">"):
                await client.subscribe(subject)
            await client.flush()
            await asyncio.sleep(0.2)
            await client.close()
            return complaints
        complaints = asyncio.run(misuse())
        need(len(complaints) == 10, f"of ten misuses these were refused: {complaints}")
        print("rights: an agent publishes as itself only; ten misuses were refused")


def names(catwatch, folder, long):
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        first = Agent(catwatch, folder, "web1", [server.url], "--demo", "-e", "100ms")
        published(first, server.url)
        second = Agent(catwatch, folder, "web1", [server.url], "--demo", "-e", "100ms")
        hub = pathlib.Path(folder) / "hub.ndjson"
        with hub.open("wb") as output:
            reading = subprocess.Popen([catwatch, f"--attach={server.url}"], stdout=output)
            try:
                wait_for("a conflict", lambda: b'"state":"conflict"' in hub.read_bytes())
            finally:
                reading.terminate()
                reading.wait(timeout=60)
        for one in (first, second):
            need(one.state() == "ok" and not one.error_lines(), f"the state is {one.state()}: {one.error_lines()}")
            one.end()
        runs = {headers["Catwatch-Run"] for headers, _ in Reader(server.url).read().of("web1")}
        need(len(runs) == 2, f"there are messages of {runs}")
        kept, _ = Reader(server.url).read().check("web1")
        own = sum("seq" in line for one in (first, second) for line in one.own_lines())
        need(kept == own, f"{kept} lines of {own}")
        print(f"names: {kept} lines of two agents")


def slow(catwatch, folder, long):
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        network = Proxy(server.port, delay=1)
        agent = Agent(catwatch, folder, "web1", [network.url], "--demo", "-e", "20ms", nats={"lines": True})
        published(agent, server.url)
        agent.end()
        network.stop()
        kept, _ = Reader(server.url).read().check("web1")
        own = sum("seq" in line for line in agent.own_lines())
        said = re.search(r"the last (\d+) lines were not published", agent.said())
        # The answer to the last one may not have come.
        need(said and int(said[1]) - (own - kept) in (0, 1), f"{own - kept} lines are missing, and it says {agent.said()!r}")
        print(f"slow: {agent.said().strip()}")


def lines(catwatch, folder, long):
    with servers(folder) as (server,):
        make_stream(server.url, configuration(catwatch))
        agent = Agent(catwatch, folder, "web1", [server.url], "--demo", "-e", "20ms", "-d", "4", nats={"lines": True})
        agent.process.wait(timeout=60)
        reader = Reader(server.url).read()
        kept, _ = reader.check("web1")
        own = {line["seq"]: line for line in agent.own_lines() if "seq" in line}
        need(kept == len(own), f"{kept} lines of {len(own)}")
        for headers, line in reader.lines("web1"):
            if "seq" in line:
                need(list(line)[-3:] == ["agent", "origin_run", "origin_seq"], "not the last keys")
                need(line == own[line["seq"]] | {"agent": "web1", "origin_run": headers["Catwatch-Run"],
                                                 "origin_seq": line["seq"]}, f"another line: {line}")
        print(f"lines: {kept} lines, each a message")


if __name__ == "__main__":
    sys.exit(run_trial(__doc__, leader, cut, stopped, overtaken, access, tls, setup, rights, names, slow, lines))
