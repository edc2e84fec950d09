// The stream without a browser: EventSource, fetch, ports and the time are stand-ins.
import assert from "node:assert"
import test, { mock } from "node:test"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { pageFolder } from "./files.mjs"

const { Stream } = await import(new URL("stream.mjs", pageFolder))

/** Every EventSource that was made, the newest last. */
let sources = []
/** What `fetch` answers: an error, or a status and a body. */
let answer = new Error("nobody")
let asked = []
/** The signals that were given with the questions. */
let signals = []
/** While there are some, `fetch` waits for each in turn. */
let gates = []

const defaultAnswer = () => answer

class FakeEventSource {
    constructor(url) {
        this.url = url
        this.isClosed = false
        this.listeners = new Map()
        sources.push(this)
    }

    addEventListener(name, listener) { this.listeners.set(name, listener) }
    close() { this.isClosed = true }
    say(...lines) { for (const line of lines) this.onmessage({ data: line }) }
    beat(time, rate, playback) { this.listeners.get("beat")({ data: JSON.stringify({ time, next_seq: 1, rate, playback }) }) }
}

globalThis.EventSource = FakeEventSource
globalThis.fetch = async (url, { signal, redirect }) => {
    asked.push(url)
    signals.push(signal)
    const answer = await (gates.shift() ?? defaultAnswer())
    if (answer instanceof Error) throw answer
    // As a browser has it that is asked not to follow.
    if (answer.redirects && redirect === "manual") return { type: "opaqueredirect", status: 0, ok: false, headers: new Headers(), text: async () => "" }
    return new Response(answer.body, { status: answer.status, headers: { "content-type": answer.type ?? "application/x-ndjson" } })
}

/** A tab: what it was sent, and whether it asks for more by itself. */
class Tab {
    isEager = true
    sent = []
    postMessage(message) {
        this.sent.push(structuredClone(message))
        if (this.isEager) queueMicrotask(() => this.say("next"))
    }

    say(message) { this.onmessage?.({ data: message }) }
    /** The lines since the newest start. */
    get lines() {
        const start = this.sent.findLastIndex(message => message.start)
        return this.sent.slice(Math.max(start, 0)).filter(message => message.text !== undefined)
            .flatMap(message => message.text.split("\n"))
    }

    get state() { return this.sent.findLast(message => message.state).state }
    get starts() { return this.sent.filter(message => message.start).length }
}

const seconds = 1_000
const at = number => new Date(1_700_000_000_000 + number * seconds).toISOString().replace("Z", "000Z")
const hello = (run = "a", next = 1) =>
    `{"type":"hello","time":"${at(0)}","format":1,"run":"${run}","filtered":false,"interval_s":10,"history_s":120,"first_seq":1,"next_seq":${next}}`
const stats = asOf => `{"type":"stats","time":"${at(0)}","as_of":${asOf},"endpoints":[],"sources":[]}`
const line = (number, size = 0, time = number) =>
    `{"seq":${number},"time":"${at(time)}","type":"fact","source":"fact","series":"fact","text":"${"x".repeat(size)}"}`

async function settled() {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
    await new Promise(resolve => setImmediate(resolve))
}

function begin() {
    sources = []
    asked = []
    signals = []
    gates = []
    answer = new Error("nobody")
    mock.timers.reset()
    mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1_700_000_000_000 })
    const stream = new Stream()
    const tab = new Tab()
    stream.subscribe(tab)
    return { stream, tab }
}

test("a line that a tab cannot read ends the connection, which begins anew after a while", async () => {
    const { tab } = begin()
    sources[0].say(hello(), stats(0), line(1), line(2).slice(0, 20))
    await settled()
    tab.say("broken")
    tab.say("broken")
    await settled()
    assert.ok(sources[0].isClosed)
    assert.equal(tab.state.kind, "lost")
    assert.equal(tab.state.reason, "what came is no line of a feed")
    mock.timers.tick(7 * seconds)
    assert.equal(sources.length, 1)
    mock.timers.tick(5 * seconds)
    assert.equal(sources.length, 2)
    assert.equal(sources[1].url, "events")
    sources[1].say(hello(), stats(0), line(1), line(2))
    await settled()
    const other = new Tab()
    other.isEager = true
    tab.say("next")
    assert.deepEqual(tab.lines.slice(-4), [hello(), stats(0), line(1), line(2)])
})

test("tabs share one stream, and a later one gets everything at once", async () => {
    const { stream, tab } = begin()
    sources[0].say(hello(), stats(0), line(1), line(2))
    await settled()
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    assert.equal(sources.length, 1)
    assert.deepEqual(tab.lines, [hello(), stats(0), line(1), line(2)])
    assert.deepEqual(other.lines, tab.lines)
    assert.equal(other.state.kind, "open")
    sources[0].say(line(3))
    await settled()
    assert.equal(tab.lines.at(-1), line(3))
    assert.equal(other.lines.at(-1), line(3))
})

test("a tab that takes nothing is sent nothing more, and then all of it", async () => {
    const { tab } = begin()
    await settled()
    tab.isEager = false
    sources[0].say(hello(), stats(0), line(1), line(2), line(3))
    await settled()
    assert.deepEqual(tab.lines, [hello()])
    tab.isEager = true
    tab.say("next")
    await settled()
    assert.deepEqual(tab.lines, [hello(), stats(0), line(1), line(2), line(3)])
    assert.equal(tab.sent.filter(message => message.text !== undefined).length, 2)
})

test("a tab that is frozen over night is sent one thing, and then how things are", async () => {
    const { tab } = begin()
    sources[0].say(hello(), stats(0), line(1))
    await settled()
    tab.isEager = false
    const before = tab.sent.length
    for (let beat = 1; beat < 100; beat++) sources[0].beat(at(beat))
    for (let round = 0; round < 100; round++) {
        sources.at(-1).onerror()
        await settled()
        mock.timers.tick(13 * seconds)
    }
    assert.equal(tab.sent.length, before + 1)
    tab.isEager = true
    tab.say("next")
    await settled()
    assert.equal(tab.state.kind, "lost")
    assert.ok(tab.sent.length <= before + 3, `${tab.sent.length}`)
    sources.at(-1).say(hello("a", 2), stats(1), line(2))
    await settled()
    assert.equal(tab.state.kind, "open")
    assert.equal(tab.lines.at(-1), line(2))
})

test("a tab that crashed, and says nothing any more, is none", async () => {
    const { stream, tab } = begin()
    sources[0].say(hello(), stats(0))
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    tab.onclose()
    assert.ok(!sources[0].isClosed)
    const sent = tab.sent.length
    sources[0].say(line(1))
    await settled()
    assert.equal(tab.sent.length, sent)
    other.onclose()
    assert.ok(sources[0].isClosed)
})

test("a tab that takes in how things are while a greeting is asked for begins with what came then", async () => {
    const { stream } = begin()
    sources[0].say(hello(), stats(0))
    for (let number = 1; number <= 10; number++) sources[0].say(line(number, 1 << 20, 0))
    answer = { status: 200, body: `${hello("a", 11)}\n${stats(10)}\n` }
    await settled()
    asked = []
    let open
    gates = [new Promise(resolve => { open = resolve })]
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    // It knows that the agent is there, before anything else.
    assert.equal(other.state.kind, "open")
    assert.equal(other.starts, 0)
    other.isEager = false
    sources[0].beat(at(10))
    open(answer)
    await settled()
    assert.equal(other.starts, 0)
    other.isEager = true
    other.say("next")
    await settled()
    assert.equal(other.starts, 1)
    assert.equal(asked.length, 2)
    assert.deepEqual(other.lines.slice(0, 2), [hello("a", 11), stats(10)])
})

test("it comes back behind the last line of its run", async () => {
    const { tab } = begin()
    sources[0].say(hello("run-1"), stats(0), line(1), line(2))
    sources[0].onerror()
    await settled()
    assert.equal(tab.state.kind, "lost")
    assert.equal(tab.state.reason, "the connection broke")
    assert.ok(sources[0].isClosed)
    mock.timers.tick(700)
    assert.equal(sources.length, 2)
    assert.equal(sources[1].url, "events?since=2&run=run-1")
    sources[1].say(hello("run-1", 3), stats(2), line(3))
    await settled()
    assert.equal(tab.state.kind, "open")
    assert.equal(tab.starts, 1)
    assert.deepEqual(tab.lines.slice(-1), [line(3)])
})

test("a gap's end is where it goes on", async () => {
    begin()
    sources[0].say(hello(), stats(0), line(1), `{"type":"gap","time":"${at(1)}","from":2,"to":90,"reason":"slow_reader"}`)
    sources[0].onerror()
    mock.timers.tick(700)
    assert.equal(sources[1].url, "events?since=90&run=a")
})

test("another run leaves nothing of the one before", async () => {
    const { stream, tab } = begin()
    sources[0].say(hello("old"), stats(0), line(1), line(2))
    await settled()
    sources[0].onerror()
    mock.timers.tick(700)
    sources[1].say(hello("new"), stats(0), line(1))
    await settled()
    assert.deepEqual(tab.lines.slice(-3), [hello("new"), stats(0), line(1)])
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    assert.deepEqual(other.lines, [hello("new"), stats(0), line(1)])
    sources[1].onerror()
    mock.timers.tick(700)
    assert.equal(sources[2].url, "events?since=1&run=new")
})

for (const [status, body, reason] of [
    [401, "no", "the token is missing or wrong (status 401)"],
    [503, "there are too many readers\nmore", "there are too many readers (status 503)"],
    [502, "", "refused (status 502)"],
]) {
    test(`status ${status} is told, and tried again`, async () => {
        const { tab } = begin()
        answer = { status, body }
        sources[0].onerror()
        await settled()
        assert.deepEqual(asked, ["feed?replay=false"])
        assert.equal(tab.state.reason, reason)
        assert.equal(tab.state.needsToken === true, status === 401)
        mock.timers.tick(700)
        assert.equal(sources.length, 2)
        sources[1].say(hello(), stats(0))
        assert.equal(tab.state.kind, "open")
    })
}

for (const [name, elsewhere] of [
    ["a page", { status: 200, body: "<!doctype html>", type: "text/html" }], ["the way to elsewhere", { redirects: true }],
]) {
    test(`${name} in the agent's place is told from nothing`, async () => {
        const { tab } = begin()
        answer = elsewhere
        sources[0].onerror()
        await settled()
        assert.equal(tab.state.reason, "something else answers there")
    })
}

test("it waits longer each time, at most twelve seconds, and is told since when", async () => {
    const { tab } = begin()
    const pauses = []
    for (let round = 0; round < 9; round++) {
        sources.at(-1).onerror()
        await settled()
        pauses.push(tab.state.retryAt - Date.now())
        assert.equal(tab.state.since, 1_700_000_000_000)
        mock.timers.tick(Math.ceil(pauses.at(-1)) + 1)
        assert.equal(sources.length, round + 2)
    }
    assert.ok(pauses[0] >= 400 && pauses[0] <= 600, `${pauses}`)
    assert.ok(pauses.every(pause => pause <= 12_000), `${pauses}`)
    assert.ok(pauses.slice(6).every(pause => pause >= 8_000), `${pauses}`)
    sources.at(-1).say(hello())
    sources.at(-1).onerror()
    await settled()
    assert.ok(tab.state.retryAt - Date.now() <= 600)
})

test("a tab may ask for a try at once", async () => {
    const { tab } = begin()
    sources[0].onerror()
    tab.say("retry")
    assert.equal(sources.length, 2)
    tab.say("retry")
    assert.equal(sources.length, 2)
})

test("the agent's last word is the reason", async () => {
    const { tab } = begin()
    sources[0].say(hello(), stats(0), `{"type":"bye","time":"${at(1)}","run":"a","last_seq":0,"reason":"SIGTERM"}`)
    sources[0].onerror()
    await settled()
    assert.equal(tab.state.reason, "the agent has ended: SIGTERM")
})

test("what an older run has lost is no reason, what the agent refuses is one", async () => {
    for (const [code, reason] of [["disk", "the connection broke"], ["protocol", "no"]]) {
        const { tab } = begin()
        sources[0].say(hello(), stats(0), `{"type":"error","time":"${at(1)}","code":"${code}","message":"no"}`)
        sources[0].onerror()
        await settled()
        assert.equal(tab.state.reason, reason)
    }
})

test("a connection that says nothing is none, a beat is a word", async () => {
    const { tab } = begin()
    sources[0].say(hello(), stats(0))
    await settled()
    mock.timers.tick(20 * seconds)
    sources[0].beat(at(20))
    assert.deepEqual(tab.sent.at(-1), { beat: at(20), rate: 1, playback: "" })
    await settled()
    sources[0].beat(at(21), 0, "paused")
    assert.deepEqual(tab.sent.at(-1), { beat: at(21), rate: 0, playback: "paused" })
    await settled()
    mock.timers.tick(25 * seconds)
    assert.equal(tab.state.kind, "open")
    mock.timers.tick(5 * seconds)
    await settled()
    assert.equal(tab.state.kind, "lost")
    assert.match(tab.state.reason, /^nothing came for 30 s$/)
    assert.equal(Date.now() - tab.state.since, 30 * seconds)
})

test("nobody looks, nothing streams; who comes back goes on", async () => {
    const { stream, tab } = begin()
    sources[0].say(hello(), stats(0), line(1))
    await settled()
    const other = new Tab()
    stream.subscribe(other)
    tab.say("leave")
    assert.ok(!sources[0].isClosed)
    other.say("leave")
    assert.ok(sources[0].isClosed)
    mock.timers.tick(60 * seconds)
    assert.equal(sources.length, 1)
    const third = new Tab()
    stream.subscribe(third)
    assert.equal(sources[1].url, "events?since=1&run=a")
    await settled()
    assert.deepEqual(third.lines, [hello(), stats(0), line(1)])
})

test("a hidden tab's stream is closed and opened again where it was", async () => {
    const { stream } = begin()
    sources[0].say(hello(), stats(0), line(1))
    stream.close()
    assert.ok(sources[0].isClosed)
    stream.open()
    stream.open()
    assert.equal(sources.length, 2)
    assert.equal(sources[1].url, "events?since=1&run=a")
})

test("the log is bounded, and who was overtaken begins anew with a new greeting", async () => {
    const { stream, tab } = begin()
    await settled()
    tab.isEager = false
    sources[0].say(hello(), stats(0))
    answer = { status: 200, body: `${hello("a", 21)}\n${stats(20)}\nmore\n` }
    // 20 MiB in all, of which 8 stay.
    for (let number = 1; number <= 20; number++) sources[0].say(line(number, 1 << 20, 0))
    tab.isEager = true
    tab.say("next")
    await settled()
    assert.equal(tab.starts, 2)
    assert.deepEqual(tab.lines.slice(0, 2), [hello("a", 21), stats(20)])
    const kept = tab.lines.slice(2)
    assert.equal(kept.at(-1), line(20, 1 << 20, 0))
    assert.ok(kept.length >= 7 && kept.length <= 8, `${kept.length}`)
    // Without an answer, what was known has to do.
    answer = new Error("nobody")
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    assert.deepEqual(other.lines.slice(0, 2), [hello(), stats(0)])
    assert.deepEqual(other.lines.slice(2), kept)
})

test("a later tab gets the newest line of each series that is no longer in the log", async () => {
    const kept = (text, time = 0) => `{"type":"kept","time":"${at(time)}","run":"a","line":${text}}`
    const one = (number, series, value = "") => line(number).replace('"series":"fact"', `"series":"${series}"${value}`)
    const { stream } = begin()
    const old = [one(1, "breeds/a"), one(2, "breeds/b"), one(3, "room", ',"value":2')]
    sources[0].say(hello("a", 1_000), stats(9), ...old.map(text => kept(text)))
    sources[0].say(one(10, "breeds/b"), one(11, "room"), one(12, "dog"))
    for (let number = 13; number <= 1_000; number++) sources[0].say(line(number))
    const next = hello("a", 1_001)
    answer = { status: 200, body: `${next}\n${stats(1_000)}\n` }
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    const lines = other.lines
    assert.deepEqual(lines.slice(0, 4), [next, stats(1_000), kept(old[0]), kept(old[2])])
    const rest = lines.slice(4, 7).map(text => JSON.parse(text))
    assert.ok(rest.every(({ type, run }) => type === "kept" && run === "a"))
    assert.deepEqual(rest.map(({ line }) => line), [one(10, "breeds/b"), one(11, "room"), one(12, "dog")].map(text => JSON.parse(text)))
    assert.equal(lines.at(-1), line(1_000))
    // Another run's are others.
    sources[0].say(hello("b"), stats(0))
    const third = new Tab()
    stream.subscribe(third)
    await settled()
    assert.deepEqual(third.lines, [hello("b"), stats(0)])
})

test("a kept line of a fleet's agent is its series' newest when it comes", async () => {
    const one = (number, series) => line(number).replace('"series":"fact"', `"series":"${series}"`)
    const kept = text => `{"type":"kept","time":"${at(0)}","run":"a","line":${text}}`
    const { stream } = begin()
    sources[0].say(hello("a", 1_000), stats(9), one(1, "web1.a"), one(2, "web1.b"))
    sources[0].say(kept(one(0, "web1.a")), kept(one(0, "web1.b")), one(3, "web1.b"))
    for (let number = 4; number <= 1_000; number++) sources[0].say(line(number))
    answer = { status: 200, body: `${hello("a", 1_001)}\n${stats(1_000)}\n` }
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    const first = other.lines.slice(2, 4).map(text => JSON.parse(text))
    assert.deepEqual(first.map(({ type, line }) => [type, line.seq, line.series]), [["kept", 0, "web1.a"], ["kept", 3, "web1.b"]])
    assert.ok(!other.lines[4].startsWith('{"type":"kept"'))
})

test("a later tab gets no line of a series that is gone, but how many there are", async () => {
    const one = (number, series, value = "") => line(number).replace('"series":"fact"', `"series":"${series}"${value}`)
    const progress = (number, rest) => line(number).replace(/"type":"fact".*/, `"type":"progress","source":"fact","done":1,"total":1,"page":1${rest}}`)
    const { stream } = begin()
    sources[0].say(hello(), stats(0))
    const names = ['a\\"]b', "back", "agent", "Köln", "number"]
    names.forEach((name, place) => sources[0].say(one(place + 1, `fact/${name}`, name === "number" ? ',"value":2' : "")))
    const windows = line(6).replace(/"type":"fact".*/, '"type":"window","source":"fact","series":"fact/K\\u00f6ln","seconds":3600,"start":"2026-03-01T11:00:00.000000Z","last":1,"min":1,"max":1,"count":1,"mean":1}')
    sources[0].say(windows.replace("K\\u00f6ln", "Köln"))
    const gone = '"a\\"]b","back","Köln","number"'
    sources[0].say(progress(7, `,"items":9,"gone":[${gone}],"agent":"agent"`), one(8, "fact/back"), progress(9, ',"items":2'))
    assert.equal(JSON.parse(progress(7, `,"items":9,"gone":[${gone}],"agent":"agent"`)).gone.length, 4)
    for (let number = 10; number <= 1_000; number++) sources[0].say(line(number))
    answer = { status: 200, body: `${hello("a", 1_001)}\n${stats(1_000)}\n` }
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    const kept = other.lines.map(text => JSON.parse(text)).filter(({ type }) => type === "kept").map(({ line }) => line)
    assert.deepEqual(kept.map(({ seq, type, series = null }) => [seq, type, series]), [[3, "fact", "fact/agent"], [8, "fact", "fact/back"], [9, "progress", null]])
})

test("keys that come and go leave nothing behind", async () => {
    setFlagsFromString("--expose-gc")
    const collect = runInNewContext("gc")
    const { stream, tab } = begin()
    tab.say("leave")
    sources[0].say(hello(), stats(0))
    let number = 0
    const round = () => {
        number += 1
        const keys = Array.from({ length: 200 }, (_, place) => `"key-${number}-${place}"`)
        sources[0].say(line(number).replace('"series":"fact"', `"series":"fact/key-${number}-7"`))
        number += 1
        const rest = `"type":"progress","source":"fact","done":1,"total":1,"page":1,"gone":[${keys}]}`
        sources[0].say(line(number).replace(/"type":"fact".*/, rest))
    }
    const used = [200, 800].map(most => {
        while (number < most * 2) round()
        collect()
        return process.memoryUsage().heapUsed
    })
    assert.ok(used[1] - used[0] < 20e6, `${used}`)
    for (let count = 0; count < 1_000; count += 1) sources[0].say(line(++number))
    answer = { status: 200, body: `${hello("a", number + 1)}\n${stats(number)}\n` }
    const other = new Tab()
    stream.subscribe(other)
    sources.at(-1).say(hello("a", number + 1), stats(number))
    await settled()
    assert.ok(other.lines.length > 100)
    assert.deepEqual(other.lines.filter(text => text.startsWith('{"type":"kept"')), [])
})

test("kept lines are bounded, and come in pieces", async () => {
    const { stream } = begin()
    sources[0].say(hello("a", 1), stats(0))
    for (let number = 1; number <= 40; number++) {
        sources[0].say(line(number, 1 << 19, 0).replace('"series":"fact"', `"series":"s${number}"`))
    }
    answer = { status: 200, body: `${hello("a", 41)}\n${stats(40)}\n` }
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    const numbers = other.lines.slice(2).map(text => JSON.parse(text).line?.seq ?? JSON.parse(text).seq)
    assert.deepEqual(numbers, Array.from(numbers, (_, place) => 41 - numbers.length + place))
    assert.ok(numbers.length >= 30 && numbers.length <= 32, `${numbers.length}`)
    assert.ok(other.sent.every(message => (message.text ?? "").length < (128 << 10) + (1 << 20)))
})

test("what is older than the history goes", async () => {
    const { stream } = begin()
    sources[0].say(hello(), stats(0))
    for (let number = 1; number <= 1_000; number++) sources[0].say(line(number))
    answer = { status: 200, body: `${hello("a", 1_001)}\n${stats(1_000)}\n` }
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    const kept = other.lines.slice(2)
    assert.equal(kept.at(-1), line(1_000))
    assert.ok(kept.length >= 120 && kept.length < 120 + 128, `${kept.length}`)
})

test("a long log comes in parts that keep no tab busy", async () => {
    const { stream, tab } = begin()
    sources[0].say(hello(), stats(0))
    for (let number = 1; number <= 100; number++) sources[0].say(line(number, 10_000, 0))
    await settled()
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    assert.deepEqual(other.lines, tab.lines)
    const longest = Math.max(...other.sent.filter(message => message.text).map(message => message.text.length))
    assert.ok(longest <= (128 << 10) + 11_000, `${longest}`)
})

test("a tab may begin anew", async () => {
    const { tab } = begin()
    sources[0].say(hello(), stats(0), line(1))
    await settled()
    tab.say("start")
    await settled()
    assert.equal(tab.starts, 2)
    assert.deepEqual(tab.lines, [hello(), stats(0), line(1)])
})

test("a run that begins anew begins empty", async () => {
    const { stream, tab } = begin()
    tab.isEager = false
    sources[0].say(hello("old"), stats(0))
    for (let number = 1; number <= 20; number++) sources[0].say(line(number, 1 << 20, 0))
    sources[0].onerror()
    mock.timers.tick(700)
    asked = []
    sources[1].say(hello("new"))
    // Before its first line came, there is nothing that it could go on behind.
    sources[1].onerror()
    mock.timers.tick(700)
    assert.equal(sources[2].url, "events?since=0&run=new")
    sources[2].say(hello("new"), stats(0))
    for (let number = 1; number <= 7; number++) sources[2].say(line(number, 1 << 20, 0))
    // Who was behind in the old run goes on with the new one, which has all its lines.
    tab.isEager = true
    tab.say("next")
    await settled()
    assert.equal(tab.starts, 1)
    assert.equal(tab.lines.at(-1), line(7, 1 << 20, 0))
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    assert.equal(other.lines.filter(text => text.startsWith('{"seq"')).length, 7)
    assert.deepEqual(asked, [])
})

test("trying at once is instead of trying later", () => {
    const { tab } = begin()
    sources[0].onerror()
    tab.say("retry")
    mock.timers.tick(20 * seconds)
    assert.equal(sources.length, 2)
})

test("what the agent said last is no reason twice", async () => {
    const { tab } = begin()
    sources[0].say(hello(), stats(0), `{"type":"bye","time":"${at(1)}","run":"a","last_seq":0,"reason":"end"}`)
    sources[0].onerror()
    mock.timers.tick(700)
    sources[1].onerror()
    await settled()
    assert.equal(tab.state.reason, "nothing answers")
})

test("a reason that comes late is passed over", async () => {
    const { tab } = begin()
    let open
    gates = [new Promise(resolve => { open = resolve }), { status: 503, body: "new" }]
    sources[0].onerror()
    mock.timers.tick(700)
    sources[1].onerror()
    await settled()
    open({ status: 502, body: "old" })
    await settled()
    assert.equal(tab.state.reason, "new (status 503)")
})

test("a question is over once it is answered, and after five seconds", async () => {
    const { tab } = begin()
    answer = { status: 200, body: `${hello()}\n${stats(0)}\n` }
    sources[0].onerror()
    await settled()
    assert.deepEqual(signals.map(signal => signal.aborted), [true])
    gates = [new Promise(() => {})]
    mock.timers.tick(700)
    sources[1].onerror()
    await settled()
    assert.equal(signals[1].aborted, false)
    mock.timers.tick(5 * seconds)
    assert.equal(signals[1].aborted, true)
    assert.equal(tab.state.kind, "lost")
})

test("another run's greeting, and one that nobody waits for any more, are not sent", async () => {
    const { stream } = begin()
    sources[0].say(hello(), stats(0))
    for (let number = 1; number <= 10; number++) sources[0].say(line(number, 1 << 20, 0))
    answer = { status: 200, body: `${hello("b", 1)}\n${stats(0)}\n` }
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    assert.deepEqual(other.lines.slice(0, 2), [hello(), stats(0)])
    const third = new Tab()
    stream.subscribe(third)
    third.say("leave")
    await settled()
    assert.equal(third.lines.length, 0)
})

test("a log that has long been cut is still in order", async () => {
    const { stream } = begin()
    sources[0].say(hello(), stats(0))
    for (let number = 1; number <= 6_000; number++) sources[0].say(line(number))
    answer = { status: 200, body: `${hello("a", 6_001)}\n${stats(6_000)}\n` }
    const other = new Tab()
    stream.subscribe(other)
    await settled()
    const kept = other.lines.slice(2).map(text => JSON.parse(text).seq)
    assert.ok(kept.length >= 120 && kept.length < 250, `${kept.length}`)
    assert.deepEqual(kept, Array.from(kept, (_, place) => 6_001 - kept.length + place))
})
