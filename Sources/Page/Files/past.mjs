// A series as it was before what the board holds: the agent has lines of before in its journal, and gives those of a span of time.
//
// They are no board's: runs that are over lie beside the one that is now, and a board forgets the one for the other.

import { isoTime } from "./export.mjs"
import { parseTime, readLine } from "./line.mjs"
import { windowsOver } from "./windows.mjs"

// Bound: the past of a series in the page: a response | 16 MiB; the agent sends 8 MiB of lines | reading stops, the
//   graph says so
const mostBytes = 16 << 20
/** What is as long as that may be the newest part only, by the order lines came in: the server leaves out whole pages. */
const fullBytes = 6 << 20
/** A server that says nothing for so long is waited for no longer, in milliseconds. */
const longestSilence = 20_000

const units = { ms: 1e3, s: 1e6, m: 60e6, h: 3600e6, d: 86_400e6 }
const longestAgo = 36_600 * units.d
/** 0000-01-01: what a time of four digits of a year can say begins here, and ends with 9999. */
export const earliest = -719_528 * units.d
const latest = 2_932_897 * units.d

/**
 * The time that a person wrote, in microseconds, as `--since` takes it: `14:03`, `yesterday 08:00`, `2026-11-22 08:00`, RFC 3339,
 * `1h`, `-1h`, `1h ago`, `now`; null when it is none, is of no year from 0000 to 9999, or more than a hundred years ago by how long ago
 * that is. `offset(time)` is how many seconds shown times are ahead of UTC.
 */
export function timeOf(text, now, offset) {
    const time = readTime(text, now, offset)
    return time >= earliest && time < latest ? time : null
}

function readTime(text, now, offset) {
    const word = text.trim()
    if (word === "now") return now
    const ago = /^-?([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|[smhd])(?: ago)?$/.exec(word)
    if (ago) {
        const length = Math.round(Number(ago[1]) * units[ago[2]])
        return length > longestAgo ? null : now - length
    }
    const whole = parseTime(word.replace(" ", "T"))
    if (whole !== null) return whole
    const match = /^(today|yesterday|[0-9]{4}-[0-9]{2}-[0-9]{2})?(?:(?:^|[ T])([0-9]{2}:[0-9]{2})(:[0-9]{2})?)?$/.exec(word)
    if (match === null || word === "") return null
    const [, date, clock = "00:00", seconds = ":00"] = match
    const here = now + offset(now) * 1e6
    const today = here - ((here % units.d) + units.d) % units.d
    const start = date === undefined || date === "today" ? today : date === "yesterday" ? today - units.d : parseTime(`${date}T00:00:00Z`)
    const rest = parseTime(`1970-01-01T${clock}${seconds}Z`)
    if (start === null || rest === null) return null
    const utc = shown => shown - offset(shown - offset(shown) * 1e6) * 1e6
    const time = utc(start + rest)
    // A time alone is the latest that clocks have shown.
    return date === undefined && time > now ? utc(start - units.d + rest) : time
}

/** What a page of the past holds of a series: `{time, value, sequence}` of its values, and `{time, code}` of its source's errors. */
export class PastSeries {
    constructor({ name, source, from, until, hasJournal = true }) {
        Object.assign(this, { name, source, from, until })
        this.samples = []
        this.errors = []
        /** Whether there may be more than has come, and whether the journal names lines that it does not have. */
        this.isPart = false
        this.hasHoles = false
        /** Whether the agent has a journal with something in it; without one there is only what its log still has. */
        this.hasJournal = hasJournal
    }

    /** Takes a line, without its newline; throws what the agent says when it cannot tell all. */
    take(text) {
        const line = readLine(text)
        if (line?.kind === "refusal") throw new Error(line.body.message)
        if (line?.kind === "gap") this.hasHoles = true
        if (line === null || line.source !== this.source || line.time < this.from || line.time >= this.until) return
        const { kind, time, seq, body } = line
        if (kind === "error") this.errors.push({ time, code: body.code })
        let value = null
        if (kind === "data" && body.series === this.name) value = body.value
        else if (kind === "latency" && this.name === `latency:${line.source}`) value = body.ms
        else if (kind === "memory" && this.name === `memory:${line.source}`) value = body.resident
        else if (kind === "progress" && this.name === `count:${line.source}`) value = body.items
        if (value !== null) this.samples.push({ time, value, sequence: seq })
    }

    /** What a graph draws of it; see `graphModel`. */
    model(width) {
        const byTime = (one, other) => one.time - other.time
        const samples = this.samples.sort(byTime)
        const points = {
            count: samples.length, time: place => samples[place].time, value: place => samples[place].value,
            sequence: place => samples[place].sequence,
        }
        const windows = windowsOver(points, [], width, this.from, this.until)
        return { samples, windows, errors: this.errors.sort(byTime), width, start: this.from, end: this.until }
    }
}

/**
 * Asks for what a `PastSeries` is about, and has it take that; fails with an error whose message a person is told.
 *
 * `control`, an AbortController, ends it, and is aborted at the end.
 */
export async function fetchPast(past, control) {
    let timer = 0
    let isSilent = false
    const hear = () => {
        clearTimeout(timer)
        timer = setTimeout(() => {
            isSilent = true
            control.abort()
        }, longestSilence)
    }
    hear()
    try {
        past.hasJournal ||= await asksForJournal(control.signal)
        const query = new URLSearchParams({ from: isoTime(past.from), until: isoTime(past.until), sources: past.source })
        const response = await fetch(`feed?${query}`, {
            cache: "no-store", redirect: "manual", signal: control.signal,
        })
        const isFeed = response.headers.get("content-type")?.startsWith("application/x-ndjson")
        if (response.type === "opaqueredirect" || (response.ok && !isFeed)) throw new Error("something else answers there")
        if (!response.ok) throw new Error(`status ${response.status}`)
        const reader = response.body.getReader()
        const decoder = new TextDecoder()
        let rest = ""
        let bytes = 0
        let last = ""
        for (;;) {
            const { value, done } = await reader.read()
            if (done) break
            hear()
            bytes += value.length
            if (bytes > mostBytes) throw new Error("the answer is too long")
            const lines = (rest + decoder.decode(value, { stream: true })).split("\n")
            rest = lines.pop()
            for (const line of lines) past.take(line)
            last = lines.at(-1) ?? last
        }
        past.isPart = bytes >= fullBytes
        // What ends otherwise is not all of it.
        if (!last.startsWith('{"type":"bye"')) throw new Error("the connection broke")
    } catch (error) {
        if (isSilent) throw new Error("the agent takes too long")
        throw error instanceof TypeError ? new Error("nothing answers") : error
    } finally {
        clearTimeout(timer)
        control.abort()
    }
}

/** Whether the agent's greeting names lines of a journal now: that of when this page came may be older than the journal's first line. */
async function asksForJournal(signal) {
    const own = new AbortController()
    signal.addEventListener("abort", () => own.abort())
    try {
        const response = await fetch("feed?replay=false", { cache: "no-store", redirect: "manual", signal: own.signal })
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
        let text = ""
        for (;;) {
            const { value, done } = await reader.read()
            if (done) return false
            text += value
            if (text.includes("\n")) return readLine(text.split("\n")[0])?.body?.journalFirstSeq > 0
        }
    } finally {
        own.abort()
    }
}
