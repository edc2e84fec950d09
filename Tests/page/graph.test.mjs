import assert from "node:assert/strict"
import { test } from "node:test"
import { BandScale } from "../../Sources/Page/Files/bands.mjs"
import { Board } from "../../Sources/Page/Files/board.mjs"
import {
    axisOf, bandPlaces, blocksOf, graphModel, lastOfWindows, nearest, runPath, summary, timeMarks, unbroken,
} from "../../Sources/Page/Files/graph.mjs"

const second = 1e6
const begin = Date.UTC(2026, 10, 22, 5, 0, 0) * 1000
const stamp = seconds => new Date(begin / 1000 + seconds * 1000).toISOString().replace("Z", "000Z")

/** A board with values (`[seconds, value]`), errors and window lines of the series `s`. */
function boardOf({ values = [], errors = [], windows = [], interval = 1 }) {
    const board = new Board()
    let seq = 1
    const apply = line => assert.ok(board.apply(JSON.stringify(line)))
    apply({ type: "hello", time: stamp(0), format: 1, run: "r", interval_s: interval, history_s: 120, first_seq: 1, next_seq: 1 })
    const numbered = (at, line) => apply({ seq: seq++, time: stamp(at), source: "s", ...line })
    for (const [start, last] of windows) {
        numbered(start + interval, {
            type: "window", series: "s", start: stamp(start), seconds: interval, last, last_seq: 1, count: 1, min: last, max: last, mean: last,
        })
    }
    for (const [at, value] of values) numbered(at, { type: "s", series: "s", value })
    for (const at of errors) numbered(at, { type: "error", code: "timeout", message: "too late", attempt: 1, retry_in_ms: 10 })
    return board
}

function view(now, width = second, span = null) {
    const lastWindow = Math.floor(now / width)
    return { width, span, lastWindow, start: (lastWindow - Math.ceil((span ?? 120e6) / width)) * width }
}

const modelOf = (board, seconds, ...more) => {
    const now = begin + seconds * second
    return graphModel(board, 0, view(now, ...more), now)
}

test("a young series begins at its first value, grows, and is never shorter than 20 s", () => {
    const board = boardOf({ values: [[1, 10], [3, 12]] })
    const young = modelOf(board, 4)
    assert.equal(young.start, begin + 1 * second)
    assert.equal(young.end, begin + 21 * second)
    assert.equal(modelOf(board, 40.5).end, begin + 41 * second)
    assert.deepEqual(young.samples.map(sample => sample.value), [10, 12])
})

test("a young series begins at its first error where that was before its first value", () => {
    assert.equal(modelOf(boardOf({ values: [[5, 1]], errors: [2] }), 6).start, begin + 2 * second)
})

test("a series as old as the history has all of it, as has a chosen span", () => {
    const values = Array.from({ length: 200 }, (_, at) => [at, at])
    const old = modelOf(boardOf({ values }), 199.5)
    assert.equal(old.start, begin + 79 * second)
    assert.equal(old.end, begin + 200 * second)
    const young = modelOf(boardOf({ values: [[1, 10]] }), 4, second, 30e6)
    assert.equal(young.end - young.start, 31e6)
})

test("before the first value there are the agent's windows, each in its middle", () => {
    const model = modelOf(boardOf({ windows: [[0, 5], [1, 6], [4, 9]], values: [[4.5, 9]] }), 6)
    assert.deepEqual(model.samples, [
        { time: begin + 0.5 * second, value: 5 }, { time: begin + 1.5 * second, value: 6 }, { time: begin + 4.5 * second, value: 9 },
    ])
})

const samplesAt = times => times.map(time => ({ time: time * second, value: time }))
const lengths = runs => runs.map(run => run.length)

test("a line is broken where more than two and a half times the usual step is missing", () => {
    assert.deepEqual(lengths(unbroken(samplesAt([0, 2, 4, 9, 11]), [], second)), [5])
    assert.deepEqual(lengths(unbroken(samplesAt([0, 2, 4, 9.1, 11.1]), [], second)), [3, 2])
    // A window's width is never missing.
    assert.deepEqual(lengths(unbroken(samplesAt([0, 2, 4, 9.1, 11.1]), [], 10 * second)), [5])
    assert.deepEqual(lengths(unbroken([], [], second)), [])
})

test("a line is broken where an error came, however near its values are", () => {
    const errors = [{ time: 2.5 * second }]
    assert.deepEqual(lengths(unbroken(samplesAt([0, 1, 2, 3, 4]), errors, second)), [3, 2])
    assert.deepEqual(lengths(unbroken(samplesAt([0, 1, 2, 3, 4]), [{ time: -1 }, ...errors, { time: 99e6 }], second)), [3, 2])
})

const same = number => number

test("a path joins its samples, and a single one is a dot", () => {
    assert.equal(runPath([{ time: 3, value: 4.26 }], same, same), "M3 4.3h0")
    assert.equal(runPath([{ time: 1, value: 2 }, { time: 3, value: 4 }], same, same), "M1 2L3 4")
})

test("a path has the first, lowest, highest and last of each column of pixels, in their order", () => {
    const values = [5, 9, 1, 6, 7]
    const run = values.map((value, place) => ({ time: 10 + place * 0.1, value }))
    assert.equal(runPath(run, same, same), "M10 5L10.1 9L10.2 1L10.4 7")
    const many = Array.from({ length: 4096 }, (_, place) => ({ time: place / 40, value: place % 7 }))
    assert.ok(runPath(many, same, same).split("L").length <= 4 * 104)
})

test("the last value of each window counts", () => {
    assert.deepEqual(lastOfWindows(samplesAt([0.1, 0.9, 1.5, 3.2]), second).map(sample => sample.value), [0.9, 1.5, 3.2])
})

const scale = BandScale.of([
    { name: "good", letter: "G", color: "#00b050", upTo: 50 }, { name: "fair", letter: "F", color: "#ffff00", upTo: 100 },
    { name: "bad", letter: "B", color: "#ff0000", upTo: null },
], false)

test("bands lie from end to end of the axis, and those out of sight are left out", () => {
    const looks = { kind: "data", isLog: false, range: [0, 80] }
    const places = bandPlaces(scale, axisOf([0, 80], looks, 5))
    assert.deepEqual(places.map(({ band, low, high }) => [band.letter, low, high]), [["G", 0, 0.625], ["F", 0.625, 1]])
    const above = bandPlaces(scale, axisOf([60, 160], { ...looks, range: [60, 160] }, 5))
    assert.deepEqual(above.map(({ band, low, high }) => [band.letter, low, high]), [["F", 0, 0.4], ["B", 0.4, 1]])
})

test("the marks of memory are round in the unit they are written in", () => {
    const mebibyte = 2 ** 20
    const looks = { kind: "memory", isLog: false, range: null }
    const { marks, place } = axisOf([19.1 * mebibyte, 19.9 * mebibyte], looks, 5)
    assert.deepEqual(marks.map(mark => mark.text), ["19.0 MiB", "19.2 MiB", "19.4 MiB", "19.6 MiB", "19.8 MiB", "20.0 MiB"])
    assert.ok(Math.abs(place(19.5 * mebibyte) - 0.5) < 1e-9)
    assert.deepEqual(axisOf([0, 4], { ...looks, kind: "data" }, 5).marks.map(mark => mark.text), ["0", "1", "2", "3", "4"])
})

test("a summary weighs windows by their values", () => {
    const window = (minimum, maximum, mean, count) => ({ minimum, maximum, mean, count })
    assert.deepEqual(summary([window(1, 3, 2, 3), window(5, 7, 6, 1)]), { minimum: 1, maximum: 7, mean: 3, count: 4 })
    assert.equal(summary([]), null)
    assert.equal(summary([window(0.1, 0.1, 0.1, 1), window(0.1, 0.1, 0.1, 2)]).mean, 0.1)
})

test("the nearest is found before, between and behind", () => {
    const samples = [{ time: 10 }, { time: 20 }, { time: 40 }]
    assert.deepEqual([0, 14, 15, 16, 20, 29, 31, 99].map(time => nearest(samples, time)), [0, 0, 0, 1, 1, 1, 2, 2])
    assert.equal(nearest([], 5), -1)
})

test("times are marked where the clock that is shown is round", () => {
    const from = begin + 3 * second
    const utc = timeMarks(from, from + 120 * second, 1000, 100, 0)
    assert.deepEqual(utc.map(mark => mark.text), [
        "05:00:15", "05:00:30", "05:00:45", "05:01:00", "05:01:15", "05:01:30", "05:01:45", "05:02:00",
    ])
    assert.equal(utc[0].time, begin + 15 * second)
    // The ends belong to it.
    assert.deepEqual(timeMarks(begin, begin + 20 * second, 400, 100, 0).map(mark => mark.text), ["05:00:00", "05:00:05", "05:00:10", "05:00:15", "05:00:20"])
    // Hours are round in India where UTC's are not.
    const local = timeMarks(begin, begin + 6 * 3600 * second, 600, 100, 19800)
    assert.deepEqual(local.map(mark => mark.text), ["11:00", "12:00", "13:00", "14:00", "15:00", "16:00"])
    assert.ok(timeMarks(begin, begin + 400 * 86400 * second, 600, 100, 0).length <= 7)
})

test("nothing is drawn from before where the graph begins, also what only windows tell", () => {
    const model = modelOf(boardOf({ windows: [[2, 5], [3, 6]], values: [[5, 7], [6, 8]] }), 7)
    assert.deepEqual(model.samples.map(sample => sample.value), [5, 6, 7, 8])
    assert.equal(model.start, model.samples[0].time)
    // A wide window that begins before the span: its value is at the span's start, not before it.
    const wide = modelOf(boardOf({ windows: [[0, 5], [10, 6]], values: [[25, 7]], interval: 10 }), 26, second * 10, 22e6)
    assert.ok(wide.samples.every(sample => sample.time >= wide.start))
})

test("the greatest numbers are on the axis, whose marks can be written", () => {
    for (const values of [[-Number.MAX_VALUE, Number.MAX_VALUE], [0, Number.MAX_VALUE], [2e300, 3e300]]) {
        for (const isLog of [false, true]) {
            const axis = axisOf(values, { kind: "data", isLog, range: null }, 6)
            for (const value of values) assert.ok(axis.place(value) >= 0 && axis.place(value) <= 1, `${value} is at ${axis.place(value)}`)
            assert.ok(axis.marks.length > 0 && axis.marks.every(({ value, text }) => Number.isFinite(value) && !/∞|–/.test(text)))
        }
    }
})

test("blocks of words end where the graph does, also when the agent's clock is ahead", () => {
    const windows = [0, 10, 30, 40, 50, 60].map(start => ({ start }))
    const { blocks, missing } = blocksOf({ windows, width: 10, start: 13, end: 45 })
    assert.deepEqual(blocks.map(({ window, from, until }) => [window.start, from, until]), [[10, 13, 20], [30, 30, 40], [40, 40, 45]])
    assert.deepEqual(missing, [25])
    assert.deepEqual(blocksOf({ windows: windows.slice(4), width: 10, start: 0, end: 50 }), { blocks: [], missing: [] })
    const far = [{ start: 0 }, { start: 1e6 }]
    assert.equal(blocksOf({ windows: far, width: 1, start: 0, end: 2e6 }).missing.length, 500)
})
