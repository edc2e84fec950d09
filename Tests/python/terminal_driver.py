#!/usr/bin/env python3
"""Runs a program in a pseudo-terminal and looks at its screen through pyte, a terminal emulator.

Takes one JSON object a line on standard input and answers each with one on standard output. Between two commands nothing
is read: that is how the terminal of a program is made to stall.

    {"do": "start", "argv": […], "env": {…}, "columns": 80, "rows": 24}
    {"do": "type", "text": "q"}
    {"do": "wait", "text": "…"}             until the screen has the regular expression
    {"do": "wait", "text": "…", "gone": true}  until it has it no more
    {"do": "screen"}                        what it shows now
    {"do": "resize", "columns": 40, "rows": 10}
    {"do": "fill"}                          reads nothing until the terminal takes nothing more
    {"do": "raw", "pattern": "…"}           how often the bytes that came since the start have the expression
    {"do": "find", "pattern": "…"}          reads until they have it
    {"do": "hang-up"}                       closes the terminal
    {"do": "modes"}                         whether the terminal is as it was at the start
    {"do": "end"}                           waits for the program's exit; says that and how the terminal was left

Every answer has the screen's rows, one below the other, as they are between two frames.
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

PATIENCE = 90.0


class Driver:
    def __init__(self):
        self.pid = 0
        self.fd = -1
        self.shell = -1
        self.raw = bytearray()
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
        return {"pid": self.pid}

    def set_size(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def take(self, seconds):
        """Reads what comes within the time; whether anything did."""
        if self.fd < 0:
            return False
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.raw += data
        self.stream.feed(data)
        return bool(data)

    def is_in_frame(self):
        """Whether a synchronised update is under way."""
        return self.raw.rfind(b"\x1b[?2026h") > self.raw.rfind(b"\x1b[?2026l")

    def text(self):
        return "\n".join(row.rstrip() for row in self.screen.display)

    def wait_until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while True:
            ended = self.has_ended()
            while self.take(0):
                pass
            if condition():
                return {"ok": True}
            if ended or time.monotonic() > deadline:
                return {"ok": False}
            self.take(0.05)

    def wait(self, text, gone=False):
        pattern = re.compile(text, re.MULTILINE)
        return self.wait_until(lambda: not self.is_in_frame() and (pattern.search(self.text()) is None) == gone)

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def fill(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if not select.select([], [self.shell], [], 0)[1]:
                return {"ok": True}
            time.sleep(0.01)
        return {"ok": False}

    def hang_up(self):
        os.close(self.fd)
        os.close(self.shell)
        self.fd = self.shell = -1
        looks = 0
        deadline = time.monotonic() + PATIENCE
        while not self.has_ended() and time.monotonic() < deadline:
            time.sleep(0.005)
            looks += 1
        return {"status": self.exit_code(), "looks": looks}

    def exit_code(self):
        return None if self.status is None else os.waitstatus_to_exitcode(self.status)

    def is_restored(self):
        return termios.tcgetattr(self.shell) == self.before

    def end(self):
        deadline = time.monotonic() + PATIENCE
        while not self.has_ended() and time.monotonic() < deadline:
            self.take(0.02)
        while self.take(0):
            pass
        raw = bytes(self.raw)

        def is_last(this, other):
            return raw.rfind(this) > raw.rfind(other)

        return {
            "status": self.exit_code(),
            "modes": self.is_restored(),
            "screen": is_last(b"\x1b[?1049l", b"\x1b[?1049h"),
            "cursor": is_last(b"\x1b[?25h", b"\x1b[?25l"),
            "wrapping": is_last(b"\x1b[?7h", b"\x1b[?7l"),
            "pasting": is_last(b"\x1b[?2004l", b"\x1b[?2004h"),
            "after": raw[raw.rfind(b"\x1b[?1049l") + 8 :].decode("utf-8", "replace"),
        }

    def handle(self, do, **rest):
        match do:
            case "start":
                return self.start(**rest)
            case "type":
                os.write(self.fd, rest["text"].encode())
            case "wait":
                return self.wait(**rest)
            case "screen":
                return self.wait_until(lambda: not self.is_in_frame())
            case "resize":
                self.screen.resize(rest["rows"], rest["columns"])
                self.set_size(rest["columns"], rest["rows"])
            case "fill":
                return self.fill()
            case "raw":
                return {"count": len(re.findall(rest["pattern"].encode("latin-1"), bytes(self.raw)))}
            case "find":
                pattern = re.compile(rest["pattern"].encode("latin-1"))
                return self.wait_until(lambda: pattern.search(self.raw))
            case "hang-up":
                return self.hang_up()
            case "modes":
                return {"ok": self.is_restored()}
            case "end":
                return self.end()
            case _:
                return {"error": f"unknown: {do}"}
        return {}


def main():
    driver = Driver()
    try:
        for line in sys.stdin:
            answer = driver.handle(**json.loads(line))
            answer["rows"] = driver.text()
            print(json.dumps(answer, ensure_ascii=False, separators=(",", ":")), flush=True)
    finally:
        if driver.pid and not driver.has_ended():
            os.kill(driver.pid, signal.SIGKILL)
            os.waitpid(driver.pid, 0)


if __name__ == "__main__":
    main()
