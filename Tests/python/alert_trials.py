#!/usr/bin/env python3
"""Kills an agent that computes alerts, and looks whether it tells of each once and forgets none (docs/wire-format.md, alert).

usage: alert_trials.py CATWATCH kill [--rounds N] [--seed S] [--long]

kill    an agent that is fed values that cross limits is killed (SIGKILL), or now and then ended (SIGTERM), at random moments, 14 times
        (240 by --long), and started again on the same journal; a last run is ended orderly a second after the last values.
        In the journal each crossing that the agent had looked at has its alert line, no two episodes of one alert and series overlap,
        and in the end exactly that fires which is true of the last values. Who reads standard output is told nothing twice, and
        each line is valid

Prints what it did; exits 1 at the first thing that is wrong, with the seed that leads there again, and keeps the files.
"""

import collections
import contextlib
import datetime
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
# What the alerts without a set or duration come to at an event: True, False, or None if nothing changes.
AT_ONCE = {
    "high": lambda event: event["value"] > 60,
    "apart": lambda event: True if event["value"] > 70 else False if event["value"] < 30 else None,
    "flag": lambda event: event["data"]["f"],
}
# How long values have to hold, and what that means.
LATER = {"held": (0.2, lambda value: value > 50), "slow": (0.3, lambda value: value > 55)}


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


def seconds(text):
    return datetime.datetime.fromisoformat(text).timestamp()


class Book:
    """The episodes that alert lines tell of, and what is wrong with them."""

    def __init__(self):
        self.open = {}  # their ids, by alert and by what they are about
        self.ids = set()
        # The ids in lines that a reader has seen and that are not in the journal, by alert, series and since when.
        self.shown = {}
        self.lost, self.doubled = [], []
        self.count = collections.Counter()

    def add(self, line):
        key = line["condition"], line["about"]
        if line["state"] == "firing":
            if key in self.open or line["id"] in self.ids:
                self.doubled.append(line)
            names = self.shown.get((*key, line["since"]))
            if names:
                self.count["alerts told again under their own id, as the journal did not have them"] += 1
                if line["id"] not in names:
                    self.doubled.append(line)
            self.open[key] = line["id"]
            self.ids.add(line["id"])
            self.count["episodes"] += 1
        else:
            if self.open.get(key) != line["id"]:
                self.lost.append(line)
            self.open.pop(key, None)

    def show(self, run, lines):
        """Whether somebody who reads on is told something that the journal had told already."""
        open = dict(self.open)
        for line in lines:
            key = line["condition"], line["about"]
            if line["state"] == "firing":
                if key in open or line["id"] in self.ids:
                    self.doubled.append(line)
                open[key] = line["id"]
            elif open.pop(key, None) != line["id"]:
                self.lost.append(line)

    def remember(self, lines):
        """Lines that a reader has seen and that are not in the journal: what is told again has to have the same name."""
        for line in lines:
            # Several may have begun at the same time.
            self.shown.setdefault((line["condition"], line["about"], line["since"]), set()).add(line["id"])

    def compare(self, run, lines, past):
        """Holds a run's alert lines against its events; `past` are those of the runs before, by series."""
        alerts = [line for line in lines if line["type"] == "alert"]
        own = [line for line in alerts if line["evidence"]["to"] > 0]
        looked_at = max((line["evidence"]["to"] for line in own), default=0)
        told = {}
        for line in own:
            told.setdefault((line["condition"], line["about"], line["evidence"]["to"]), []).append(line)
        # A window may have been closed after an event came, and before it was numbered: then it counts from that time on.
        newest = ""
        for line in lines:
            if line["type"] == "window":
                newest = max(newest, line["time"])
            elif line["type"] == "stdin":
                line["time"] = max(newest, line["time"])
        events = [line for line in lines if line["type"] == "stdin"]
        state = dict.fromkeys(self.open, True)
        for line in alerts:
            # What the agent found in the lines of the runs before.
            if line["evidence"]["to"] == 0:
                state[line["condition"], line["about"]] = line["state"] == "firing"
        since = {}
        for event in events:
            if event["seq"] >= looked_at:
                break
            about = event["series"]
            for name, test in AT_ONCE.items():
                value = test(event)
                before = state.get((name, about), False)
                if value is None or value == before:
                    continue
                state[name, about] = value
                self.count["crossings"] += 1
                if not any((line["state"] == "firing") == value for line in told.pop((name, about, event["seq"]), [])):
                    self.lost.append((name, event))
            for name, (duration, test) in LATER.items():
                if not test(event["value"]):
                    since.pop((name, about), None)
                    continue
                begun = since.setdefault((name, about), seconds(event["time"]))
                if seconds(event["time"]) >= begun + duration + 0.001:
                    key = name, about
                    is_open = key in self.open or any(
                        (line["condition"], line["about"]) == key and line["state"] == "firing"
                        and line["seq"] <= event["seq"] or line["evidence"]["to"] <= event["seq"] for line in own)
                    if not is_open:
                        self.lost.append((name, event))
        for (name, about, _), more in told.items():
            if name in AT_ONCE and more[0]["evidence"]["to"] < looked_at:
                self.doubled += more
        self.hold(alerts, events, past)
        first = lines[0]["time"]
        self.count["episodes that began to hold in the run before"] += sum(
            line["state"] == "firing" and line["condition"] in LATER and line["since"] < first for line in alerts)

    def hold(self, alerts, events, past):
        """Whether the values held as long as alerts say."""
        for line in alerts:
            if line["state"] != "firing" or line["condition"] not in LATER:
                continue
            duration, test = LATER[line["condition"]]
            need(seconds(line["at"]) - seconds(line["since"]) > duration - 1e-5, f"fires too soon: {line}")
            # What `until` is to end may have fired before, in a run that was killed before it could say so.
            end = seconds(line["since"]) + duration if line["condition"] == "slow" else seconds(line["at"])
            held = [event for event in past[line["about"]] + events
                    if event["series"] == line["about"] and line["since"] <= event["time"] and seconds(event["time"]) < end]
            # Of those of one time the last ones count.
            breaks = [index for index, event in enumerate(held) if event["time"] == line["since"] and not test(event["value"])]
            held = held[max(breaks, default=-1) + 1:]
            need(held and all(test(event["value"]) for event in held), f"fires of {held}: {line}")
            need(held[0]["time"] == line["since"], f"fires since {held[0]['time']}: {line}")


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
    # Behind an error that came together with values `all` is unknown for a minute, also if the lines are only read again: those of
    # the history, three windows.
    time.sleep(4.2)
    with journal_trials.started(catwatch, journal, dice=dice, fed=False, new=Watcher) as agent:
        expected = agent.finish()
    agents.append(agent)
    return check(journal, agents, expected) + f" in {rounds} runs (" + ", ".join(
        f"{value} {name}" for name, value in sorted(signals.items())) + ")"


def check(journal, agents, expected):
    book, past = Book(), collections.defaultdict(list)
    with contextlib.closing(journal_file.opened(journal)) as connection:
        runs = {name: journal_file.whole(connection, number, base)[0] for name, number, base in journal_file.runs(connection)}
    for agent in agents:
        if len(agent.output) >= 2:
            try:
                validate_lines.check(agent.output, expect_bye=agent.process.returncode == 0)
            except validate_lines.Wrong as fault:
                raise journal_file.Wrong(f"{agent.run}: {fault}") from None
        kept = runs.get(agent.run, {})
        journal_trials.Ledger.compare(agent, kept)
        # A killed agent's reader may not have got all of it.
        told = dict(sorted((dict(agent.lines) | kept).items()))
        book.show(agent.run, [json.loads(line) for line in told.values() if b'"type":"alert"' in line])
        lines = [json.loads(line) for line in kept.values()]
        alerts = [line for line in lines if line["type"] == "alert"]
        beyond = [json.loads(line) for sequence, line in agent.lines if sequence not in kept and b'"type":"alert"' in line]
        book.count["alert lines that were told and are not in the journal"] += len(beyond)
        if lines:
            book.compare(agent.run, lines, past)
        for line in alerts:
            book.add(line)
        book.remember(beyond)
        for line in lines:
            if line["type"] == "stdin":
                past[line["series"]].append(line)
    need(not book.doubled, f"{len(book.doubled)} are doubled: {book.doubled[:3]}")
    need(not book.lost, f"{len(book.lost)} are lost: {book.lost[:3]}")
    need(set(book.open) == expected, f"in the end {set(book.open) - expected} fire, {expected - set(book.open)} do not")
    return ", ".join(f"{value} {key}" for key, value in sorted(book.count.items())) + ", 0 lost, 0 doubled"


if __name__ == "__main__":
    journal_trials.main(__doc__, {"kill": (kill, 14, 240)})
