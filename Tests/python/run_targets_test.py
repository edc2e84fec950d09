#!/usr/bin/env python3
"""Holds run_targets.py to what it promises, with a bundle that fails in every way: run_targets_test.py"""
import os
import re
import subprocess
import sys
import tempfile
import time

RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_targets.py")
BUNDLE = r'''#!/usr/bin/env python3
import json, os, re, signal, subprocess, sys, time
target = re.search(r"\^(\w+)", sys.argv[sys.argv.index("--filter") + 1])[1]
events = open(sys.argv[sys.argv.index("--event-stream-output-path") + 1], "a", buffering=1)
def write(kind, payload): events.write(json.dumps({"version": 0, "kind": kind, "payload": payload}) + "\n")
def event(kind, text="", **more): write("event", {"kind": kind, "messages": [{"symbol": more.pop("symbol", "pass"), "text": text}], **more})
test = target + ".Suite/works()/Suite.swift:1:2"
write("test", {"kind": "suite", "id": target + ".Suite"})
write("test", {"kind": "function", "id": test})
if target != "None": event("testStarted", testID=test)
if target == "Fails": event("issueRecorded", "Expectation failed: \x1b 1 == 2", symbol="fail", testID=test)
if target == "Hangs":
    case = {"id": "1", "displayName": "7"}
    event("testCaseStarted", testID=test, _testCase=case)
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    open(os.environ["CHILD"], "w").write(str(child.pid))
    time.sleep(600)
if target == "Repeats":
    for _ in range(100):
        event("issueRecorded", "Expectation failed: too late", symbol="fail", testID=test)
        time.sleep(0.05)
        event("testStarted", testID=test)
if target == "Chatters":
    while True:
        print("still here", flush=True)
        time.sleep(0.1)
if target == "Crashes":
    print("Fatal error: off by one", flush=True)
    os.kill(os.getpid(), signal.SIGABRT)
if target == "Leaves": sys.exit(0)
if target != "None": event("testEnded", testID=test)
event("runEnded", "Test run with 1 test in 1 suite passed after 0.001 seconds.")
sys.exit(target == "Fails")
'''


def need(condition, what):
    if not condition: sys.exit(f"run_targets_test: {what}")


def has_ended(process):
    """Within a few seconds: who is killed ends a moment later, and may be there as a zombie until somebody asks for it."""
    for _ in range(100):
        try:
            with open(f"/proc/{process}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z": return True
        except FileNotFoundError: return True
        time.sleep(0.05)
    return False


def main():
    with tempfile.TemporaryDirectory() as folder:
        bundle, child = os.path.join(folder, "bundle"), os.path.join(folder, "child")
        with open(bundle, "w") as file: file.write(BUNDLE)
        os.chmod(bundle, 0o755)

        def run(*targets, at_once=1):
            begun = time.monotonic()
            command = [sys.executable, RUNNER, bundle, "--logs", os.path.join(folder, "logs"), "--stalled", "1", "--at-once", str(at_once), *targets]
            outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "CHILD": child})
            return outcome.returncode, outcome.stdout, time.monotonic() - begun

        status, text, _ = run("Works", "Works2")
        need(status == 0 and text.count("✔ Test run with 1 test") == 2, text)
        for target, words in {
            "Fails": "✘ Fails.Suite/works().*\n *Expectation failed", "None": "not a single test was run",
            "Crashes": "SIGABRT.*while it ran: Crashes.Suite/works(.|\n)*off by one", "Leaves": "exit code 0.*while it ran: Leaves.Suite/works",
            "Hangs": r"no test has begun or ended for 1 s; running: .*Hangs.Suite/works\(\).*\(7\)", "Chatters": "running: Chatters.Suite/works",
            "Repeats": "too late(.|\n)*ended after 2[0-9] failures; running: Repeats.Suite/works",
        }.items():
            status, text, seconds = run("Works", target)
            need(status == 1, f"{target} is taken for good: {text}")
            need(re.search(words, text), f"{target}: {text}")
            need("✔ Test run with 1 test" in text and seconds < 20, f"{target}: {text}")
        with open(child) as file: need(has_ended(file.read()), "a child of a killed process lives on")
        status, text, seconds = run("Hangs", "Chatters", "Works", at_once=3)
        need(status == 1 and text.index("-- Works") < text.index("-- Hangs"), text)
    print("run_targets.py: fails when a test fails, hangs or crashes, and when none is run")


if __name__ == "__main__": main()
