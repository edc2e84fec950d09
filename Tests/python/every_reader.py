#!/usr/bin/env python3
"""Has the hard cases of JSON go through catwatch, and every line that comes out read by the readers that there are.

usage: every_reader.py CATWATCH

An agent reads the documents of json_cases.py over HTTP, and by standard input those that are a line, and writes what comes of
them to standard output, a file, a socket, somebody else's socket, and an agent that is attached to it. Each must be valid
(validate_lines.py) and have the same numbered lines. Each reader gets all lines in one process. One that takes a line accepts it and
comes to the same `seq`, `series`, `value` and `text` as the strict reader of validate_lines.py.

Miller ends at an empty key, so it gets the lines without one; libfastjson (mmjsonparse) ends a string at U+0000, so there what
follows it is not compared. Prints what each reader took of how many; exits 1 unless that is all.
"""

import contextlib
import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

import json_cases
import validate_lines

KEYS = ("seq", "series", "value", "text")
NODE = """
const lines = require("fs").readFileSync(0, "utf8").split("\\n").slice(0, -1)
for (const line of lines) { const l = JSON.parse(line); console.log(JSON.stringify([l.seq, l.series, l.value, l.text])) }
"""
RSYSLOG = """
global(maxMessageSize="1100k" workDirectory="{folder}")
module(load="imptcp")
module(load="mmjsonparse")
input(type="imptcp" path="{folder}/rsyslog.sock" supportOctetCountedFraming="off" ruleset="lines")
template(name="line" type="string" string="%parsesuccess% %$!all-json-plain%\\n")
ruleset(name="lines") {{
    action(type="mmjsonparse" cookie="" useRawMsg="on")
    action(type="omfile" file="{folder}/rsyslog.out" template="line")
    stop
}}
"""


def source_name(case):
    return re.sub(r"[^A-Za-z0-9._-]", "-", case)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


class Documents(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json_cases.CASES[self.path[1:].replace("%2B", "+")]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def wait_for(what, condition):
    limit = time.monotonic() + 90
    while not condition():
        if time.monotonic() > limit:
            sys.exit(f"every_reader: waited in vain for {what}")
        time.sleep(0.02)


def accepts(path):
    """Whether somebody listens at a socket: its path is there a moment before."""
    with socket.socket(socket.AF_UNIX) as reader, contextlib.suppress(OSError):
        reader.connect(str(path))
        return True
    return False


def collect(connection, into):
    """Reads a connection to its end."""
    while piece := connection.recv(1 << 16):
        into += piece


def collector(connect, into):
    thread = threading.Thread(target=lambda: collect(connect(), into), daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def started(arguments, **streams):
    """A program, which is ended when it is not needed any more."""
    program = subprocess.Popen(arguments, **streams)
    try:
        yield program
    finally:
        program.terminate()
        program.wait(90)


def outputs(catwatch, folder, stack):
    """What each output had of all documents, by its name."""
    server = Server(("127.0.0.1", 0), Documents)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}/"
    sources = [
        {"name": source_name(case), "url": origin + case.replace("+", "%2B"), "every": "1h"} for case in json_cases.CASES
    ]
    (folder / "sources.jsonc").write_text(json.dumps({"sources": sources + [{"name": "lines", "kind": "stdin"}]}))
    lines = [case for case in json_cases.CASES.values() if b"\n" not in case and not case.startswith(b"\xef\xbb\xbf")]

    peer = socket.socket(socket.AF_UNIX)
    peer.bind(str(folder / "peer.sock"))
    peer.listen()
    collected = {name: bytearray() for name in ("pushed", "served")}
    threads = [collector(lambda: peer.accept()[0], collected["pushed"])]
    served = folder / "served.sock"
    count = len(sources) + len(lines)
    agent = stack.enter_context(started(
        [catwatch, "-c", folder / "sources.jsonc", "-o", "ndjson", "--output-file", folder / "file", f"--listen={served}",
         "--connect", f"unix:{folder}/peer.sock", "-q"],
        stdin=subprocess.PIPE, stdout=(folder / "stdout").open("wb")))
    wait_for("the agent's socket", lambda: accepts(served))
    attached = stack.enter_context(started(
        [catwatch, f"--attach={served}", "--no-reconnect", "-o", "ndjson", "-q"], stdout=(folder / "attached").open("wb")))

    def connect():
        reader = socket.socket(socket.AF_UNIX)
        reader.connect(str(served))
        return reader

    threads.append(collector(connect, collected["served"]))
    agent.stdin.write(b"".join(line + b"\n" for line in lines))

    def written():
        # The agent makes its file in its own time.
        files = {name: path.read_bytes() if (path := folder / name).exists() else b"" for name in ("stdout", "file", "attached")}
        both = files | {name: bytes(output) for name, output in collected.items()}
        return {name: output.splitlines(keepends=True) for name, output in both.items()}

    wait_for("all events in all outputs", lambda: all(events(output) == count for output in written().values()))
    agent.terminate()
    if agent.wait(90) != 0:
        sys.exit(f"every_reader: the agent ended with {agent.returncode}")
    attached.wait(90)
    for thread in threads:
        thread.join(90)
    server.shutdown()
    return written()


def events(lines):
    return sum(b'"series":"' in line and b',"type":"window",' not in line[:100] for line in lines)


def whole(value):
    """The value with half pairs replaced, as a line has it."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [whole(member) for member in value]
    if isinstance(value, dict):
        return {whole(key): whole(member) for key, member in value.items()}
    return value


def has_empty_key(value):
    if isinstance(value, dict):
        return "" in value or any(has_empty_key(member) for member in value.values())
    return isinstance(value, list) and any(has_empty_key(member) for member in value)


def picked(line):
    return [line.get(key) for key in KEYS]


def same(one, other, ends_at_nul=False):
    if isinstance(one, str) and isinstance(other, str) and ends_at_nul:
        one, other = one.split("\0")[0], other.split("\0")[0]
    is_number = isinstance(one, (int, float)) and isinstance(other, (int, float))
    return float(one) == float(other) if is_number else type(one) is type(other) and one == other


def parsed(texts, make):
    """What each line of a reader's output comes to; None for one that it did not take."""
    for text in texts:
        try:
            yield make(text)
        except ValueError:
            yield None


def run(arguments, lines):
    done = subprocess.run(arguments, input=b"".join(lines), capture_output=True, check=False)
    if done.stderr:
        print(f"every_reader: {arguments[0]}: {done.stderr.decode(errors='replace')[:400]}", file=sys.stderr)
    return done.stdout.decode("utf-8", "replace").split("\n")[:-1]


def through_rsyslog(lines, folder):
    configuration = folder / "rsyslog.conf"
    configuration.write_text(RSYSLOG.format(folder=folder))
    with started(["/usr/sbin/rsyslogd", "-n", "-f", configuration, "-i", folder / "rsyslog.pid"]):
        path = folder / "rsyslog.sock"
        wait_for("rsyslog's socket", path.exists)
        sender = socket.socket(socket.AF_UNIX)
        sender.connect(str(path))
        sender.sendall(b"".join(lines))
        sender.close()
        output = folder / "rsyslog.out"
        wait_for("rsyslog's file", lambda: output.exists() and output.read_bytes().count(b"\n") >= len(lines))
        return output.read_text("utf-8", "replace").split("\n")[:-1]


def strictly(raw):
    try:
        return validate_lines.parse(raw)
    except validate_lines.Wrong:
        return None


def check_documents(lines):
    """What is said of each document must be what was in it."""
    documents = {source_name(case): text.removeprefix(b"\xef\xbb\xbf") for case, text in json_cases.CASES.items()}
    seen = set()
    for line in map(json.loads, lines):
        # When all this takes longer than a window, there are windows.
        if line.get("source") not in documents or "series" not in line or line["type"] == "window":
            continue
        seen.add(line["source"])
        document = json.loads(documents[line["source"]])
        is_altered = whole(document) != document
        if line.get("altered", False) != is_altered:
            sys.exit(f"every_reader: {line['source']} is altered or not: {str(line)[:300]}")
        if "data" in line and line["data"] != whole(document):
            sys.exit(f"every_reader: {line['source']} is another document: {str(line)[:300]}")
        if ("data" not in line) and not line.get("truncated"):
            sys.exit(f"every_reader: {line['source']} was left out and nothing said: {str(line)[:300]}")
    if missing := documents.keys() - seen:
        sys.exit(f"every_reader: no line of {sorted(missing)}")


def main(catwatch):
    sys.set_int_max_str_digits(0)
    sys.setrecursionlimit(5_000)
    with tempfile.TemporaryDirectory(prefix="catwatch-") as name:
        folder = pathlib.Path(name)
        with contextlib.ExitStack() as stack:
            all_outputs = outputs(catwatch, folder, stack)
        numbered = {}
        for output, lines in all_outputs.items():
            try:
                # What is pushed has no frame.
                if output != "pushed":
                    validate_lines.check(lines, expect_bye=output != "attached")
            except validate_lines.Wrong as wrong:
                sys.exit(f"every_reader: {output}: {wrong}")
            numbered[output] = [line for line in lines if line.startswith(b'{"seq":')]
            # What was written while it ended may have come to some of them only.
            common = min(len(numbered[output]), len(numbered["stdout"]))
            if numbered[output][:common] != numbered["stdout"][:common]:
                sys.exit(f"every_reader: {output} and standard output have different lines")
        check_documents(numbered["stdout"])
        lines = [line for lines in all_outputs.values() for line in lines]
        strict = [strictly(line) for line in lines]
        expected = [picked(line) if line else None for line in strict]
        for_miller = [index for index, line in enumerate(strict) if line and not has_empty_key(line)]
        everything = range(len(lines))

        def members(text, strict=True):
            return picked(json.loads(text, strict=strict))

        def of_rsyslog(text):
            state, _, rest = text.partition(" ")
            return members(rest) if state == "OK" else None

        readers = {
            "strict": (everything, iter(expected)),
            "jq": (everything, parsed(run(["jq", "-c", "[.seq,.series,.value,.text]"], lines), json.loads)),
            "Miller": (
                for_miller,
                # It writes control characters as they are; what it has read is what counts.
                parsed(
                    run(["mlr", "--ijsonl", "--ojsonl", "cat"], [lines[index] for index in for_miller]),
                    lambda text: members(text, strict=False))),
            "Python": (everything, parsed([line.decode() for line in lines], members)),
            "Node": (everything, parsed(run(["node", "-e", NODE], lines), json.loads)),
            "mmjsonparse": (everything, parsed(through_rsyslog(lines, folder), of_rsyslog)),
        }
        is_all = True
        for reader, (indices, results) in readers.items():
            results = list(results)
            results += [None] * (len(indices) - len(results))
            missed = [
                (index, result) for index, result in zip(indices, results)
                if result is None or expected[index] is None
                or not all(same(*pair, reader == "mmjsonparse") for pair in zip(expected[index], result))
            ]
            print(f"{reader}: {len(indices) - len(missed)} of {len(indices)}")
            for index, result in missed[:5]:
                print(f"  {lines[index][:300]!r}\n  came to {str(result)[:200]}", file=sys.stderr)
            is_all = is_all and not missed and len(results) == len(indices)
    return 0 if is_all else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1])))
