"""Proves that validate_lines.py can fail: good streams have to pass, and every spoilt one has to be refused for its reason."""

import json
import pathlib
import re
import sys

import jsonschema

import validate_lines

TIME = "2025-01-02T03:04:05.678901Z"
HELLO = (
    '{"type":"hello","time":"%s","format":1,"run":"r1","filtered":false,"interval_s":10,"history_s":120,"first_seq":1,'
    '"next_seq":3,"host":{"name":"h","device":"d","os":"o","kernel":"k","arch":"a"},"app":{"name":"catwatch",'
    '"version":"0.1.0","started":"%s"}}' % (TIME, TIME)
)
STATS = (
    '{"type":"stats","time":"%s","as_of":2,"endpoints":[{"endpoint":"GET https://catfact.ninja/fact","source":"fact",'
    '"count":20,"errors":1,"last_ms":130.1,"mean_ms":120.5,"min_ms":90,"p50_ms":118,"p90_ms":140,"p95_ms":141,"p99_ms":150,'
    '"max_ms":150},{"endpoint":"GET http://h/x","source":"x","count":0,"errors":3}],"sources":[{"source":"fact",'
    '"state":"ok","since":"%s"}]}' % (TIME, TIME)
)
FACT = (
    '{"seq":1,"time":"%s","type":"fact","source":"fact","series":"fact","value":106,"text":"Cats \\u001b[31m",'
    '"data":{"fact":"Cats  sleep","length":106}}' % TIME
)
LATENCY = (
    '{"seq":2,"time":"%s","type":"latency","source":"fact","endpoint":"GET https://catfact.ninja/fact","status":200,'
    '"ms":132.412,"dns_ms":1.1,"connect_ms":20.3,"tls_ms":41.0,"wait_ms":69.5,"receive_ms":0.5,"bytes":178,'
    '"reused":false,"late_ms":0.2}' % TIME
)
MEMORY = (
    '{"seq":3,"time":"%s","type":"memory","source":"catwatch","rss_bytes":14680064,"peak_bytes":15728640,'
    '"private_bytes":5242880}' % TIME
)
WINDOW = (
    '{"seq":4,"time":"%s","type":"window","source":"fact","series":"fact","start":"2025-01-02T03:04:00.000000Z",'
    '"seconds":10,"last":106,"last_seq":1,"count":5,"min":61,"max":140,"mean":98.2}' % TIME
)
COLUMN = (
    '{"type":"window","time":"%s","source":"fact","series":"fact","start":"2025-01-02T03:04:00.000000Z","seconds":60,'
    '"last":106,"count":5,"min":61,"max":140,"mean":98.2,"errors":1,"gaps":0}' % TIME
)
EMPTY = COLUMN.replace('"last":106,"count":5,"min":61,"max":140,"mean":98.2', '"count":0')
LATER = EMPTY.replace("03:04:00", "03:05:00")
NOTHING = EMPTY.replace('"errors":1', '"errors":0')
KEPT = '{"type":"kept","time":"%s","run":"r1","line":%s}' % (TIME, FACT)
EARLIER = KEPT.replace('"seq":1', '"seq":0').replace("}}}", '},"origin_run":"r0","origin_seq":7}}')
KEPT_ROWS = KEPT.replace(
    FACT, '{"seq":1,"time":"%s","type":"window","source":"f","series":"f","seconds":600,"rows":[[600,1,1,1,1,1],[1200,3,2,4,2,3]]}' % TIME)
KEPT_LATENCY = '{"type":"kept","time":"%s","run":"r1","line":%s}' % (TIME, LATENCY)
# A connection whose log begins with number 5.
KEEPING = HELLO.replace('"first_seq":1,"next_seq":3', '"first_seq":5,"next_seq":6')
FACT5 = FACT.replace('"seq":1', '"seq":5')
ERROR = (
    '{"seq":5,"time":"%s","type":"error","source":"fact","code":"timeout","message":"no answer within 10 s","attempt":3,'
    '"retry_in_ms":4180}' % TIME
)
FAILURE = '"code":"dns","message":"no address","attempt":3,"retry_at":"%s"' % TIME
PROGRESS = '{"seq":6,"time":"%s","type":"progress","source":"breeds","done":60,"total":98,"page":2}' % TIME
AGENT = (
    '{"seq":7,"time":"%s","type":"agent","source":"catwatch","events":90,"readers":2,"gaps":0,"late":0,"future":0,"series":3,'
    '"refused_series":0,"loop_lag_ms":0.3,"cpu_ms":41.0,"outputs":[{"output":"stdout","state":"ok","behind":0}]}' % TIME
)
GAP = '{"type":"gap","time":"%s","from":8,"to":90,"reason":"slow_reader"}' % TIME
KEYED = '{"seq":91,"time":"%s","type":"breed","source":"breeds","series":"breeds/Manx","truncated":true}' % TIME
BYE = '{"type":"bye","time":"%s","run":"r1","last_seq":91,"reason":"SIGTERM"}' % TIME
REFUSAL = '{"type":"error","time":"%s","code":"protocol","message":"a request is a JSON object"}' % TIME
GOOD = [HELLO, STATS, FACT, LATENCY, MEMORY, WINDOW, ERROR, PROGRESS, AGENT, GAP, KEYED, BYE]


def swap(index, old, new):
    """The good stream with a change in one line; the change has to change something."""
    assert old in GOOD[index], (old, GOOD[index])
    return GOOD[:index] + [GOOD[index].replace(old, new, 1)] + GOOD[index + 1 :]


def without(index):
    return GOOD[:index] + GOOD[index + 1 :]


GOOD_BAND = '{"name":"good","letter":"G","color":"#00b050","up_to":50}'
POOR = '{"name":"very poor","letter":"P","color":"#ff0000","up_to":200.5}'
SEVERE = '{"name":"severe","letter":"S","color":"#c00000"}'
SCALE = '"bands":[%s,%s,%s],"higher_is_better":false' % (GOOD_BAND, POOR, SEVERE)


def described(bands, before=""):
    """The good stream with a source that says how its values are to be read."""
    return GOOD[:1] + [GOOD[1].replace('"state":"ok","since":"%s"' % TIME, '"state":"ok","since":"%s",' % TIME + before + bands)] + GOOD[2:]


def words(*states):
    """Events of one series, each by its second, its word (none for a number) and since which second it says to have it."""
    lines = []
    for number, (second, word, since) in enumerate(states, 1):
        line = '{"seq":%d,"time":"2025-01-02T03:04:%02d.000000Z","type":"s","source":"s","series":"s","value":1}'
        line = line % (number, second)
        if word is not None:
            line = line[:-1] + ',"word":"%s","since":"2025-01-02T03:04:%02d.000000Z"}' % (word, since)
        lines.append(line)
    return [HELLO.replace('"next_seq":3', '"next_seq":9'), STATS] + lines


def columns(*lines):
    """An answer to a request for columns."""
    return [HELLO.replace('"filtered":false', '"filtered":true'), STATS, *lines]


PASSES = {
    "a word": (swap(2, '"value":106', '"value":106,"word":"up","since":"%s"' % TIME), {}),
    "a word that stays": (words((1, "up", 1), (2, "up", 1), (3, "down", 3), (3, "down", 3), (4, "up", 4)), {}),
    "a late word": (words((5, "up", 5), (4, "down", 4), (4, "up", 4), (6, "up", 5)), {}),
    "a word of a run before": (words((5, "up", 5), (6, "up", 1), (7, "up", 1)), {}),
    "a word behind a number": (words((5, "up", 5), (6, None, 0), (7, "up", 7)), {}),
    "all types": (GOOD, {"expect_bye": True}),
    "no bye": (GOOD[:-1], {}),
    "a failing source": (
        swap(1, '"state":"ok","since":"%s"' % TIME, '"state":"failing","since":"%s",' % TIME + FAILURE), {}),
    "only hello and stats": (GOOD[:2], {}),
    "new keys": (swap(4, '"rss_bytes"', '"new":[1],"rss_bytes"'), {}),
    "a new data type": (swap(2, '"type":"fact"', '"type":"dog"'), {}),
    "no value": (swap(2, '"value":106,', ""), {}),
    "doubled keys in the upstream's document": (swap(2, '"length":106', '"length":106,"length":1e308'), {}),
    "an altered document": (swap(2, '"length":106}', '"length":106},"altered":true'), {}),
    "30 levels": (swap(2, '"length":106', '"length":' + "[" * 28 + "]" * 28), {}),
    "the greatest double, and a pair": (swap(2, '"length":106', r'"length":[1.7976931348623158e308,"\ud83d\ude3a"]'), {}),
    "a late start": ([HELLO.replace('"first_seq":1', '"first_seq":2'), STATS, LATENCY], {}),
    "resumed": ([HELLO, STATS, LATENCY, MEMORY], {"resumed": True}),
    "a filtered reader": ([HELLO.replace('"filtered":false', '"filtered":true'), STATS, LATENCY, WINDOW, BYE], {}),
    "columns": (
        [HELLO, STATS, HELLO.replace('"filtered":false', '"filtered":true'), STATS, COLUMN, LATER, BYE[:-1] + ',"oldest":"%s"}' % TIME],
        {"expect_bye": True}),
    "columns while the agent searches": (columns(NOTHING, NOTHING, COLUMN, LATER, BYE), {"expect_bye": True}),
    "columns twice": (columns(LATER) + columns(COLUMN), {}),
    "a gap first": ([HELLO, STATS, GAP.replace('"from":8', '"from":1'), KEYED, BYE], {}),
    "a window with band and trend": (swap(5, '98.2', '98.2,"band":"long","trend":"improving"'), {}),
    "kept lines": ([KEEPING, STATS, KEPT, KEPT_LATENCY, FACT5], {}),
    "a kept line of an earlier run": ([KEEPING, STATS, FACT5, EARLIER], {}),
    "kept windows": ([KEEPING, STATS, KEPT_ROWS, KEPT, FACT5], {}),
    "data of the type kept": (swap(2, '"type":"fact"', '"type":"kept"'), {}),
    "a refused request": (GOOD[:3] + [REFUSAL] + GOOD[3:], {"expect_bye": True}),
    "an answered request": (GOOD[:5] + [HELLO, STATS] + GOOD[3:], {"expect_bye": True}),
    "a band with a name of any kind": (swap(5, '98.2', '98.2,"band":"Very Poor ä"'), {}),
    "described sources": (described(SCALE, '"type":"fact","unit":"µg/m³",'), {}),
    "one band": (described('"bands":[%s],"higher_is_better":true' % SEVERE), {}),
    "an endpoint of two sources": (swap(1, "GET http://h/x", "GET https://catfact.ninja/fact"), {}),
    "refused endpoints": (swap(8, '"loop_lag_ms"', '"refused_endpoints":2,"loop_lag_ms"'), {}),
    "an error of an endpoint": (swap(6, '"code"', '"endpoint":"GET http://h/x","code"'), {}),
}

FAILS = {
    "a word without since": (swap(2, '"value":106', '"value":106,"word":"up"'), "schema of data", {}),
    "since without a word": (swap(2, '"value":106', '"value":106,"since":"%s"' % TIME), "schema of data", {}),
    "a word without a value": (swap(2, '"value":106', '"word":"up","since":"%s"' % TIME), "schema of data", {}),
    "an empty word": (swap(2, '"value":106', '"value":106,"word":"","since":"%s"' % TIME), "schema of data", {}),
    "a long word": (swap(2, '"value":106', '"value":106,"word":"%s","since":"%s"' % ("ä" * 33, TIME)), "word of 66 bytes", {}),
    "a word behind the text": (
        swap(2, '"data"', '"word":"up","since":"%s","data"' % TIME), "another order", {}),
    "a word of the future": (words((5, "up", 6)), "later than its time", {}),
    "a word that begins anew": (words((5, "up", 5), (6, "up", 6)), "not 2025-01-02T03:04:05", {}),
    "another word that goes on": (words((5, "up", 5), (6, "down", 5)), "not 2025-01-02T03:04:06", {}),
    "a word that goes on behind a number": (words((5, "up", 5), (6, None, 0), (7, "up", 5)), "not 2025-01-02T03:04:07", {}),
    "a late word that changed what is": (words((5, "up", 5), (4, "down", 4), (6, "up", 6)), "not 2025-01-02T03:04:05", {}),
    "nothing": ([], "0 lines", {}),
    "kept lines backwards": ([KEEPING, STATS, KEPT_LATENCY, KEPT, FACT5], "keeps number 1 behind 2", {}),
    "a kept line of nowhere": ([KEEPING, STATS, EARLIER.replace("origin_seq", "other_seq")], "without a number", {}),
    "a kept line of another run": ([KEEPING, STATS, KEPT.replace('"run":"r1"', '"run":"r2"'), FACT5], "another run", {}),
    "a kept line of the future": ([KEEPING, STATS, KEPT.replace('"seq":1', '"seq":6'), FACT5], "not there yet", {}),
    "a kept window": ([KEEPING, STATS, KEPT.replace(FACT, WINDOW)], "schema of kept", {}),
    "kept windows as wide as others": ([KEEPING, STATS, KEPT_ROWS.replace('"seconds":600', '"seconds":10')], "no wider", {}),
    "kept windows backwards": ([KEEPING, STATS, KEPT_ROWS.replace("[600,", "[2400,")], "not in order", {}),
    "a kept window between two": ([KEEPING, STATS, KEPT_ROWS.replace("[600,", "[601,")], "starts at 601", {}),
    "a kept window of nothing": ([KEEPING, STATS, KEPT_ROWS.replace("[600,1,1,1,1,1]", "[600,1,1,1,0,1]")], "0 values", {}),
    "a kept window outside of itself": ([KEEPING, STATS, KEPT_ROWS.replace("[600,1,", "[600,2,")], "outside", {}),
    "a kept line in a kept line": ([KEEPING, STATS, KEPT.replace(FACT, KEPT)], "schema of kept", {}),
    "a number that was kept": ([KEEPING, STATS, KEPT.replace('"seq":1', '"seq":5'), FACT5], "was kept", {}),
    "bands without a direction": (described('"bands":[%s]' % SEVERE), "schema of stats", {}),
    "a direction without bands": (described('"higher_is_better":true'), "schema of stats", {}),
    "the failure of a source that is well": (described(FAILURE), "not failing", {}),
    "a message without a code": (described('"message":"no address"'), "schema of stats", {}),
    "a failure tried never": (described(FAILURE.replace('"attempt":3', '"attempt":0')), "schema of stats", {}),
    "no bands": (described('"bands":[],"higher_is_better":true'), "schema of stats", {}),
    "a band without a colour": (described(SCALE.replace(',"color":"#c00000"', "")), "schema of stats", {}),
    "a colour by name": (described(SCALE.replace("#c00000", "red")), "schema of stats", {}),
    "65 bands": (
        described('"bands":[%s%s],"higher_is_better":true' % ((GOOD_BAND + ",") * 64, SEVERE)),
        "schema of stats",
        {},
    ),
    "ends that fall": (described(SCALE.replace("200.5", "49")), "do not ascend", {}),
    "ends that are equal": (described(SCALE.replace("200.5", "50")), "do not ascend", {}),
    "a closed last band": (described(SCALE.replace("%s," % POOR, "").replace(SEVERE, POOR)), "last one is open", {}),
    "an open first band": (described(SCALE.replace(',"up_to":50', "")), "last one is open", {}),
    "a long band": (described(SCALE.replace("severe", "ä" * 33)), "name of 66 bytes", {}),
    "a long letter": (described(SCALE.replace('"S"', '"%s"' % ("ä" * 9))), "letter of 18 bytes", {}),
    "a long unit": (described(SCALE, '"unit":"%s",' % ("µ" * 17)), "unit of 34 bytes", {}),
    "a band's keys in another order": (
        described(SCALE.replace('"name":"severe","letter":"S"', '"letter":"S","name":"severe"')),
        "another order",
        {},
    ),
    "an endpoint of a source twice": (
        swap(1, '"GET http://h/x","source":"x"', '"GET https://catfact.ninja/fact","source":"fact"'),
        "endpoint of a source twice",
        {},
    ),
    "a source twice": (
        swap(1, '"sources":[', '"sources":[{"source":"fact","state":"ok","since":"%s"},' % TIME),
        "source twice",
        {},
    ),
    "a trend without a band": (swap(5, '98.2', '98.2,"trend":"improving"'), "trend and no band", {}),
    "a long band in a window": (swap(5, '98.2', '98.2,"band":"%s"' % ("ä" * 33)), "band of 66 bytes", {}),
    "a band of latencies": (
        swap(5, '"series":"fact"', '"series":"latency:fact"')[:5]
        + [GOOD[5].replace('"series":"fact"', '"series":"latency:fact"').replace('98.2', '98.2,"band":"b"')],
        "not of data",
        {},
    ),
    "no endpoints refused": (
        swap(8, '"loop_lag_ms"', '"refused_endpoints":0,"loop_lag_ms"'),
        "schema of agent",
        {},
    ),
    "no hello": (without(0), "line 1 is 'stats'", {}),
    "no stats": (without(1), "line 2 is 'fact'", {}),
    "a second hello": (GOOD[:2] + [HELLO, FACT], "line 4 has to be 'stats'", {}),
    "stats again": (GOOD[:2] + [STATS], "without a 'hello'", {}),
    "a refusal before hello": ([REFUSAL], "line 1 has to be 'hello'", {}),
    "a refusal without a code": (
        GOOD[:2] + [REFUSAL.replace('"code":"protocol",', "")],
        "schema of refusal",
        {},
    ),
    "a number before what was asked for": (GOOD[:3] + [HELLO.replace('"first_seq":1', '"first_seq":2'), STATS, FACT], "has number 1", {}),
    "a hole": (without(3), "line 4 has number 3, expected was 2 and no gap", {}),
    "a number twice": (GOOD[:4] + [LATENCY], "line 5 has number 2, expected was 3", {}),
    "a gap that leaves one out": (swap(9, '"from":8', '"from":9'), "begins at 9, expected was 8", {}),
    "a gap that is too long": (swap(9, '"to":90', '"to":91'), "has number 91, expected was 92", {}),
    "a gap backwards": (swap(9, '"to":90', '"to":7'), "goes from 8 to 7", {}),
    "a start that is too late": ([HELLO, STATS, LATENCY], "has number 2, expected was 1", {}),
    "a resumed start before the log": (
        [HELLO.replace('"first_seq":1', '"first_seq":2'), STATS, FACT],
        "has number 1, expected was 2 to 3",
        {"resumed": True},
    ),
    "filtered backwards": (
        [HELLO.replace('"filtered":false', '"filtered":true'), STATS, LATENCY, FACT],
        "has number 1, expected was 3",
        {},
    ),
    "a line after the bye": (GOOD + [BYE], "comes after the bye", {}),
    "a bye that says too much": (swap(11, '"last_seq":91', '"last_seq":92'), "says 92, seen was 91", {}),
    "a column that nobody asked for": ([HELLO, STATS, COLUMN], "asked for none", {}),
    "columns that descend": (columns(LATER, COLUMN), "is not after", {}),
    "a column twice": (columns(COLUMN, COLUMN), "is not after", {}),
    "a column and the same with nothing": (columns(COLUMN, NOTHING), "is not after", {}),
    "a line between columns": (columns(COLUMN, LATENCY), "comes behind a column", {}),
    "a column outside of itself": (columns(COLUMN.replace('"last":106', '"last":160')), "has a last outside", {}),
    "a column whose mean is none": (columns(COLUMN.replace("98.2", "198.2")), "has a mean outside", {}),
    "a column without a value that has one": (columns(COLUMN.replace('"count":5', '"count":0')), "schema of column", {}),
    "a column with a value that has none": (columns(EMPTY.replace('"count":0', '"count":1')), "schema of column", {}),
    "a bye of another run": (swap(11, '"run":"r1"', '"run":"r2"'), "another run", {}),
    "a missing bye": (GOOD[:-1], "ends without a bye", {"expect_bye": True}),
    "stats of the future": (swap(1, '"as_of":2', '"as_of":3'), "as of 3", {}),
    "percentiles that fall": (swap(1, '"p90_ms":140', '"p90_ms":160'), "percentiles that fall", {}),
    "a mean above the maximum": (swap(1, '"mean_ms":120.5', '"mean_ms":151'), "mean_ms outside", {}),
    "figures of nothing": (swap(1, '"count":0,"errors":3', '"count":0,"errors":3,"p50_ms":1'), "schema of stats", {}),
    "count without figures": (swap(1, '"count":0', '"count":1'), "schema of stats", {}),
    "a query in an endpoint": (swap(3, "/fact", "/fact?key=1"), "schema of latency", {}),
    "a password in an endpoint": (swap(3, "https://", "https://me:pw@"), "schema of latency", {}),
    "phases longer than the request": (swap(3, '"wait_ms":69.5', '"wait_ms":69.6'), "phases of", {}),
    "a status of none": (swap(3, '"status":200', '"status":0'), "schema of latency", {}),
    "a negative phase": (swap(3, '"dns_ms":1.1', '"dns_ms":-0.1'), "schema of latency", {}),
    "milliseconds in a time": (swap(2, "678901Z", "678Z"), "schema of data", {}),
    "a local time": (swap(2, "678901Z", "678901+01:00"), "schema of data", {}),
    "month 13": (swap(2, "2025-01", "2025-13"), "schema of data", {}),
    "a fraction of a millisecond to wait": (swap(6, "4180", "4180.5"), "schema of error", {}),
    "an endpoint after the code": (swap(6, '"attempt"', '"endpoint":"GET http://h/x","attempt"'), "another order", {}),
    "an unknown code": (swap(6, '"timeout"', '"time_out"'), "schema of error", {}),
    "no message": (swap(6, '"message":"no answer within 10 s",', ""), "schema of error", {}),
    "an unknown type that is no data event": (swap(7, '"progress"', '"progres"'), "schema of data", {}),
    "a reserved type": (swap(2, '"type":"fact"', '"type":"resync"'), "schema of data", {}),
    "a restart in the middle of a run": (swap(4, '"type":"memory"', '"type":"restart"'), "schema of restart", {}),
    "a type that is no string": (swap(2, '"type":"fact"', '"type":1'), "schema of data", {}),
    "a text as value": (swap(2, '"value":106', '"value":"106"'), "schema of data", {}),
    "an infinite value": (swap(2, '"value":106', '"value":1e999'), "no double holds", {}),
    "a document with a number that no double holds": (swap(2, '"length":106', '"length":1e999'), "no double holds", {}),
    "309 digits": (swap(2, '"length":106', '"length":' + "9" * 309), "no double holds", {}),
    "31 levels": (swap(2, '"length":106', '"length":' + "[" * 29 + "]" * 29), "more than 30 levels", {}),
    "31 levels in a new key": (swap(4, '"rss_bytes"', '"new":%s,"rss_bytes"' % ("[" * 30 + "]" * 30)), "more than 30 levels", {}),
    "half a pair in a document": (swap(2, '"length":106', r'"length":"\ud800"'), "half a surrogate pair", {}),
    "half a pair in a doubled key of it": (swap(2, '"length":106', r'"\udfff":1,"\udfff":1'), "half a surrogate pair", {}),
    "half a pair in a text": (swap(2, "Cats", r"\udfff"), "half a surrogate pair", {}),
    "half a pair in a key": (swap(4, '"rss_bytes"', r'"\ud800":1,"rss_bytes"'), "half a surrogate pair", {}),
    "altered false": (swap(10, '"truncated":true', '"altered":false'), "schema of data", {}),
    "a long message": (swap(6, "no answer within 10 s", "x" * 1001), "schema of error", {}),
    "NaN": (swap(2, '"length":106', '"length":NaN'), "NaN is not JSON", {}),
    "truncated false": (swap(10, '"truncated":true', '"truncated":false'), "schema of data", {}),
    "a series of another source": (swap(10, "breeds/Manx", "breed/Manx"), "not of 'breeds'", {}),
    "a series that only looks alike": (swap(10, "breeds/Manx", "breedsManx"), "not of 'breeds'", {}),
    "a long text": (swap(2, '"text":"', '"text":"' + "é" * 2050), "text of", {}),
    "a last outside of its window": (swap(5, '"last":106', '"last":141'), "last outside", {}),
    "a mean outside of its window": (swap(5, '"mean":98.2', '"mean":60'), "mean outside", {}),
    "a window of nothing": (swap(5, '"count":5', '"count":0'), "schema of window", {}),
    "a window before its event": (swap(5, '"last_seq":1', '"last_seq":4'), "before its last event", {}),
    "a window within a second": (swap(5, "00.000000Z", "00.500000Z"), "whole second", {}),
    "a peak below": (swap(4, '"peak_bytes":15728640', '"peak_bytes":1'), "peak below", {}),
    "too much private": (swap(4, '"private_bytes":5242880', '"private_bytes":99999999'), "more private", {}),
    "too much done": (swap(7, '"done":60', '"done":99'), "more done", {}),
    "hello with a number": (swap(0, '"format":1', '"format":1,"seq":1'), "schema of hello", {}),
    "no device": (swap(0, '"device":"d",', ""), "schema of hello", {}),
    "format 2": (swap(0, '"format":1', '"format":2'), "schema of hello", {}),
    "a short history": (swap(0, '"history_s":120', '"history_s":9'), "history shorter", {}),
    "keys in another order": (swap(2, '"seq":1,"time":"%s"' % TIME, '"time":"%s","seq":1' % TIME), "another order", {}),
    "inner keys in another order": (swap(0, '"name":"h","device":"d"', '"device":"d","name":"h"'), "another order", {}),
    "a key twice": (swap(2, '"value":106', '"value":106,"value":106'), "comes twice", {}),
    "an inner key twice": (swap(0, '"os":"o"', '"os":"o","os":"o"'), "comes twice", {}),
    "white space": (swap(2, '"value":106', '"value": 106'), "white space", {}),
    "white space in the document": (swap(2, '"length":106', '"length":\t106'), "white space", {}),
    "an empty line": (GOOD[:3] + [""] + GOOD[3:], "is not JSON", {}),
    "an array": (GOOD[:2] + ["[1]"], "is not an object", {}),
    "a torn line": (swap(3, '"reused":false,"late_ms":0.2}', ""), "is not JSON", {}),
    "two lines in one": (GOOD[:2] + [FACT + LATENCY], "is not JSON", {}),
    "raw control characters": (swap(2, "\\u001b", "\x1b"), "is not JSON", {}),
}


def encode(lines):
    return [line.encode("utf-8") + b"\n" for line in lines]


def outcome(raw, arguments):
    try:
        return None, validate_lines.check(raw, **arguments)
    except validate_lines.Wrong as wrong:
        return str(wrong), None


def documentation_problems():
    """What the schema has and docs/wire-format.md does not say, type by type."""
    path = pathlib.Path(__file__).parents[2] / "docs/wire-format.md"
    sections = dict(section.split("\n", 1) for section in path.read_text(encoding="utf-8").split("\n## ")[1:])
    for name in sorted(validate_lines.VALIDATORS):
        text = sections[{"data": "Data events", "refusal": "Errors of one connection", "column": "Columns of a series"}.get(name, name)]
        if name in validate_lines.NUMBERED | {"data"}:
            text += sections["Rules for every line"]  # what lines of a fleet end with
        schema = validate_lines.SCHEMA["$defs"][name]
        for key in keys(schema):
            if not re.search(rf"[`.]{re.escape(key)}`", text):
                yield f"docs/wire-format.md does not say what {key!r} of {name} is"
    for code in validate_lines.SCHEMA["$defs"]["code"]["enum"]:
        if f"| `{code}` |" not in sections["error"]:
            yield f"docs/wire-format.md does not say when the code {code!r} is used"


def keys(schema):
    """The names of all properties, inner ones too."""
    for key, part in schema.get("properties", {}).items():
        yield key
        if isinstance(part, dict):
            yield from keys(part)
            yield from keys(part.get("items", {}))


def main():
    problems = []
    for name, (lines, arguments) in PASSES.items():
        wrong, _ = outcome(encode(lines), arguments)
        if wrong:
            problems.append(f"{name} should pass: {wrong}")
    cases = [(name, encode(lines), reason, arguments) for name, (lines, reason, arguments) in FAILS.items()]
    good = encode(GOOD)
    cases += [
        ("no newline at the end", good[:2] + [good[2][:-1]], "newline", {}),
        ("invalid UTF-8", good[:2] + [good[2].replace(b"sleep", b"sl\xffep")], "not UTF-8", {}),
        ("a line of a megabyte and a byte", good[:2] + [good[2].replace(b"sleep", b"z" * (1 << 20))], "bytes long", {}),
    ]
    # Every key that a type has to have is missed.
    for index, line in enumerate(GOOD):
        for key in json.loads(line):
            if key in validate_lines.SCHEMA["$defs"].get(json.loads(line)["type"], {}).get("required", []):
                rest = {other: value for other, value in json.loads(line).items() if other != key}
                spoilt = json.dumps(rest, separators=(",", ":"))
                cases.append((f"line {index + 1} without {key}", encode(GOOD[:index] + [spoilt]), f"line {index + 1} ", {}))
    for name, raw, reason, arguments in cases:
        wrong, summary = outcome(raw, arguments)
        if wrong is None:
            problems.append(f"{name} should fail: {summary}")
        elif reason not in wrong:
            problems.append(f"{name} should fail for {reason!r}: {wrong}")
    # The whole schema, which others use, says the same as the definition that is picked by the type here.
    schema = jsonschema.Draft202012Validator(validate_lines.SCHEMA)
    schema.check_schema(validate_lines.SCHEMA)
    for line in GOOD:
        if not schema.is_valid(json.loads(line)):
            problems.append(f"the schema as a whole refuses {line}")
    for name in ("an unknown code", "a reserved type", "a text as value", "hello with a number", "truncated false"):
        if all(schema.is_valid(json.loads(line)) for line in FAILS[name][0]):
            problems.append(f"the schema as a whole takes {name}")
    problems += documentation_problems()
    for problem in problems:
        print(f"validate_lines --self-test: {problem}", file=sys.stderr)
    print(f"self-test: {len(PASSES)} streams that pass, {len(cases)} that fail, {len(problems)} problems")
    return 1 if problems else 0
