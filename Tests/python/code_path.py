#!/usr/bin/env python3
"""Counts the functions on the way of a poll, of a fleet's line and of a request for old lines, and the files they are in.

code_path.py [--list] [poll] [nats] [since]

Builds catwatch with counters for coverage in .build/coverage, lets it do the same thing more and more often, and takes the
functions whose number of calls grows with it: once or more for each poll, line or request. Closures count as part of the
function that they are in; initial values of properties do not count. With --list their names are printed, by file.
"""

import argparse
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / ".build" / "coverage"
BINARY = BUILD / "debug" / "catwatch"
EXIT = BUILD / "exit.so"
# The tools must be those of the compiler's own version.
TOOLS = pathlib.Path(shutil.which("swift")).resolve().parent
FEW, MANY = 20, 60


def build():
    subprocess.run(
        ["swift", "build", "--enable-code-coverage", "--product", "catwatch", "--scratch-path", str(BUILD)],
        cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    # catwatch ends by _exit(2), which writes no counters; exit(3) does.
    subprocess.run(
        ["clang", "-shared", "-fPIC", "-x", "c", "-", "-o", str(EXIT)], check=True, text=True,
        input="#include <stdlib.h>\nvoid _exit(int status) { exit(status); }\n")


class Counted:
    """A run of catwatch whose calls are counted."""

    def __init__(self, folder, name, *arguments, **more):
        self.counts = pathlib.Path(folder) / f"{name}.profraw"
        environment = {**os.environ, "LLVM_PROFILE_FILE": str(self.counts), "LD_PRELOAD": str(EXIT)}
        self.process = subprocess.Popen([str(BINARY), *arguments], env=environment, cwd=folder, **more)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)

    def calls(self):
        """The number of calls of each function, by its name and file."""
        self.end()
        merged = self.counts.with_suffix(".profdata")
        subprocess.run([str(TOOLS / "llvm-profdata"), "merge", "-sparse", str(self.counts), "-o", str(merged)], check=True)
        exported = subprocess.run(
            [str(TOOLS / "llvm-cov"), "export", "-skip-expansions", f"-instr-profile={merged}", str(BINARY)],
            check=True, stdout=subprocess.PIPE).stdout
        found = {}
        for function in json.loads(exported)["data"][0]["functions"]:
            path = function["filenames"][0]
            if "/Sources/" in path:
                key = (function["name"].split(":")[-1], path.split("/Sources/")[1])
                found[key] = found.get(key, 0) + function["count"]
        return found


class Fact(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b'{"fact":"Cats sleep.","length":11}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def poll(folder, times):
    """catwatch polls a server and writes to stdout."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fact) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/fact"
        run = Counted(folder, f"poll{times}", url, "--every", "20ms", "-o", "ndjson", "-n", str(times), stdout=subprocess.DEVNULL)
        run.process.wait(timeout=60)
        server.shutdown()
    return run.calls()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def connected(port):
    """A connection to a server that may still be starting."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=30)
        except ConnectionRefusedError:
            time.sleep(0.05)


def nats(folder, times):
    """The hub of a fleet reads the lines of one member from a stream of NATS."""
    home = pathlib.Path(folder) / f"nats{times}"
    home.mkdir()
    port = free_port()
    server = subprocess.Popen(
        ["nats-server", "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(home)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with connected(port) as connection:
            stream = b'{"name":"CATWATCH","subjects":["catwatch.v1.*"]}'
            connection.sendall(b"CONNECT {}\r\nPUB $JS.API.STREAM.CREATE.CATWATCH %d\r\n%s\r\nPING\r\n" % (len(stream), stream))
            while b"PONG" not in connection.recv(1 << 16):
                pass
        address = f"nats://127.0.0.1:{port}"
        member = Counted(
            folder, f"member{times}", "--demo", "--every", "20ms", "-o", "none", "--nats", address, "--agent-name", "m1")
        hub = Counted(folder, f"nats{times}", f"--attach={address}", "-o", "ndjson", "-n", str(times), stdout=subprocess.PIPE)
        hub.process.stdout.read()
        member.end()
        return hub.calls()
    finally:
        server.terminate()
        server.wait()


def since(folder, times):
    """A client asks for the lines of a run that is over, which only the journal has."""
    journal = str(pathlib.Path(folder) / f"since{times}.journal")
    first = subprocess.run(
        [str(BINARY), "--demo", "--every", "10ms", "-n", "50", "-o", "ndjson", "--journal", journal],
        cwd=folder, check=True, stdout=subprocess.PIPE, env={**os.environ, "LLVM_PROFILE_FILE": "/dev/null"}).stdout
    lines = [json.loads(line) for line in first.splitlines()]
    run, newest = lines[0]["run"], max(line.get("seq", 0) for line in lines)
    port = free_port()
    agent = Counted(folder, f"since{times}", "--demo", "--every", "1h", "-o", "none", "--journal", journal, f"--http=127.0.0.1:{port}")
    for _ in range(times):
        with connected(port) as connection:
            connection.sendall(f"GET /feed?since=0&run={run} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            answer = b""
            while f'{{"seq":{newest},'.encode() not in answer:
                piece = connection.recv(1 << 16)
                if not piece:
                    sys.exit(f"the agent closed after {answer[-200:]}")
                answer += piece
    return agent.calls()


def plain_names(names):
    """The functions' names without closures and the like, in the order of the names."""
    plain = subprocess.run(["swift", "demangle", "--simplified", "--compact"], input="\n".join(names), check=True, text=True, stdout=subprocess.PIPE)
    for name in plain.stdout.splitlines():
        name = re.sub(r"^.*(?:closure #\d+|autoclosure #\d+|\$defer #\d+|default argument \d+)[^)]*? (?:in|of) ", "", name)
        yield re.sub(r"^(?:specialized|static|\(\d+\)[^)]*resume partial function for|await resume partial function for) ", "", name)


def main():
    ways = {"poll": poll, "nats": nats, "since": since}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("ways", nargs="*", choices=[*ways, []])
    given = parser.parse_args()
    build()
    for name in given.ways or ways:
        with tempfile.TemporaryDirectory() as folder:
            few, many = ways[name](folder, FEW), ways[name](folder, MANY)
        # Timers make the numbers differ by a few.
        on_the_way = [key for key in many if many[key] - few.get(key, 0) >= (MANY - FEW) * 0.9]
        plain = plain_names([key[0] for key in on_the_way])
        functions = {(path, function) for (_, path), function in zip(on_the_way, plain) if not function.startswith("variable init")}
        files = sorted({path for path, _ in functions})
        print(f"{name}: {len(functions)} functions in {len(files)} files")
        if given.list:
            for path in files:
                print(f"  {path}")
                for function in sorted(function for other, function in functions if other == path):
                    print(f"    {function}")


if __name__ == "__main__":
    main()
