// A series as it was before what the board holds: the agent has lines of before in its journal, and gives those of a span of time.
//
// They are no board's: runs that are over lie beside the one that is now, and a board forgets the one for the other.

import { isoTime } from "./export.mjs"
import { readLine } from "./line.mjs"
import { windowsOver } from "./windows.mjs"

// Bound: a response with a longer time of a series, in the page | 16 MiB; the agent sends 8 MiB of lines | reading
//   stops, and the graph says so
const mostBytes = 16 << 20
/** What is as long as that may be the newest part only, by the order lines came in: the server leaves out whole pages. */
const fullBytes = 6 << 20
/** A server that says nothing for so long is waited for no longer, in milliseconds. */
const longestSilence = 20_000

/** What a page of the past holds of a series: `{time, value, sequence}` of its values, and `{time, code}` of its source's errors. */
export class PastSeries {
    constructor({ name, source, from, until }) {
        Object.assign(this, { name, source, from, until })
        this.samples = []
        this.errors = []
        /** Whether there may be more than has come, and whether the journal names lines that it does not have. */
        this.isPart = false
        this.hasHoles = false
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
