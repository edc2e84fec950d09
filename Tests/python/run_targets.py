#!/usr/bin/env python3
"""Runs test targets of a built test bundle side by side, each in a process of its own, and ends one that hangs.

usage: run_targets.py BUNDLE [--at-once N] [--width N] [--stalled S] [--logs FOLDER] TARGET …

A target's process runs its tests one after the other, or --width of them at once. A process in which no test has begun or ended
for --stalled seconds is killed, and the tests that it was running are named. So is one with MOST failures, because each may have
waited for long. What fails is printed, and the runner's summary; FOLDER/TARGET.log has everything. Exit code 1: a test failed, a process crashed or was killed, or a target ran no test."""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

MOST = 20


class Run:
    """One target in a process of its own. Its events are those of Swift Testing's event stream, a JSON document a line."""

    def __init__(self, options, target):
        self.target, self.log = target, os.path.join(options.logs, f"{target}.log")
        events = os.path.join(options.logs, f"{target}.events")
        open(events, "w").close()
        self.events, self.part = open(events, "rb"), b""
        order = ["--experimental-maximum-parallelization-width", str(options.width)] if options.width > 1 else ["--no-parallel"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [options.bundle, "--testing-library", "swift-testing", *order, "--filter", rf"^{re.escape(target)}[./]",
                 "--event-stream-version", "0", "--event-stream-output-path", events],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.begun = self.progress = time.monotonic()
        self.functions, self.tests, self.running, self.issues, self.summary, self.stalled = set(), 0, {}, [], None, None

    def read(self):
        *lines, self.part = (self.part + self.events.read()).split(b"\n")
        for line in lines:
            document = json.loads(line.decode("utf-8", "replace"))
            if document["kind"] == "event": self.follow(document["payload"])
            elif document["payload"]["kind"] == "function": self.functions.add(document["payload"]["id"])

    def follow(self, event):
        kind, test, case = event["kind"], event.get("testID", ""), event.get("_testCase", {})
        name = f"{test} ({case['displayName'][:200]})" if case.get("displayName") else test
        if kind == "issueRecorded":
            self.issues.append("\n".join([name or "outside of a test", *(message["text"] for message in event["messages"])]))
            return
        self.progress = time.monotonic()
        if kind == "testCaseStarted" or kind == "testStarted" and test in self.functions:
            self.tests += 1
            self.running[test, case.get("id")] = name
        elif kind in ("testCaseEnded", "testEnded"): self.running.pop((test, case.get("id")), None)
        elif kind == "runEnded": self.summary = event["messages"][0]

    def is_over(self, patience):
        """Whether it has ended, by itself or because it was killed here."""
        status = self.process.poll()
        self.read()
        if status is not None: return True
        quiet = time.monotonic() - self.progress
        self.stalled = quiet >= patience and f"no test has begun or ended for {quiet:.0f} s"
        self.stalled = self.stalled or len(self.issues) >= MOST and f"ended after {len(self.issues)} failures"
        if not self.stalled: return False
        self.kill()
        self.process.wait()
        return True

    def kill(self):
        """Ends it and what its tests have started, which has process groups of its own."""
        for process in [*descendants(self.process.pid), self.process.pid]:
            try: os.kill(process, signal.SIGKILL)
            except ProcessLookupError: pass

    def report(self):
        """Prints how it ended; returns whether all is well."""
        status = self.process.returncode
        good = status == 0 and self.tests > 0 and self.summary and not self.issues and not self.running
        print(f"-- {self.target}: {time.monotonic() - self.begun:.1f} s" + ("" if good else f", failed; all of it is in {self.log}"))
        for issue in self.issues: print("✘ " + issue.replace("\n", "\n    "))
        running = "; ".join(self.running.values()) or "no test"
        if self.stalled: print(f"✘ {self.stalled}; running: {running}")
        elif status < 0 or self.running:
            how = signal.Signals(-status).name if status < 0 else f"exit code {status}"
            print(f"✘ the process ended ({how}) while it ran: {running}")
            with open(self.log, "rb") as log: print("    " + log.read()[-4_000:].decode("utf-8", "replace").replace("\n", "\n    "))
        elif self.tests == 0: print("✘ not a single test was run")
        if self.summary: print(f"{'✔' if self.summary['symbol'] == 'pass' else '✘'} {self.summary['text']}")
        sys.stdout.flush()
        return good


def descendants(process):
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as stat: parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError: continue
        if parent == process: found += [int(entry), *descendants(int(entry))]
    return found


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("bundle", type=os.path.abspath)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--width", type=int, default=1)
    parser.add_argument("--stalled", type=float, default=180)
    parser.add_argument("--logs", default=".build/tests")
    parser.add_argument("targets", nargs="+")
    options = parser.parse_args()
    os.makedirs(options.logs, exist_ok=True)
    waiting, runs, good = options.targets, [], True
    try:
        while waiting or runs:
            while waiting and len(runs) < options.at_once: runs.append(Run(options, waiting.pop(0)))
            time.sleep(0.1)
            for run in [run for run in runs if run.is_over(options.stalled)]:
                runs.remove(run)
                good = run.report() and good
    finally:
        for run in runs: run.kill()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
