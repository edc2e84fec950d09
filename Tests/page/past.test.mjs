// What a page asks the journal for, with a server that is a stand-in.
import assert from "node:assert/strict"
import test, { mock } from "node:test"
import { Board } from "../../Sources/Page/Files/board.mjs"
import { spread } from "../../Sources/Page/Files/graph.mjs"
import { pageFolder } from "./files.mjs"

const { PastSeries, columnWidth, fetchPast, timeOf, windowWidth } = await import(new URL("past.mjs", pageFolder))

const second = 1e6
const begin = Date.UTC(2026, 10, 21, 5, 0, 0) * 1000
const stamp = seconds => new Date(begin / 1000 + seconds * 1000).toISOString().replace("Z", "000Z")
const seriesOf = (name, source, more = {}) => new PastSeries({ name, source, from: begin, until: begin + 60 * second, column: second, ...more })
const column = (at, values, more = {}) => JSON.stringify({
    type: "window", time: stamp(900), source: "s", series: "s", start: stamp(at), seconds: 1,
    ...(values.length === 0 ? { count: 0 } : {
        last: values.at(-1), count: values.length, min: Math.min(...values), max: Math.max(...values),
        mean: values.reduce((sum, value) => sum + value, 0) / values.length,
    }), errors: 0, gaps: 0, ...more,
})
const hello = (run, next = 1) => JSON.stringify({
    type: "hello", time: stamp(900), format: 1, run, filtered: true, interval_s: 1, history_s: 120, first_seq: next, next_seq: next,
})
const refusal = JSON.stringify({ type: "error", time: stamp(900), code: "disk", message: "the journal cannot be read" })
const bye = JSON.stringify({ type: "bye", time: stamp(900), reason: "until", run: "r2", last_seq: 2, uptime_s: 1 })

/** A board of the run `r2` with values of `s` at these seconds, the first of which has the number 1, and errors. */
function boardOf(values, errors = []) {
    const board = new Board()
    let seq = 1
    const apply = line => assert.ok(board.apply(JSON.stringify(line)))
    apply({ type: "hello", time: stamp(0), format: 1, run: "r2", interval_s: 1, history_s: 120, first_seq: 1, next_seq: 1 })
    for (const [at, value] of values) apply({ seq: seq++, time: stamp(at), type: "s", source: "s", series: "s", value })
    for (const at of errors) apply({ seq: seq++, time: stamp(at), type: "error", source: "s", code: "timeout", message: "late", attempt: 1 })
    return board
}

const shown = past => past.windows.map(({ start, last, count, minimum, maximum, mean }) => [(start - begin) / second, last, count, minimum, maximum, mean])

test("a graph has a sample in the middle of each column, from its least to its greatest value", () => {
    const past = seriesOf("s", "s")
    for (const line of [hello("r1"), column(10, [1, 9, 3]), column(30, []), column(31, [5])]) past.take(line)
    const model = past.model(second)
    assert.deepEqual(model.samples.map(({ time, value, minimum, maximum }) => [(time - begin) / second, value, minimum, maximum]), [
        [10.5, 3, 1, 9], [31.5, 5, 5, 5],
    ])
    assert.deepEqual(model.samples.flatMap(spread).map(({ value }) => value), [1, 9, 3, 5])
    assert.deepEqual([model.start, model.end, model.width], [begin, begin + 60 * second, second])
    // Windows are of whole columns, whatever was asked for.
    assert.deepEqual([past.model(1.5 * second).width, past.model(20 * second).windows.length], [2 * second, 2])
})

test("the first and the last column are within the time, however they begin", () => {
    const past = new PastSeries({ name: "s", source: "s", from: begin + 0.7 * second, until: begin + 9.2 * second, column: second })
    for (const at of [-1, 0, 9, 10]) past.take(column(at, [at]))
    assert.deepEqual(past.model(second).samples.map(({ time, value }) => [(time - begin) / second, value]), [[0.7, 0], [9.199999, 9]])
})

test("columns are narrow, fill windows, and are not too many", () => {
    for (const [width, length, window, column] of [
        [10, 120, 10, 1], [10, 1000, 10, 1], [10, 1001, 10, 2], [10, 3600, 10, 5], [1, 86_400, 87, 87], [10, 86_400, 90, 90], [600, 86_400, 600, 100],
        [7, 3_600, 7, 7], [1, 1, 1, 1], [86_400, 7 * 86_400, 86_400, 640],
    ]) {
        assert.deepEqual([windowWidth(width * second, length * second), columnWidth(width * second, length * second)], [window * second, column * second])
    }
})

test("errors are counted, and their column has them once", () => {
    const past = seriesOf("s", "s")
    for (const line of [hello("r2", 3), column(10, [], { errors: 3 }), column(11, [], { errors: 1 }), bye]) past.take(line)
    assert.deepEqual(past.model(second).errors.map(({ time, code }) => [(time - begin) / second, code]), [[10.5, "3 errors"], [11.5, "error"]])
})

test("a column with nothing says that the search goes on", () => {
    const past = seriesOf("s", "s")
    for (const line of [hello("r1"), column(10, []), column(10, []), column(10, [1]), bye]) past.take(line)
    assert.deepEqual(shown(past).map(([at, , count]) => [at, count]), [[10, 1]])
    assert.equal(past.model(second).errors.length, 0)
})

/** A server that answers with chunks of text; `asked` has what it was asked for. */
function server(t, chunks, { status = 200, type = "application/x-ndjson", isOpen = false } = {}) {
    const asked = []
    t.mock.method(globalThis, "fetch", async (address, { signal, redirect }) => {
        // To follow one would be to read what somebody else has.
        assert.equal(redirect, "manual")
        asked.push(address)
        const body = new ReadableStream({
            start(controller) {
                signal.addEventListener("abort", () => {
                    try { controller.error(new DOMException("aborted", "AbortError")) } catch { /* It has ended. */ }
                })
                for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
                if (!isOpen) controller.close()
            },
        })
        return new Response(body, { status, headers: { "content-type": type } })
    })
    return asked
}

test("one request is made, and lines may come in any pieces", async t => {
    const text = [hello("r1"), column(10, [1]), column(11, [2]), bye, ""].join("\n")
    const asked = server(t, text.match(/[^]{1,50}/g))
    const past = seriesOf("s", "s")
    await fetchPast(past, new AbortController())
    assert.deepEqual(asked, ["feed?from=2026-11-21T05%3A00%3A00.000000Z&until=2026-11-21T05%3A01%3A00.000000Z&sources=s&series=s&width=1"])
    assert.deepEqual(shown(past).map(([, last]) => last), [1, 2])
})

for (const [name, chunks, more, message] of [
    ["an answer that breaks off", [hello("r1") + "\n", column(10, [1]) + "\n"], {}, "the connection broke"],
    ["a journal that fails", [hello("r1") + "\n", refusal + "\n", column(10, [1]) + "\n", bye + "\n"], {}, "the journal cannot be read"],
    ["an answer that breaks off within its last line", [hello("r1") + "\n", bye], {}, "the connection broke"],
    ["a journal that cannot be read", [hello("r1") + "\n", '{"type":"error","time":"2026-11-21T05:00:00.000000Z","code":"disk","message":"no disk"}\n'], {}, "no disk"],
    ["a refusal", ["no"], { status: 503, type: "text/plain" }, "status 503"],
    ["an older agent", ["a query has no \"series\""], { status: 400, type: "text/plain" }, "the agent refuses it: it may be older than this page"],
    ["somebody else", ["<html>"], { type: "text/html" }, "something else answers there"],
    ["an answer without an end", Array(20).fill("x".repeat(1 << 20)), { isOpen: true }, "the answer is too long"],
]) {
    test(`${name} is said in words`, async t => {
        server(t, chunks, more)
        const control = new AbortController()
        await assert.rejects(fetchPast(seriesOf("s", "s"), control), { message })
        // Nothing more is sent to who does not read.
        assert.ok(control.signal.aborted)
    })
}

test("characters may come in pieces", async t => {
    const bytes = new TextEncoder().encode([hello("r1"), column(10, [1], { series: "é" }), bye, ""].join("\n"))
    const cut = bytes.indexOf(0xC3) + 1
    t.mock.method(globalThis, "fetch", async () => new Response(new ReadableStream({
        start(controller) {
            controller.enqueue(bytes.slice(0, cut))
            controller.enqueue(bytes.slice(cut))
            controller.close()
        },
    }), { headers: { "content-type": "application/x-ndjson" } }))
    const past = seriesOf("é", "s")
    await fetchPast(past, new AbortController())
    assert.equal(past.windows.length, 1)
})

test("nobody who answers is said in words", async t => {
    t.mock.method(globalThis, "fetch", async () => { throw new TypeError("Failed to fetch") })
    await assert.rejects(fetchPast(seriesOf("s", "s"), new AbortController()), { message: "nothing answers" })
})

test("a server that is slow, but says something, is waited for", async t => {
    mock.timers.enable({ apis: ["setTimeout"] })
    t.after(() => mock.timers.reset())
    const turns = async () => { for (let count = 0; count < 20; count++) await new Promise(resolve => setImmediate(resolve)) }
    let body = null
    t.mock.method(globalThis, "fetch", async (_, { signal }) => {
        signal.addEventListener("abort", () => { try { body.error(signal.reason) } catch { /* It has ended. */ } })
        return new Response(new ReadableStream({ start: controller => { body = controller } }), { headers: { "content-type": "application/x-ndjson" } })
    })
    const past = seriesOf("s", "s")
    const all = fetchPast(past, new AbortController())
    for (const line of [hello("r1"), column(10, [1]), bye]) {
        await turns()
        mock.timers.tick(15_000)
        body.enqueue(new TextEncoder().encode(line + "\n"))
    }
    await turns()
    body.close()
    await all
    assert.equal(past.windows.length, 1)
})

test("a server that says nothing more is left, as it is by who leaves", async t => {
    server(t, [hello("r1") + "\n"], { isOpen: true })
    mock.timers.enable({ apis: ["setTimeout"] })
    t.after(() => mock.timers.reset())
    const turn = () => new Promise(resolve => setImmediate(resolve))
    const silent = assert.rejects(fetchPast(seriesOf("s", "s"), new AbortController()), { message: "the agent takes too long" })
    for (let count = 0; count < 20; count++) await turn()
    mock.timers.tick(20_000)
    await silent
    const control = new AbortController()
    const left = assert.rejects(fetchPast(seriesOf("s", "s"), control), { name: "AbortError" })
    control.abort()
    await left
})

test("a time is read as people write it", () => {
    // 2026-11-26 10:30:00 UTC, which clocks show as 12:30.
    const now = Date.UTC(2026, 10, 26, 10, 30) * 1000
    const offset = () => 7200
    const read = text => {
        const time = timeOf(text, now, offset)
        return time === null ? null : new Date(time / 1000).toISOString().slice(0, 19)
    }
    for (const [text, time] of [
        ["now", "2026-11-26T10:30:00"], ["1h", "2026-11-26T09:30:00"], ["-90s", "2026-11-26T10:28:30"], ["1.5h ago", "2026-11-26T09:00:00"],
        ["2d", "2026-11-24T10:30:00"], ["500ms ago", "2026-11-26T10:29:59"], ["12:03", "2026-11-26T10:03:00"], [" 12:03:04 ", "2026-11-26T10:03:04"],
        // Not later than now: yesterday's.
        ["12:31", "2026-11-25T10:31:00"], ["today 12:31", "2026-11-26T10:31:00"], ["yesterday 08:00", "2026-11-25T06:00:00"],
        ["today", "2026-11-25T22:00:00"], ["yesterday", "2026-11-24T22:00:00"], ["2026-11-22", "2026-11-21T22:00:00"],
        ["2026-11-22 08:00", "2026-11-22T06:00:00"], ["2026-11-22T08:00:30", "2026-11-22T06:00:30"], ["2026-11-22T08:00:00Z", "2026-11-22T08:00:00"],
        ["2026-11-22T08:00:00+05:30", "2026-11-22T02:30:00"],
    ]) assert.equal(read(text), time, text)
    for (const text of ["", " ", "24:00", "8", "2026", "1y", "h", "yesterday08:00", "2026-02-30", "12:60", "x".repeat(100), "1e3h", "--1h", "tomorrow", "<b>"]) {
        assert.equal(read(text), null, text)
    }
})

test("a time is of the zone that is shown then", () => {
    // Clocks went back an hour on 2026-10-25 at 01:00 UTC.
    const change = Date.UTC(2026, 9, 25, 1) * 1000
    const offset = time => time < change ? 7200 : 3600
    const now = Date.UTC(2026, 9, 26, 10) * 1000
    assert.equal(timeOf("2026-10-24 12:00", now, offset), Date.UTC(2026, 9, 24, 10) * 1000)
    assert.equal(timeOf("2026-10-25 12:00", now, offset), Date.UTC(2026, 9, 25, 11) * 1000)
})

test("without a journal there is what the board holds", async t => {
    const asked = server(t, ["there is no journal"], { status: 404, type: "text/plain" })
    const board = boardOf([[10, 1], [70, 2]], [20])
    const past = seriesOf("s", "s", { board: () => board })
    await fetchPast(past, new AbortController())
    assert.deepEqual([past.hasJournal, past.windows.length, past.model(second).errors.length, asked.length], [false, 1, 1, 1])
})

test("a time is of the years that can be written, and no hundred years ago", () => {
    const now = Date.UTC(2026, 10, 26, 10, 30) * 1000
    const day = 86_400e6
    const read = (text, hours = 0, at = now) => timeOf(text, at, () => hours * 3600)
    assert.equal(read("36600d"), now - 36_600 * day)
    for (const text of ["36600.1d", "999999999d", "-999999999d ago", "878401h"]) assert.equal(read(text), null, text)
    assert.equal(read("0000-01-01"), Date.parse("0000-01-01T00:00:00Z") * 1000)
    assert.equal(read("0000-01-01", -2), Date.parse("0000-01-01T02:00:00Z") * 1000)
    for (const text of ["0000-01-01", "0000-01-01 01:59", "0000-01-01T00:00:00+02:00"]) assert.equal(read(text, 2), null, text)
    assert.equal(read("9999-12-31T23:59:59Z"), Date.parse("9999-12-31T23:59:59Z") * 1000)
    for (const text of ["9999-12-31 23:00", "9999-12-31T23:59:60Z", "9999-12-31T23:59:59-00:01"]) assert.equal(read(text, -2), null, text)
    // An agent may say that it is any time.
    const early = Date.parse("0000-01-02T00:00:00Z") * 1000
    assert.deepEqual([read("24h", 0, early), read("25h", 0, early), read("yesterday", 0, early - 1e6)], [early - day, null, null])
})
