"""What a journal's file holds, read by SQL alone: for tests that look at it from outside."""

import json
import sqlite3


def opened(path):
    """A connection that only reads; what it reads is done with at once, so that it keeps nobody waiting."""
    # Whoever reads last must not tidy up the log of changes: the next agent is to find what the one before has left.
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10, isolation_level=None)
    connection.text_factory = bytes
    return connection


class Wrong(Exception):
    """A journal that is not what it should be."""


def need(condition, message):
    if not condition:
        raise Wrong(message)


def end(connection, number):
    """The row id behind a run's lines: that of the next run's first line."""
    (following,) = connection.execute("SELECT min(run) FROM runs WHERE run > ?", (number,)).fetchone()
    return following or (1 << 63) - 1


def runs(connection):
    """Name, number and base of every run, in their order: the number is the row id of its first line, and a line's row id is its
    own number and the base."""
    rows = connection.execute("SELECT name, run, base FROM runs ORDER BY run")
    return [(name.decode(), number, base) for name, number, base in rows]


def whole(connection, number, base):
    """The lines of a run by their numbers, and the ranges that gaps name; each must be whole, of its number and once.

    Between the first and the last of them all numbers are there, in a line or in a gap.
    """
    rows = connection.execute(
        "SELECT id, type, line FROM lines WHERE id >= ? AND id < ? ORDER BY id", (number, end(connection, number)))
    lines, gaps, expected = {}, [], None
    for place, kind, line in rows:
        sequence = place - base
        need(expected is None or sequence == expected, f"run {number}: {sequence} where {expected} belongs")
        try:
            content = json.loads(line)
        except ValueError as error:
            raise Wrong(f"run {number}: line {sequence} is torn: {error}: {line[:200]!r}") from None
        if kind == b"gap":
            need(content["from"] == sequence, f"run {number}: a gap of {content['from']} at {sequence}")
            gaps.append((content["from"], content["to"]))
            expected = content["to"] + 1
        else:
            need(content["seq"] == sequence, f"run {number}: line {content['seq']} at {sequence}")
            need(content["type"].encode() == kind, f"run {number}: line {sequence} under the type {kind!r}")
            lines[sequence] = line
            expected = sequence + 1
    return lines, gaps


def last(connection, number, base):
    """The number of the last line of a run; 0 for none."""
    (place,) = connection.execute(
        "SELECT max(id) FROM lines WHERE id >= ? AND id < ?", (number, end(connection, number))).fetchone()
    return 0 if place is None else place - base
