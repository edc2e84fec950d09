// The rows of the list and of the feed without a browser: what vectors do not think of.
import assert from "node:assert/strict"
import test from "node:test"
import { Board } from "../../Sources/Page/Files/board.mjs"
import { FeedRows, say } from "../../Sources/Page/Files/feed.mjs"
import { readLine } from "../../Sources/Page/Files/line.mjs"
import { Group, ListOrder, filterOf } from "../../Sources/Page/Files/order.mjs"
import { stripPaths, stripSlots } from "../../Sources/Page/Files/sparkline.mjs"

const stamp = seconds => new Date(1_772_366_400_000 + seconds * 1000).toISOString().replace("Z", "000Z")
const data = (seq, source, series, more = { value: 1 }) => JSON.stringify({ seq, time: stamp(seq), type: source, source, series, ...more })
const stats = (...names) => JSON.stringify({ type: "stats", time: stamp(0), as_of: 0, endpoints: [], sources: names.map(source => ({ source, state: "ok" })) })

function boardOf(...lines) {
    const board = new Board()
    for (const line of lines) assert.ok(board.apply(line), line)
    return board
}

test("a filter holds any of its words, and hostile ones are words too", () => {
    const matches = filterOf(" Köln |KIEL|| ")
    for (const text of ["aqi/köln", "kiel", "xKIELx"]) assert.ok(matches(text), text)
    assert.ok(!matches("Kol n"))
    for (const text of ["", "|", " | ", "||||"]) assert.ok(filterOf(text)("anything"), text)
    assert.ok(filterOf(".*")("a.*b") && !filterOf(".*")("ab"))
    assert.ok(filterOf("a b")("xa by") && !filterOf("a b")("xaby"))
})

test("the choice of a row goes to its heading when that is folded, and back to the list's first when it is gone", () => {
    const board = boardOf(stats("a", "b"), data(1, "a", "a/1"), data(2, "a", "a/2"), data(3, "b", "b/1"))
    const order = new ListOrder()
    order.update(board, "source", "")
    const [heading, first, second] = order.rows
    assert.ok(heading instanceof Group)
    assert.deepEqual([first, second], [0, 1])
    assert.equal(order.place(1), 2)
    order.update(board, "source", "", new Map([["a", true]]))
    assert.equal(order.place(1), 0)
    assert.equal(order.firstSeries(heading), 0)
    // Flat, a heading stands for its first series.
    order.update(board, "name", "", new Map([["a", true]]))
    assert.equal(order.place(heading), 0)
    order.update(board, "source", "b/", new Map([["a", true]]))
    assert.equal(order.place(1), 0)
    assert.equal(order.firstSeries(heading), 2)
    order.update(board, "source", "nothing")
    assert.equal(order.place(1), -1)
    for (const row of [null, heading, board.sources[0]]) assert.equal(order.firstSeries(row), undefined)
})

test("a source without a series leads to the first of all", () => {
    const failing = { source: "none", state: "failing", since: stamp(0), code: "dns" }
    const sources = stats("b", "a").replace(/]}$/, `,${JSON.stringify(failing)}]}`)
    const board = boardOf(sources, data(1, "a", "a/1"), data(2, "b", "b/1"), data(3, "b", "b/2"))
    const order = new ListOrder()
    order.update(board, "source", "")
    const [source] = order.rows
    assert.equal(source, board.describedSource("none"))
    assert.equal(order.firstSeries(source), 1)
    assert.equal(order.firstSeries(board.describedSource("a")), 0)
    order.update(board, "source", "", new Map([["b", true]]))
    assert.equal(order.firstSeries(source), 1)
    order.update(board, "source", "none")
    assert.deepEqual([order.rows, order.firstSeries(source)], [[source], undefined])
})

test("10,000 sources have a heading each, and a frame without news makes no row anew", () => {
    const board = boardOf(stats("s0", "s1"), ...Array.from({ length: 9_998 }, (_, place) => data(place + 1, `s${place}`, `s${place}/x`)), data(9_999, "s0", "s0/y"))
    const order = new ListOrder()
    order.update(board, "source", "")
    assert.equal(order.rows.length, 9_998 + 9_999)
    const { rows } = order
    order.update(board, "source", "")
    assert.equal(order.rows, rows)
    order.update(board, "source", "", new Map([["s5", true]]))
    assert.equal(order.rows.length, 9_998 + 9_998)
})

test("a heading folds once, when there are many texts, and is looked at until then, and only when lines came", () => {
    const greeting = { type: "hello", time: stamp(0), format: 1, interval_s: 10, history_s: 120, first_seq: 1, next_seq: 1 }
    const hello = run => JSON.stringify({ ...greeting, run })
    const texts = Array.from({ length: 8 }, (_, place) => data(place + 2, "a", `a/${place}`, { text: "t" }))
    const board = boardOf(hello("r1"), stats("a", "b"), data(1, "b", "b"), ...texts)
    const order = new ListOrder()
    let looks = 0
    const update = () => {
        looks = 0
        order.update(board, "source", "")
        return [order.rows[0].isFolded, looks]
    }
    assert.deepEqual(update(), [false, 0])
    board.apply(data(10, "a", "a/8", {}))
    const { newest } = board.series[1]
    Object.defineProperty(board.series[1], "newest", { get: () => (looks += 1, newest) })
    assert.deepEqual([update(), update()], [[false, 1], [false, 0]])
    board.apply(data(11, "a", "a/8", { text: "t" }))
    assert.deepEqual(update(), [true, 1])
    // Texts go, and a value comes.
    for (let place = 1; place < 9; place += 1) board.apply(data(11 + place, "a", `a/${place}`, place < 8 ? {} : { value: 1 }))
    assert.deepEqual(update(), [true, 0])
    assert.equal(order.rows.length, 2)
    // Another run begins anew.
    const anew = [hello("r2"), stats("a", "b"), data(1, "b", "b"), data(2, "a", "a/1"), data(3, "a", "a/2")]
    for (const line of anew) assert.ok(board.apply(line))
    assert.deepEqual(update(), [false, 0])
})

test("names of sources that are well are not looked at when nothing is new", () => {
    const board = boardOf(stats("a", "b", "c"), data(1, "a", "a"), data(2, "c", "c"))
    board.describedSource("b").state = "failing"
    const order = new ListOrder()
    order.update(board, "source", "b|c")
    assert.deepEqual(order.rows, [board.describedSource("b"), 1])
    const looked = new Set()
    for (const source of board.sources) {
        const { name } = source
        Object.defineProperty(source, "name", { get: () => (looked.add(name), name) })
    }
    order.update(board, "source", "b|c", null, board.clock)
    assert.deepEqual([...looked], ["b"])
})

test("blanks and bars are no filter", () => {
    const order = new ListOrder()
    const board = boardOf(data(1, "a", "a"))
    for (const [filter, is] of [["", false], [" | ", false], ["|", false], ["a", true], ["zz|", true]]) {
        order.update(board, "source", filter)
        assert.equal(order.isFiltered, is, filter)
    }
})

test("words and what is gone are read as they may be written", () => {
    const since = stamp(1)
    const word = more => readLine(data(2, "s", "s", { value: 1, since, ...more })).body
    assert.equal(word({ word: "ok" }).word, "ok")
    assert.equal(word({ word: "ok" }).since, 1_772_366_401_000_000)
    assert.equal(word({ word: "é".repeat(32) }).word.length, 32)
    for (const bad of [{ word: "é".repeat(33) }, { word: "w".repeat(4096) }, { word: "" }, { word: null }, { word: 7 }, { word: "ok", since: "now" }, { word: "ok", since: null }, { word: "ok", value: null, text: "t" }]) {
        const { word: is, since: time } = word(bad)
        assert.deepEqual([is, time], [null, null], JSON.stringify(bad))
    }
    const progress = gone => readLine(JSON.stringify({ seq: 2, time: stamp(1), type: "progress", source: "s", done: 1, total: 1, gone }))
    assert.deepEqual(progress(["a", ""]).body.gone, ["a", ""])
    assert.deepEqual(progress(null).body.gone, [])
    assert.equal(progress(Array(1000).fill("k")).body.gone.length, 1000)
})

test("a strip has its blocks at their slots, one path for each colour", () => {
    const windows = [[2, 0], [3, 1], [5, 1]].map(([number, last]) => ({ start: number * 1e6, last }))
    const frame = { width: 1e6, last: 6, count: 6, scale: null }
    assert.deepEqual(stripSlots(windows, frame), [null, false, true, "·", true, null])
    assert.deepEqual(stripPaths(windows, frame).lines, [
        { band: -1, d: "M1 4h0.92v16h-0.92z", look: "spark-block off" }, { band: -1, d: "M2 4h0.92v16h-0.92zM4 4h0.92v16h-0.92z", look: "spark-block" },
        { band: -1, d: "M3.5 12h0", look: "spark-missing" },
    ])
    // What came before the frame is why nothing in it is missing, and not unknown.
    assert.deepEqual(stripSlots(windows, { ...frame, last: 8, count: 4 }), [true, "·", "·", null])
})

test("the feed says the word that a value stands for", () => {
    const word = { value: 0, word: "operational", since: stamp(1) }
    const events = [word, { ...word, text: "t" }, { value: 1 }, { text: "t" }]
    const board = boardOf(stats("s"), ...events.map((event, place) => data(place + 1, "s", "s/a", event)))
    assert.deepEqual([...board.lines].map(line => say(board, line)), [["operational", ""], ["operational", "t"], ["1", ""], ["", "t"]])
    assert.deepEqual([...board.lines].map(({ word }) => word), ["operational", "operational", null, null])
})

test("lines that came together are one row from the third on, and leave as one", () => {
    const board = new Board({ lines: 6 })
    const rows = new FeedRows()
    const say = (...lines) => {
        for (const line of lines) board.apply(line)
        const { gone, added } = rows.update(board.lines)
        return [rows.rows.map(row => row.map(({ sequence }) => sequence)), gone, added]
    }
    assert.deepEqual(say(data(1, "a", "a/1"), data(2, "a", "a/2")), [[[1], [2]], 0, 2])
    assert.deepEqual(say(data(3, "a", "a/3")), [[[1, 2, 3]], 0, 1])
    assert.deepEqual(say(data(4, "a", "a/1"), data(6, "a", "a/2"), data(7, "a", "a/3")), [[[1, 2, 3], [4], [6], [7]], 0, 3])
    // The first of them is no longer on the board, and the next of its series takes its place.
    assert.deepEqual(say(data(8, "b", "b")), [[[2, 3, 4], [6], [7], [8]], 1, 1])
    assert.deepEqual(say(data(9, "b", "b"), data(10, "c", "c")), [[[4], [6], [7], [8], [9], [10]], 0, 2])
    assert.deepEqual(say(), [[[4], [6], [7], [8], [9], [10]], 0, 0])
    assert.deepEqual(say(data(11, "c", "c/1"), data(12, "c", "c/2")), [[[7], [8], [9], [10, 11, 12]], 2, 2])
    assert.deepEqual(say(...[13, 14, 15, 16].map(seq => data(seq, "d", "d"))), [[[11], [12], [13], [14], [15], [16]], 2, 4])
})

test("rows that lines came to and left are those that are made of the ring anew", () => {
    let seed = 7
    const random = most => (seed = Math.imul(seed, 48_271) >>> 0) % most
    const board = new Board({ lines: 9 })
    const rows = [new FeedRows(), new FeedRows({ source: "a" }), new FeedRows({ filter: "1|2" })]
    for (let round = 0, seq = 0; round < 500; round += 1) {
        for (let count = random(4); count >= 0; count -= 1) {
            seq += random(9) === 0 ? 2 : 1
            const source = random(7) === 0 ? "b" : "a"
            assert.ok(board.apply(data(seq, source, `${source}/${random(4)}`)))
        }
        const before = rows.map(each => each.rows.length)
        const told = rows.map(each => each.update(board.lines))
        const anew = [new FeedRows(), new FeedRows({ source: "a" }), new FeedRows({ filter: "1|2" })]
        for (const each of anew) each.update(board.lines)
        assert.deepEqual(rows.map(each => each.rows), anew.map(each => each.rows), `round ${round}`)
        for (const [place, { gone, added }] of told.entries()) assert.ok(before[place] - gone + added >= rows[place].rows.length)
    }
})
