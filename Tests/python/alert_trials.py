#!/usr/bin/env python3
"""Kills an agent that decides alerts, and looks whether each goes on where its newest line left it (docs/conditions.md).

usage: alert_trials.py CATWATCH kill [--rounds N] [--seed S] [--long]

kill    an agent that is fed values that cross limits is killed (SIGKILL), or now and then ended (SIGTERM), at random moments, 14 times
        (200 by --long), and started again on the same journal; a last run is ended orderly a second after the last values.
        Each alert line in the journal follows on the one before of the same alert and series, also of an earlier run, and in the
        end exactly that fires which is true of the last values. Who reads standard output gets valid lines

Prints what it did; exits 1 at the first thing that is wrong, with the seed that leads there again, and keeps the files.
"""

import collections
import contextlib
import json
import random
import signal
import time

import journal_file
import journal_trials
import validate_lines
from journal_file import need

SERIES = ["stdin/a", "stdin/b", "stdin/c"]
ALERTS = {
    "high": "value > 60",
    "apart": "value > 70 until < 30",
    "flag": "/f = true",
    "held": "> 50 for 200ms",
    "slow": "> 55 for 300ms until < 45 for 150ms",
    "any": "any stdin/* > 90",
    "all": "all stdin/* > 20 for 100ms",
    "broken": "fails",
    "quiet": "stdin/* silent 60ms",
}


def document(key, value, flag):
    return b'{"k":"%s","v":%d,"f":%s}\n' % (key.encode(), value, b"true" if flag else b"false")


class Watcher(journal_trials.Agent):
    """An agent that computes alerts of values that go up and down at random."""

    def __init__(self, catwatch, journal, *options, dice, fed=True):
        self.dice = random.Random(dice.random())
        self.values = {}
        self.output = []
        alerts = [word for name, line in ALERTS.items() for word in ("--alert", f"{name}: {line}")]
        if not fed:
            self.feed = lambda rate: None
        # The less is read again at a start, the more of them come to compute something.
        super().__init__(catwatch, journal, "--history", "3s", "--key", "/k", "--value", "/v", *alerts, *options, rate=1)

    def see(self, line):
        self.output.append(line + b"\n")
        super().see(line)

    def feed(self, rate):
        with contextlib.suppress(OSError, ValueError):
            while True:
                # Several lines that come at once have the same time.
                self.process.stdin.write(b"".join(self.random_line() for _ in range(self.dice.choice((1, 1, 1, 2, 6)))))
                time.sleep(self.dice.choice((0, 0, 0.002, 0.002, 0.01, 0.01, 0.03, 0.1)))

    def random_line(self):
        if self.dice.random() < 0.03:
            return b"{no line\n"
        key = self.dice.choice("abc")
        value = self.values.get(key, 50)
        # Mostly near the value before, so that something holds for a while.
        near = self.dice.random() < 0.8
        value = min(100, max(0, self.dice.randint(value - 8, value + 8) if near else self.dice.randint(0, 100)))
        self.values[key] = value
        return document(key, value, self.dice.random() < 0.8 and value % 10 > 2)

    def finish(self):
        """Feeds last values and ends it a second later; returns what is to fire then."""
        for key in "abc":
            self.values[key] = (self.dice.choice((self.dice.randint(0, 15), self.dice.randint(95, 100))), self.dice.random() < 0.5)
            self.process.stdin.write(document(key, *self.values[key]))
        # All are silent soon, which shows that it computes alerts now.
        silent = b'"condition":"quiet","state":"firing"'
        self.wait_for("silence", lambda: sum(silent in line for _, line in self.lines) >= 3)
        time.sleep(1)
        self.stop()
        firing = set()
        for key, (value, flag) in self.values.items():
            about = f"stdin/{key}"
            firing |= {(name, about) for name in ("high", "apart", "held", "slow") if value > 50}
            firing |= {("flag", about)} if flag else set()
            firing |= {("quiet", about)}
        values = [value for value, _ in self.values.values()]
        firing |= {("any", "stdin/*")} if max(values) > 90 else set()
        firing |= {("all", "stdin/*")} if min(values) > 20 else set()
        return firing


class States:
    """Where alert lines leave each alert, and what is wrong with them."""

    def __init__(self):
        self.states = {}  # state and id, by alert and by what it is about
        self.ids = set()
        self.wrong = []
        self.count = collections.Counter()

    def add(self, line):
        key = line["condition"], line["about"]
        state, name = self.states.get(key, ("ok", None))
        if line["state"] not in validate_lines.NEXT_STATES[state]:
            self.wrong.append((state, line))
        elif name is None and line["id"] in self.ids or name not in (None, line["id"]):
            self.wrong.append((name, line))
        state = {"reminder": "firing", "resolved": "ok"}.get(line["state"], line["state"])
        self.states[key] = (state, None if state == "ok" else line["id"])
        self.ids.add(line["id"])
        self.count[line["state"]] += 1

    @property
    def firing(self):
        return {key for key, (state, _) in self.states.items() if state in ("firing", "clearing")}


def kill(catwatch, folder, rounds, dice):
    """Kills an agent again and again, and looks at the journal that all of them wrote."""
    journal = folder / "journal"
    agents, signals = [], collections.Counter()
    for number in range(rounds):
        limit = time.monotonic() + (dice.uniform(0.05, 0.3) if dice.random() < 0.8 else dice.uniform(0.005, 0.05))
        commit = dice.choice(("10ms", "30ms", "100ms"))
        with journal_trials.started(catwatch, journal, "--journal-commit", commit, dice=dice, new=Watcher) as agent:
            if dice.random() < 0.7:
                # While values come.
                agent.wait_for("its first line", lambda: agent.restart)
                limit = time.monotonic() + dice.uniform(0.005, 0.3)
            time.sleep(max(0, limit - time.monotonic()))
            need(agent.process.poll() is None, f"the agent has ended by itself: {agent.complaints.decode()}")
            how = signal.SIGTERM if agent.restart and dice.random() < 0.15 else signal.SIGKILL
            agent.process.send_signal(how)
            agent.collect()
        signals[how.name] += 1
        agents.append(agent)
    with journal_trials.started(catwatch, journal, dice=dice, fed=False, new=Watcher) as agent:
        expected = agent.finish()
    agents.append(agent)
    return check(journal, agents, expected) + f" in {rounds} runs (" + ", ".join(
        f"{value} {name}" for name, value in sorted(signals.items())) + ")"


def check(journal, agents, expected):
    states = States()
    with contextlib.closing(journal_file.opened(journal)) as connection:
        runs = {name: journal_file.whole(connection, number, base)[0] for name, number, base in journal_file.runs(connection)}
    over = 0
    for agent in agents:
        if len(agent.output) >= 2:
            try:
                validate_lines.check(agent.output, expect_bye=agent.process.returncode == 0)
            except validate_lines.Wrong as fault:
                raise journal_file.Wrong(f"{agent.run}: {fault}") from None
        kept = runs.get(agent.run, {})
        journal_trials.Ledger.compare(agent, kept)
        before = states.firing
        for _, line in sorted(kept.items()):
            if b'"type":"alert"' in line:
                states.add(json.loads(line))
        over += len(before & states.firing)
    need(not states.wrong, f"{len(states.wrong)} do not follow: {states.wrong[:3]}")
    need(states.firing == expected, f"in the end {states.firing - expected} fire, {expected - states.firing} do not")
    need(over > 0, "nothing fired through a restart")
    return ", ".join(f"{value} {key}" for key, value in sorted(states.count.items())) + f", {over} fired on through a run, 0 wrong"


if __name__ == "__main__":
    journal_trials.main(__doc__, {"kill": (kill, 14, 200)})
