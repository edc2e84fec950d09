// What vectors cannot say of the fold: that it takes anything, and that it holds on to nothing.

import assert from "node:assert"
import test from "node:test"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Board } from "../../Sources/Page/Files/board.mjs"
import { AgentClock, PacedTime } from "../../Sources/Page/Files/windows.mjs"
import { ListOrder, naturalOrder } from "../../Sources/Page/Files/order.mjs"
import { PointRing } from "../../Sources/Page/Files/ring.mjs"
import { cutBytes, cutPoints, utf8Length } from "../../Sources/Page/Files/text.mjs"
import { readVector, vectorNames } from "./files.mjs"

const lines = vectorNames().filter(name => name.startsWith("board/")).map(readVector)
    .flatMap(({ page, lines, ignored }) => page === false || ignored ? [] : lines)

/** The same numbers for the same seed, 0 to 1 (Mulberry32). */
function seeded(seed) {
    return () => {
        seed = (seed + 0x6d2b79f5) | 0
        let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1)
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    }
}

const data = (seq, seconds, series, rest) => {
    const time = new Date(1_772_366_400_000 + seconds * 1000).toISOString()
    return `{"seq":${seq},"time":"${time}","type":"fact","source":"fact","series":"${series}",${rest}}`
}

test("no prefix of a line is one, and none throws", () => {
    const board = new Board()
    for (const line of lines.filter((line, place) => line.length < 500 && place % 7 === 0)) {
        for (let end = 0; end < line.length; end += 1) assert.strictEqual(board.apply(line.slice(0, end)), false, line)
    }
    assert.strictEqual(board.lastSequence, 0)
})

test("lines of agents that there is no room for cost little", () => {
    const board = new Board({ agents: 3 })
    const say = (agent, seconds) => board.apply(data(board.lastSequence + 1, seconds, "x", `"value":1,"agent":"${agent}"`)
        .replace('"fact","series":"x"', `"${agent}.fact","series":"${agent}.fact"`))
    board.apply(lines.find(line => line.includes('"hello"')))
    for (const agent of ["a", "b", "c"]) assert.ok(say(agent, 100))
    let looks = 0
    const [{ told }] = board.agents
    Object.defineProperty(board.agents[0], "told", { get: () => (looks += 1, told), set: () => {} })
    for (let count = 0; count < 100; count += 1) assert.ok(say(`new${count}`, 101))
    assert.strictEqual(board.refusedAgents, 100)
    assert.ok(looks < 5, `${looks} looks`)
    assert.ok(say("new", 100 + 86_400))
    assert.deepStrictEqual(board.agents.map(({ name }) => name), ["new"])
})

test("what is no JSON is no line, and changes nothing", () => {
    const seed = 20
    const random = seeded(seed)
    const pick = parts => parts[Math.floor(random() * parts.length)]
    const board = new Board({ pointsPerSeries: 30, windowsPerSeries: 10, series: 20 })
    let broken = 0
    for (let round = 0; round < 5_000; round += 1) {
        let line = pick(lines)
        for (let count = Math.floor(random() * 4); count > 0; count -= 1) {
            const place = Math.floor(random() * line.length)
            const part = pick(["", "\0", "\"", "\\", "{", "}", "[", "]", ",", ":", "9", "-", "e", "\ud800", "\\ud800", "é", " "])
            line = line.slice(0, place) + part + line.slice(place + Math.floor(random() * 3))
        }
        try {
            JSON.parse(line)
        } catch {
            broken += 1
            const last = board.lastSequence
            assert.ok(!board.apply(line) && board.lastSequence === last, `seed ${seed}, round ${round}`)
        }
    }
    assert.ok(broken > 1_000, `${broken}`)
})

test("a board keeps to its bounds", () => {
    const board = new Board({ pointsPerSeries: 30, windowsPerSeries: 10, series: 20 })
    const order = new ListOrder()
    for (const [place, line] of lines.entries()) {
        board.apply(line)
        if (place % 10 === 0) order.update(board, ["name", "value", "change", "age"][place / 10 % 4], ["", "a", "É"][place % 3])
        assert.ok(board.series.length <= 20 && board.series.every(({ windows, points }) => windows.length <= 10 && points.count <= 30), line)
    }
})

test("of a long line no more is kept than what is shown of it", () => {
    setFlagsFromString("--expose-gc")
    const collect = runInNewContext("gc")
    const board = new Board()
    const count = 200
    const filling = "x".repeat(200_000)
    collect()
    const before = process.memoryUsage().heapUsed
    for (let number = 1; number <= count; number += 1) {
        const series = `a series with a long name ${number}`
        const line = data(number, number / 100, series, `"text":"a text of some length","data":{"n":${number},"more":"than a few letters"},"more":"${filling}"`)
        // As it comes from a stream: a part of something longer.
        assert.ok(board.apply(`${line}\n${line}`.slice(0, line.length)))
    }
    collect()
    const grown = process.memoryUsage().heapUsed - before
    assert.strictEqual(board.series.length, count)
    assert.ok(grown < 8e6, `${grown} bytes after ${count} lines of 200 kB`)
})

test("an hour's lines of 40 series need no more memory than ten minutes'", () => {
    setFlagsFromString("--expose-gc")
    const collect = runInNewContext("gc")
    const board = new Board()
    const used = []
    let sequence = 0
    for (let second = 0; second < 3_600; second += 1) {
        for (let series = 0; series < 40; series += 1) {
            sequence += 1
            board.apply(data(sequence, second, `aqi/${series}`, `"value":${second % 97},"data":{"pm10":${second},"city":"c"}`))
        }
        if (second === 599 || second === 3_599) {
            collect()
            used.push(process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers)
        }
    }
    assert.ok(used[1] < used[0] * 1.2, `${used}`)
    assert.strictEqual(board.lastSequence, 144_000)
})

test("texts are counted in bytes and code points", () => {
    const encoder = new TextEncoder()
    for (const text of ["", "a", "é", "猫", "😺", "a😺é", "\ud800", "x\udc00y", "\ud800\ud83d\ude3a", "é".repeat(50)]) {
        const wellFormed = text.replace(/\p{Surrogate}/gu, "\ufffd")
        assert.strictEqual(utf8Length(text), encoder.encode(text).length, JSON.stringify(text))
        for (let limit = 0; limit < 12; limit += 1) {
            const part = cutBytes(wellFormed, limit)
            assert.ok(wellFormed.startsWith(part) && utf8Length(part) <= limit)
            const next = String.fromCodePoint(...[wellFormed.slice(part.length).codePointAt(0)].filter(code => code !== undefined))
            assert.ok(next === "" || utf8Length(part + next) > limit, `${JSON.stringify(text)} at ${limit}`)
            assert.strictEqual(cutPoints(wellFormed, limit), [...wellFormed].slice(0, limit).join(""))
        }
    }
})

test("the natural order is what padded text gives", () => {
    const seed = 5
    const random = seeded(seed)
    const name = () => Array.from({ length: Math.floor(random() * 9) }, () => "019a/:b"[Math.floor(random() * 7)]).join("")
    const padded = text => text.replace(/[0-9]+/g, digits => digits.padStart(20, "0"))
    for (let round = 0; round < 20_000; round += 1) {
        const [left, right] = [name(), name()]
        const [one, other] = [[padded(left), left], [padded(right), right]]
        const should = one[0] === other[0] ? (left < right ? -1 : left > right ? 1 : 0) : one[0] < other[0] ? -1 : 1
        assert.strictEqual(Math.sign(naturalOrder(left, right)), should, `'${left}' '${right}', seed ${seed}`)
    }
})

test("the order is that of the board that is shown, also when there is another one", () => {
    const order = new ListOrder()
    const names = ["b", "a"].map(first => {
        const board = new Board()
        for (const [place, name] of [first, "c", "d"].entries()) board.apply(data(place + 1, place, name, `"value":${place}`))
        order.update(board, "value", "")
        return order.rows.map(index => board.series[index].name)
    })
    assert.deepStrictEqual(names, [["d", "c", "b"], ["d", "c", "a"]])
    const [one, other] = [new Board(), new Board()]
    for (const [place, name] of ["b", "c"].entries()) one.apply(data(place + 1, place, name, "\"value\":1"))
    for (const [place, name] of ["z", "c"].entries()) other.apply(data(place + 1, place, name, "\"value\":1"))
    order.update(one, "name", "")
    order.update(other, "name", "")
    assert.deepStrictEqual(order.rows.map(index => other.series[index].name), ["c", "z"])
})

test("no clock is known before a line", () => {
    const clock = new AgentClock()
    assert.ok(!clock.isKnown && clock.time(7) === 7)
    clock.note(10, 5)
    assert.ok(clock.isKnown && clock.time(7) === 12)
})

test("the last word stays while events have no value, and goes with a number", () => {
    const board = new Board()
    const word = (name, seconds) => `"value":1,"word":"${name}","since":"${new Date(1_772_366_400_000 + seconds * 1000).toISOString()}"`
    const steps = [
        [1, word("on", 1), "on"], [2, '"text":"odd"', "on"], [1, '"value":2', "on"], [3, word("off", 3), "off"], [4, '"value":3', null],
        [2, word("on", 2), null], [5, '"text":"odd"', null], [4.5, word("on", 4.5), null], [6, word("on", 6), "on"],
    ]
    for (const [place, [seconds, more, should]] of steps.entries()) {
        assert.ok(board.apply(data(place + 1, seconds, "fact", more)))
        assert.strictEqual(board.series[0].lastWord, should, `step ${place}`)
    }
})

test("paced time goes on at its rate, from where it was", () => {
    const paced = new PacedTime()
    assert.equal(paced.at(1_000), 1_000)
    paced.setRate(10, 1_000)
    assert.equal(paced.at(1_500), 6_000)
    paced.setRate(0, 1_500)
    assert.equal(paced.at(9_000), 6_000)
    paced.setRate(NaN, 9_000)
    paced.setRate(1, 9_000)
    assert.equal(paced.at(9_001), 6_001)
})

test("a ring of points is the end of a list of them", () => {
    const random = seeded(7)
    for (const capacity of [1, 3, 4, 100]) {
        const ring = new PointRing(capacity)
        let twin = []
        for (let number = 0; number < 500; number += 1) {
            if (random() < 0.3 && twin.length > 0) {
                ring.removeFirst()
                twin.shift()
            } else {
                ring.append({ time: number, value: -number, sequence: number + 1 })
                twin = [...twin, [number, -number, number + 1]].slice(-capacity)
            }
            assert.deepStrictEqual(Array.from({ length: ring.count }, (_, place) => [ring.time(place), ring.value(place), ring.sequence(place)]), twin)
        }
    }
})
