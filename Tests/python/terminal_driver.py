#!/usr/bin/env python3
"""Runs a program in a pseudo-terminal and looks at its screen through pyte, a terminal emulator.

Takes one JSON object a line on standard input and answers each with one on standard output:

    {"do": "start", "argv": […], "env": {…}, "columns": 80, "rows": 24}
    {"do": "send", "text": "q"}             types
    {"do": "wait", "text": "…"}             until the screen has the regular expression, 20 s at most
    {"do": "screen"}                        what it shows now
    {"do": "resize", "columns": 40, "rows": 10}
    {"do": "stall", "seconds": 1.0}         reads nothing for so long, then everything
    {"do": "signal", "number": 15}
    {"do": "state"}                         of the process, and what is written in a second
    {"do": "end"}                           waits for its exit

Every answer has the screen's rows. The one to "end" says how the terminal was left.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

import pyte

PATIENCE = 20.0


class Driver:
    def __init__(self):
        self.pid = 0
        self.fd = -1
        self.shell = -1
        self.raw = bytearray()
        self.written = 0
        self.screen = None
        self.stream = None
        self.before = None
        self.status = None

    def start(self, argv, env, columns, rows):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.fd, self.shell = pty.openpty()
        self.set_size(columns, rows)
        self.before = termios.tcgetattr(self.shell)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.shell, termios.TIOCSCTTY, 0)
            for number in range(3):
                os.dup2(self.shell, number)
            os.closerange(3, 256)
            os.execve(argv[0], argv, env)
        return {}

    def set_size(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def take(self, seconds):
        """Reads what comes within the time; stops early when nothing is there."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.written += len(data)
        self.raw += data
        del self.raw[:-4096]
        # pyte takes the private-mode letters of synchronised updates as text on some versions: they draw nothing.
        self.stream.feed(data)
        return bool(data)

    def settle(self):
        while self.take(0.15):
            pass

    def wait(self, text, seconds=PATIENCE):
        pattern = re.compile(text)
        deadline = time.monotonic() + seconds
        while True:
            if pattern.search("\n".join(self.screen.display)):
                return {"ok": True}
            if time.monotonic() > deadline or self.has_ended():
                return {"ok": False}
            self.take(0.05)

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def state(self):
        before = self.written
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            self.take(0.05)
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            letter = file.read().rsplit(")", 1)[1].split()[0]
        return {"process": letter, "written": self.written - before}

    def end(self):
        deadline = time.monotonic() + PATIENCE
        while not self.has_ended() and time.monotonic() < deadline:
            self.take(0.05)
        while self.take(0.1):
            pass
        after = termios.tcgetattr(self.shell)
        text = bytes(self.raw)
        return {
            "status": None if self.status is None else os.waitstatus_to_exitcode(self.status),
            "mode_restored": after == self.before,
            "screen_restored": text.rfind(b"\x1b[?1049l") > text.rfind(b"\x1b[?1049h"),
            "cursor_restored": text.rfind(b"\x1b[?25h") > text.rfind(b"\x1b[?25l"),
            "after": text[text.rfind(b"\x1b[?1049l") + 8 :].decode("utf-8", "replace"),
        }

    def handle(self, command):
        match command.pop("do"):
            case "start":
                return self.start(**command)
            case "send":
                os.write(self.fd, command["text"].encode())
                self.settle()
            case "wait":
                return self.wait(**command)
            case "screen":
                self.settle()
            case "resize":
                self.screen.resize(command["rows"], command["columns"])
                self.set_size(command["columns"], command["rows"])
                self.settle()
            case "stall":
                time.sleep(command["seconds"])
                self.settle()
            case "signal":
                os.kill(self.pid, command["number"])
            case "state":
                return self.state()
            case "end":
                return self.end()
            case other:
                return {"error": f"unknown: {other}"}
        return {}


def main():
    driver = Driver()
    try:
        for line in sys.stdin:
            answer = driver.handle(json.loads(line))
            answer["rows"] = [row.rstrip() for row in driver.screen.display]
            print(json.dumps(answer), flush=True)
    finally:
        if driver.pid and not driver.has_ended():
            os.kill(driver.pid, signal.SIGKILL)
            os.waitpid(driver.pid, 0)


if __name__ == "__main__":
    main()
