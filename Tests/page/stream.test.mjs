// The stream without a browser: EventSource, fetch and the time are stand-ins.
import assert from "node:assert"
import test, { mock } from "node:test"
import { pageFolder } from "./files.mjs"

const { Stream, fetchGreeting } = await import(new URL("stream.mjs", pageFolder))

/** Every EventSource that was made, the newest last. */
let sources = []
/** What `fetch` answers: an error, a promise, or a status and a body. */
let answer = null
/** The signals that were given with the questions. */
let signals = []

class FakeEventSource {
    constructor(url) {
        Object.assign(this, { url, isClosed: false, listeners: new Map() })
        sources.push(this)
    }

    addEventListener(name, listener) { this.listeners.set(name, listener) }
    close() { this.isClosed = true }
    say(...lines) { for (const line of lines) this.onmessage({ data: line }) }
    beat(beat) { this.listeners.get("beat")({ data: JSON.stringify(beat) }) }
}

globalThis.EventSource = FakeEventSource
globalThis.fetch = async (url, { signal, redirect }) => {
    assert.equal(url, "feed?replay=false")
    signals.push(signal)
    const given = await answer
    if (given instanceof Error) throw given
    // As a browser has it that is asked not to follow.
    if (given.redirects && redirect === "manual") return { type: "opaqueredirect", status: 0, ok: false, headers: new Headers(), text: async () => "" }
    return new Response(given.body, { status: given.status, headers: { "content-type": given.type ?? "application/x-ndjson" } })
}

const seconds = 1_000
const start = 1_700_000_000_000
const at = number => new Date(start + number * seconds).toISOString().replace("Z", "000Z")
const hello = (run = "a", next = 1) =>
    `{"type":"hello","time":"${at(0)}","format":1,"run":"${run}","filtered":false,"interval_s":10,"history_s":120,"first_seq":1,"next_seq":${next}}`
const stats = `{"type":"stats","time":"${at(0)}","as_of":0,"endpoints":[],"sources":[]}`
const line = number => `{"seq":${number},"time":"${at(number)}","type":"fact","source":"fact","series":"fact","text":"x"}`

async function settled() {
    for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** An open stream, what it has told and the newest source. */
function begin() {
    sources = []
    signals = []
    answer = new Error("nobody")
    mock.timers.reset()
    mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: start })
    const told = { lines: [], beats: [], states: [] }
    const stream = new Stream({
        take: ({ kind, seq }) => told.lines.push(seq ?? kind), beat: beat => told.beats.push(beat), change: state => told.states.push(state),
    })
    stream.open()
    return { stream, told }
}

test("lines are taken as they come, and a greeting says that the agent is there", () => {
    const { stream, told } = begin()
    assert.deepEqual([sources[0].url, stream.state.kind], ["events", "waiting"])
    sources[0].say(hello(), stats, line(1), line(2))
    assert.deepEqual(told.lines, ["hello", "stats", 1, 2])
    assert.deepEqual(told.states.map(({ kind }) => kind), ["open"])
    stream.open()
    assert.equal(sources.length, 1)
})

test("what is no line ends the connection, which begins anew behind the last one after a while", () => {
    const { stream } = begin()
    sources[0].say(hello(), stats, line(1), line(2).slice(0, 20))
    assert.ok(sources[0].isClosed)
    assert.deepEqual([stream.state.kind, stream.state.reason], ["lost", "what came is no line of a feed"])
    mock.timers.tick(7 * seconds)
    assert.equal(sources.length, 1)
    mock.timers.tick(5 * seconds)
    assert.equal(sources[1].url, "events?since=1&run=a")
})

test("it comes back behind the last line of its run, or behind a gap", () => {
    const { stream, told } = begin()
    sources[0].say(hello(), stats, line(1), line(2))
    sources[0].onerror()
    assert.deepEqual([stream.state.kind, stream.state.reason, sources[0].isClosed], ["lost", "the connection broke", true])
    mock.timers.tick(700)
    assert.equal(sources[1].url, "events?since=2&run=a")
    sources[1].say(hello("a", 3), stats, `{"type":"gap","time":"${at(1)}","from":3,"to":90,"reason":"slow_reader"}`)
    sources[1].onerror()
    mock.timers.tick(700)
    assert.equal(sources[2].url, "events?since=90&run=a")
    assert.deepEqual(told.states.map(({ kind }) => kind), ["open", "lost", "open", "lost"])
})

test("another run begins with its first line", () => {
    begin()
    sources[0].say(hello("old"), stats, line(1), line(2))
    sources[0].onerror()
    mock.timers.tick(700)
    sources[1].say(hello("new"))
    sources[1].onerror()
    mock.timers.tick(700)
    assert.equal(sources[2].url, "events?since=0&run=new")
})

test("it may be closed and go on, or begin anew", () => {
    const { stream } = begin()
    sources[0].say(hello(), stats, line(1))
    stream.close()
    assert.ok(sources[0].isClosed)
    mock.timers.tick(60 * seconds)
    assert.equal(sources.length, 1)
    stream.open()
    assert.equal(sources[1].url, "events?since=1&run=a")
    stream.restart()
    assert.deepEqual([sources[1].isClosed, sources[2].url], [true, "events"])
})

for (const [status, body, reason] of [
    [401, "no", "the token is missing or wrong (status 401)"],
    [503, "there are too many readers\nmore", "there are too many readers (status 503)"],
    [502, "", "refused (status 502)"],
]) {
    test(`status ${status} is told, and tried again`, async () => {
        const { stream } = begin()
        answer = { status, body }
        sources[0].onerror()
        await settled()
        assert.equal(stream.state.reason, reason)
        mock.timers.tick(700)
        sources[1].say(hello(), stats)
        assert.equal(stream.state.kind, "open")
    })
}

for (const [name, elsewhere] of [
    ["a page", { status: 200, body: "<!doctype html>", type: "text/html" }], ["the way to elsewhere", { redirects: true }],
]) {
    test(`${name} in the agent's place is told from nothing`, async () => {
        const { stream } = begin()
        answer = elsewhere
        sources[0].onerror()
        await settled()
        assert.equal(stream.state.reason, "something else answers there")
    })
}

test("it waits longer each time, at most twelve seconds, and is told since when", () => {
    const { stream } = begin()
    const pauses = []
    for (let round = 0; round < 9; round++) {
        sources.at(-1).onerror()
        pauses.push(stream.state.retryAt - Date.now())
        assert.equal(stream.state.since, start)
        mock.timers.tick(Math.ceil(pauses.at(-1)) + 1)
        assert.equal(sources.length, round + 2)
    }
    assert.ok(pauses[0] >= 400 && pauses[0] <= 600, `${pauses}`)
    assert.ok(pauses.every(pause => pause <= 12_000), `${pauses}`)
    assert.ok(pauses.slice(6).every(pause => pause >= 8_000), `${pauses}`)
    sources.at(-1).say(hello())
    sources.at(-1).onerror()
    assert.ok(stream.state.retryAt - Date.now() <= 600)
})

test("a try at once is instead of the later one", () => {
    const { stream } = begin()
    sources[0].onerror()
    stream.retry()
    stream.retry()
    mock.timers.tick(20 * seconds)
    assert.equal(sources.length, 2)
})

for (const [said, reason] of [
    [`"type":"bye","time":"${at(1)}","run":"a","last_seq":0,"reason":"SIGTERM"`, "the agent has ended: SIGTERM"],
    [`"type":"error","time":"${at(1)}","code":"protocol","message":"no"`, "no"],
    // What an older run has lost.
    [`"type":"error","time":"${at(1)}","code":"disk","message":"no"`, "the connection broke"],
]) {
    test(`the agent's last word is the reason, once: ${reason}`, async () => {
        const { stream } = begin()
        sources[0].say(hello(), stats, `{${said}}`)
        sources[0].onerror()
        assert.equal(stream.state.reason, reason)
        mock.timers.tick(700)
        sources[1].onerror()
        await settled()
        assert.equal(stream.state.reason, "nothing answers")
    })
}

test("a connection that says nothing is none, a beat is a word", () => {
    const { stream, told } = begin()
    sources[0].say(hello(), stats)
    mock.timers.tick(20 * seconds)
    sources[0].beat({ time: at(20), rate: 0, playback: "paused" })
    assert.deepEqual(told.beats, [{ time: at(20), rate: 0, playback: "paused" }])
    mock.timers.tick(25 * seconds)
    assert.equal(stream.state.kind, "open")
    mock.timers.tick(5 * seconds)
    assert.deepEqual([stream.state.kind, stream.state.reason], ["lost", "nothing came for 30 s"])
    assert.equal(Date.now() - stream.state.since, 30 * seconds)
})

test("a reason that comes late is passed over", async () => {
    const { stream } = begin()
    let open
    answer = new Promise(resolve => { open = resolve })
    sources[0].onerror()
    mock.timers.tick(700)
    answer = { status: 503, body: "new" }
    sources[1].onerror()
    await settled()
    open({ status: 502, body: "old" })
    await settled()
    assert.equal(stream.state.reason, "new (status 503)")
})

test("a question is over once it is answered, and after five seconds", async () => {
    begin()
    answer = { status: 200, body: `${hello()}\n${stats}\nmore` }
    assert.deepEqual((await fetchGreeting()).map(({ kind }) => kind), ["hello", "stats"])
    assert.equal(signals[0].aborted, true)
    answer = new Promise(() => {})
    fetchGreeting().catch(() => {})
    mock.timers.tick(4_999)
    assert.equal(signals[1].aborted, false)
    mock.timers.tick(1)
    assert.equal(signals[1].aborted, true)
})
