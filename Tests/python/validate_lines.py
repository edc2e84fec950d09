#!/usr/bin/env python3
"""Checks NDJSON on standard input against docs/wire-format.md.

usage: catwatch … | validate_lines.py [--resumed] [--expect-bye]
       validate_lines.py --self-test

Every line is validated against docs/wire-format.schema.json, and against what a schema cannot say: framing, order of
lines and of keys, numbering without holes, and what figures in one line mean to each other. Prints one line of summary;
exits 1 at the first line that is wrong and shows it.

--resumed     the reader asked to begin at a later number, so the first one may be any that the log still holds
--expect-bye  the last line has to be a bye
"""

import collections
import json
import math
import pathlib
import re
import sys

import jsonschema

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "docs/wire-format.schema.json").read_text(encoding="utf-8"))
CONNECTION = {"hello", "stats", "kept", "gap", "bye", "refusal", "column"}
NUMBERED = {"latency", "memory", "window", "error", "progress", "recovered", "agent", "restart", "lost", "peer",
            "alert", "clock"}
MAX_LINE = 1 << 20
MAX_TEXT = 4096
MAX_LEVELS = 30
MAX_UNIT = 32
MAX_BAND = 64
# What may follow on the state of an alert.
NEXT_STATES = {
    "ok": {"pending", "firing"},
    "pending": {"ok", "firing"},
    "firing": {"clearing", "resolved", "reminder"},
    "clearing": {"firing", "resolved"},
    "resolved": set(),
}
MAX_GONE = 64 << 10
MAX_LETTER = 16
MAX_WORD = 64
# Times are rounded to a microsecond each, so a sum of five may be off by as many.
ROUNDING_MS = 0.006

# An upstream may send integers of any length.
sys.set_int_max_str_digits(0)

SURROGATE = re.compile("[\ud800-\udfff]")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Wrong(Exception):
    """A line that breaks the format; the message says how."""


def definition(name):
    return jsonschema.Draft202012Validator({"$ref": "#/$defs/" + name, "$defs": SCHEMA["$defs"]})


VALIDATORS = {name: definition(name) for name in CONNECTION | NUMBERED | {"data"}}


def need(condition, message):
    if not condition:
        raise Wrong(message)


def unique(pairs):
    """The object of these pairs; a key that comes twice reads differently from parser to parser."""
    keys = [key for key, _ in pairs]
    doubled = [key for key, count in collections.Counter(keys).items() if count > 1]
    need(not doubled, f"key {doubled[:1]} comes twice")
    return dict(pairs)


def refuse_constant(text):
    raise Wrong(f"{text} is not JSON")


def double(text):
    """A number, which has to be one that a double can hold."""
    number = float(text)
    need(math.isfinite(number), f"has a number that no double holds: {text[:40]}")
    return number


def integer(text):
    double(text)
    return int(text)


def parse(raw):
    """The object in one line, framing included: the strictest reader there is."""
    need(len(raw) <= MAX_LINE, f"is {len(raw)} bytes long, at most {MAX_LINE} are allowed")
    need(raw.endswith(b"\n"), "does not end in a newline")
    try:
        text = raw[:-1].decode("utf-8")
    except UnicodeDecodeError as fault:
        raise Wrong(f"is not UTF-8: {fault}") from None
    try:
        # The upstream's own document may have keys twice, it is passed on as it was: only the line's own are checked.
        line = json.loads(
            text, object_pairs_hook=list_pairs, parse_constant=refuse_constant, parse_float=double, parse_int=integer)
    except (ValueError, RecursionError) as fault:
        raise Wrong(f"is not JSON: {fault}") from None
    need(isinstance(line, Pairs), "is not an object")
    line = unique(line)
    for key, value in line.items():
        line[whole(key)] = settle(value, key != "data", 2)
    need(not re.search(r"[ \t\r\n]", STRING.sub("", text)), "has white space between its tokens")
    return line


class Pairs(list):
    """The members of an object before anybody decided what a doubled key means."""


def list_pairs(pairs):
    return Pairs(pairs)


def whole(text):
    need(not SURROGATE.search(text), "has half a surrogate pair alone")
    return text


def settle(value, strict, level):
    """The value with its objects made from pairs; its members are at this level and below."""
    need(not isinstance(value, list) or level <= MAX_LEVELS, f"has more than {MAX_LEVELS} levels")
    if isinstance(value, Pairs):
        # Of doubled keys, too.
        members = [(whole(key), settle(member, strict, level + 1)) for key, member in value]
        return unique(members) if strict else dict(members)
    if isinstance(value, list):
        return [settle(member, strict, level + 1) for member in value]
    return whole(value) if isinstance(value, str) else value


def check_order(value, schema, path=""):
    """Known keys come in the order in which the schema has them."""
    if isinstance(value, list):
        for member in value:
            check_order(member, schema.get("items", {}), path)
    if not isinstance(value, dict):
        return
    order = list(schema.get("properties", {}))
    known = [key for key in value if key in order]
    need(known == sorted(known, key=order.index), f"has its keys{path} in another order: {', '.join(known)}")
    for key in known:
        part = schema["properties"][key]
        if isinstance(part, dict):
            check_order(value[key], part, f"{path} in {key}")


def check_bands(bands):
    """Ends ascend, and only the last band has none."""
    ends = [band.get("up_to") for band in bands]
    need(not bands or (ends[-1] is None and None not in ends[:-1]), "has bands of which not just the last one is open")
    need(ends[:-1] == sorted(set(ends[:-1])), f"has bands whose ends do not ascend: {ends}")
    for band in bands:
        for key, most in (("name", MAX_BAND), ("letter", MAX_LETTER)):
            size = len(band[key].encode("utf-8", "surrogatepass"))
            need(size <= most, f"has a band's {key} of {size} bytes, at most {most} are allowed")


class Connection:
    """What has been seen of one connection."""

    def __init__(self, resumed=False):
        self.resumed = resumed
        self.count = 0
        self.hello = None
        self.due = ["hello", "stats"]
        self.expected = None
        self.kept = 0
        self.alerts = {}  # their states, by id
        self.gaps = 0
        # The time, word and since of each series' newest event, of which no line is missing.
        self.words = {}
        self.bye = False
        # The last column of an answer.
        self.column = None
        self.types = collections.Counter()

    def feed(self, raw):
        line = parse(raw)
        kind = line.get("type")
        name = kind if isinstance(kind, str) and kind in (CONNECTION | NUMBERED) - {"refusal", "column"} else "data"
        if kind == "kept" and "series" in line:
            name = "data"
        if kind == "error" and "seq" not in line and "source" not in line:
            name = "refusal"
        if kind == "window" and "seq" not in line:
            name = "column"
        fault = jsonschema.exceptions.best_match(VALIDATORS[name].iter_errors(line))
        if fault is not None:
            raise Wrong(f"does not fit the schema of {name}: {fault.json_path}: {fault.message[:300]}")
        check_order(line, SCHEMA["$defs"][name])
        need(not self.bye, "comes after the bye")
        need(self.column is None or name in {"column", "bye", "refusal", "hello"}, "comes behind a column")
        if self.due:
            need(kind == self.due[0], f"is {kind!r}; line {self.count + 1} has to be {self.due[0]!r}")
            self.due.pop(0)
        else:
            need(kind != "stats", "is 'stats' without a 'hello' before it")
            if kind == "hello":
                # The answer to a request: numbers go on wherever the reader wanted.
                self.due = ["stats"]
                self.expected = None
                self.resumed = True
        getattr(self, "see_" + name)(line)
        if "seq" in line:
            self.see_origin(line)
        if "seq" in line:
            self.number(line["seq"])
        self.count += 1
        self.types[kind] += 1

    def number(self, seq):
        """Without holes, unless the reader asked for a selection."""
        need(seq > self.kept, f"has number {seq}, but {self.kept} was kept")
        if self.expected is None or self.hello["filtered"]:
            low = self.hello["first_seq"] if self.expected is None else self.expected
            high = self.hello["next_seq"] if self.expected is None else math.inf
            if self.hello["filtered"]:
                high = math.inf
            need(low <= seq <= high, f"has number {seq}, expected was {low} to {high}")
        else:
            need(seq == self.expected, f"has number {seq}, expected was {self.expected} and no gap says why")
        self.expected = seq + 1

    def see_hello(self, line):
        self.hello = line
        self.words = {}
        self.kept = 0
        self.column = None
        need(line["first_seq"] <= line["next_seq"], "has a first_seq after its next_seq")
        need(line["history_s"] >= line["interval_s"], "has a history shorter than one interval")
        if not self.resumed:
            self.expected = line["first_seq"]

    def see_stats(self, line):
        need(line["as_of"] < self.hello["next_seq"], f"is as of {line['as_of']}, which hello says is not there yet")
        for endpoint in line["endpoints"]:
            if endpoint["count"]:
                ordered = [endpoint[key + "_ms"] for key in ("min", "p50", "p90", "p95", "p99", "max")]
                need(ordered == sorted(ordered), f"has percentiles that fall: {ordered}")
                for key in ("last_ms", "mean_ms"):
                    low, high = ordered[0] - ROUNDING_MS, ordered[-1] + ROUNDING_MS
                    need(low <= endpoint[key] <= high, f"has a {key} outside of min and max")
        pairs = [(endpoint["endpoint"], endpoint["source"]) for endpoint in line["endpoints"]]
        need(len(pairs) == len(set(pairs)), "has an endpoint of a source twice")
        names = [source["source"] for source in line["sources"]]
        need(len(names) == len(set(names)), "has a source twice")
        for source in line["sources"]:
            check_bands(source.get("bands", []))
            need("code" not in source or source["state"] == "failing", "has the failure of a source that is not failing")
            size = len(source.get("unit", "").encode("utf-8", "surrogatepass"))
            need(size <= MAX_UNIT, f"has a unit of {size} bytes, at most {MAX_UNIT} are allowed")

    def see_origin(self, line):
        """What came from an agent of a fleet is of a source of that agent's."""
        if "agent" in line:
            need(line["source"].startswith(line["agent"] + "."), "has an agent that its source is not of")
            need("origin_run" in line or "origin_seq" not in line, "has a number of no run")

    def see_data(self, line):
        source, series = line["source"], line["series"]
        need(series == source or series.startswith(source + "/"), f"has series {series!r}, which is not of {source!r}")
        text = line.get("text", "").encode("utf-8", "surrogatepass")
        need(len(text) <= MAX_TEXT, f"has a text of {len(text)} bytes, at most {MAX_TEXT} are allowed")
        self.see_word(line)

    def see_word(self, line):
        """A series has its word since the first event in a row that has it, whatever comes late."""
        word, since = line.get("word"), line.get("since")
        if word is not None:
            size = len(word.encode("utf-8", "surrogatepass"))
            need(size <= MAX_WORD, f"has a word of {size} bytes, at most {MAX_WORD} are allowed")
            need(since <= line["time"], f"has a word since {since}, which is later than its time")
        if "agent" in line:
            return
        before = self.words.get(line["series"])
        if before is not None and line["time"] < before[0]:
            return
        if word is not None and before is not None:
            # What is kept of an earlier run may be read only now, and then a row began earlier.
            first = before[2] if before[1] == word else line["time"]
            need(since == first or before[1] == word and since < first, f"has a word since {since}, not {first}")
        self.words[line["series"]] = (line["time"], word, since)

    def see_latency(self, line):
        phases = sum(line[key] for key in ("dns_ms", "connect_ms", "tls_ms", "wait_ms", "receive_ms"))
        need(phases <= line["ms"] + ROUNDING_MS, f"has phases of {phases} ms in a request of {line['ms']} ms")

    def see_memory(self, line):
        need(line["peak_bytes"] >= line["rss_bytes"], "has a peak below what is resident")
        need(line["private_bytes"] <= line["rss_bytes"], "has more private than resident memory")

    def see_window(self, line):
        low, high = line["min"], line["max"]
        slack = 1e-9 * max(1.0, abs(low), abs(high))
        need(low <= line["last"] <= high, "has a last outside of min and max")
        need(low - slack <= line["mean"] <= high + slack, "has a mean outside of min and max")
        need(line["last_seq"] < line["seq"], "comes before its last event")
        need(line["start"].endswith(".000000Z"), "does not start at a whole second")
        need("band" in line or "trend" not in line, "has a trend and no band")
        size = len(line.get("band", "").encode("utf-8", "surrogatepass"))
        need(size <= MAX_BAND, f"has a band of {size} bytes, at most {MAX_BAND} are allowed")
        own = line["series"].startswith(("latency:", "memory:", "count:")) and not line["series"].startswith(line["source"])
        need(not (own and "band" in line), "has a band, but is not of data")

    def see_column(self, line):
        need(self.hello["filtered"], "is a column of a connection that asked for none")
        before, self.column = self.column, line
        if before is not None:
            # One with nothing says that the agent still searches.
            is_own = before["start"] == line["start"] and before["count"] + before["errors"] + before["gaps"] == 0
            need(is_own or before["start"] < line["start"], f"starts at {line['start']}, which is not after the one before")
        if line["count"] > 0:
            need(line["min"] <= line["last"] <= line["max"], "has a last outside of min and max")
            need(line["min"] <= line["mean"] <= line["max"], "has a mean outside of min and max")

    def see_error(self, line):
        pass

    def see_refusal(self, line):
        pass

    def see_progress(self, line):
        need(line["done"] <= line.get("total", math.inf), "has more done than there is")
        need(line.get("items", 0) <= line["done"], "has more items than are done")
        gone = line.get("gone", [])
        need(len(set(gone)) == len(gone), "says twice that a series is gone")
        size = sum(len(key.encode("utf-8", "surrogatepass")) for key in gone)
        need(size <= MAX_GONE, f"has {size} bytes of keys, at most {MAX_GONE} are allowed")

    def see_recovered(self, line):
        need(round(line["down_s"], 3) == line["down_s"], f"has {line['down_s']} s, more digits than milliseconds")

    def see_restart(self, line):
        pass

    def see_lost(self, line):
        need(line["from"] <= line["to"], f"goes from {line['from']} to {line['to']}")
        need(line["source"] == line["agent"] + ".catwatch", "is of another source than its agent")

    def see_peer(self, line):
        need(line["source"] == line["agent"] + ".catwatch", "is of another source than its agent")

    def see_agent(self, line):
        pass

    def see_alert(self, line):
        state = line["state"]
        need(("reason" in line) == (state == "resolved") or state == "ok", "has a reason, or none, against its state")
        need(("down_s" in line) == (state == "resolved"), "has down_s, or none, against its state")
        need("value" not in line or "text" not in line, "has both a value and a text")
        need(("threshold_to" in line) == (line.get("op") in ("in", "not in")), "has threshold_to, or none, against its op")
        if "agent" not in line:
            before = self.alerts.get(line["id"])
            need(before is None or state in NEXT_STATES[before], f"is {state} behind {before}")
            self.alerts[line["id"]] = "firing" if state == "reminder" else state

    def see_clock(self, line):
        need(line["source"].split(".")[-1] == "catwatch", "is not of an agent")

    def see_kept(self, line):
        """Kept lines come before all others, by ascending number, and are older than those, but for those of a fleet's agents."""
        need(line["run"] == self.hello["run"], "is of another run than hello")
        if line["line"]["type"] == "window":
            return self.see_windows(line["line"])
        seq = line["line"]["seq"]
        if seq == 0:
            need("origin_run" in line["line"] and "origin_seq" in line["line"], "keeps a line without a number")
            return
        need(seq > self.kept, f"keeps number {seq} behind {self.kept}")
        need(seq < self.hello["next_seq"], f"keeps number {seq}, which is not there yet")
        need(not self.resumed or self.expected is None, "comes behind numbered lines")
        self.kept = seq

    def see_windows(self, line):
        """The kept windows of a series, which may be of lines that are still to come."""
        need(line["seconds"] > self.hello["interval_s"], "has windows that are no wider than those of window lines")
        starts = [row[0] for row in line["rows"]]
        need(starts == sorted(set(starts)), f"has windows that are not in order: {starts}")
        for start, last, low, high, count, mean in line["rows"]:
            slack = 1e-9 * max(1.0, abs(low), abs(high))
            need(low <= last <= high and low - slack <= mean <= high + slack, "has a value outside of min and max")
            need(start % line["seconds"] == 0, f"has a window that starts at {start}")
            need(count >= 1 and count == int(count), f"has {count} values in a window")

    def see_gap(self, line):
        first, last = line["from"], line["to"]
        self.words = {}
        need(first <= last, f"goes from {first} to {last}")
        need(self.expected is None or first == self.expected, f"begins at {first}, expected was {self.expected}")
        self.expected = last + 1
        self.gaps += 1

    def see_bye(self, line):
        need(line["run"] == self.hello["run"], "names another run than hello did")
        if self.expected is not None and not self.hello["filtered"]:
            need(line["last_seq"] == self.expected - 1, f"says {line['last_seq']}, seen was {self.expected - 1}")
        self.bye = True


def check(stream, resumed=False, expect_bye=False):
    """The summary of a stream of raw lines, or `Wrong` with the offending line."""
    connection = Connection(resumed)
    for raw in stream:
        try:
            connection.feed(raw)
        except Wrong as wrong:
            shown = raw[:400].decode("utf-8", "backslashreplace").rstrip("\n")
            raise Wrong(f"line {connection.count + 1} {wrong}\n{shown!a}") from None
    need(connection.count >= 2, f"the stream has {connection.count} lines; hello and stats are the least")
    need(connection.bye or not expect_bye, "the stream ends without a bye")
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(connection.types.items()))
    return f"{connection.count} lines are valid: {kinds}; {connection.gaps} gaps"


def main(arguments):
    if arguments == ["--self-test"]:
        sys.dont_write_bytecode = True
        import validate_lines_test

        return validate_lines_test.main()
    unknown = set(arguments) - {"--resumed", "--expect-bye"}
    if unknown:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(check(sys.stdin.buffer, "--resumed" in arguments, "--expect-bye" in arguments))
    except Wrong as wrong:
        print(f"validate_lines: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
