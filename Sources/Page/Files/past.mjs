// A series as it was before what the board holds: the agent computes the columns of a span of time from the lines in its journal,
// those of earlier runs included.

import { isoTime } from "./export.mjs"
import { parseTime, readLine } from "./line.mjs"
import { absorb, windowIndex, windowStart, windowsOver } from "./windows.mjs"

// Bound: the past of a series in the page: a response | 16 MiB; the agent sends 2,000 columns | reading stops, the
//   graph says so
const mostBytes = 16 << 20
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

/** Columns, and windows, of a graph of the past; more of them are put together. */
const mostColumns = 1000

/** How wide the windows of so long a time are, in microseconds. */
export const windowWidth = (width, length) => width * Math.ceil(length / width / mostColumns)

/** The narrowest columns, of whole seconds, that fill such windows and are not too many. */
export function columnWidth(width, length) {
    const window = windowWidth(width, length)
    let column = units.s
    while (column < window && (window % column !== 0 || length / column > mostColumns)) column += units.s
    return column
}

/**
 * What a page of the past holds of a series: its columns, and how many errors its source had in each.
 *
 * `column` is their width; without a journal there is only what the board, which `board()` gives, holds.
 */
export class PastSeries {
    #columns = new Map()

    constructor({ name, source, from, until, column, board = () => null }) {
        Object.assign(this, { name, source, from, until, column, board })
        /** Whether the journal names lines that it does not have. */
        this.hasHoles = false
        /** Whether the agent has a journal. */
        this.hasJournal = true
    }

    /** Takes a line, without its newline; throws what the agent says when it cannot tell all. */
    take(text) {
        const line = readLine(text)
        if (line?.kind === "refusal") throw new Error(line.body.message)
        if (line?.kind !== "column" || line.source !== this.source || line.body.series !== this.name) return
        const { start, width, window, errors, gaps } = line.body
        if (width !== this.column || start + width <= this.from || start >= this.until) return
        const column = this.#at(start)
        if (gaps > 0) this.hasHoles = true
        column.errors += errors
        column.window ??= window
    }

    /** Takes what the board holds of this time. */
    takeBoard() {
        this.hasJournal = false
        const board = this.board()
        const index = board?.seriesNamed(this.name)
        if (index === undefined) return
        const isAsked = time => time >= this.from && time < this.until
        const points = board.points(index)
        const places = Array.from({ length: points.count }, (_, place) => place)
            .filter(place => isAsked(points.time(place)))
            .sort((one, other) => points.time(one) - points.time(other))
        for (const place of places) {
            const value = points.value(place)
            const column = this.#at(points.time(place))
            const window = { last: value, count: 1, minimum: value, maximum: value, mean: value }
            if (column.window === null) column.window = { start: column.start, width: this.column, ...window, band: null, trend: null }
            else absorb(column.window, window)
        }
        const source = board.sourceNamed(this.source)
        if (source === undefined) return
        for (const error of board.errors(source)) if (isAsked(error.time)) this.#at(error.time).errors += 1
    }

    #at(time) {
        const start = windowStart(windowIndex(time, this.column), this.column)
        if (!this.#columns.has(start)) this.#columns.set(start, { start, window: null, errors: 0 })
        return this.#columns.get(start)
    }

    /** The columns with a value, ascending. */
    get windows() {
        return [...this.#columns.values()].flatMap(({ window }) => window ?? []).sort((one, other) => one.start - other.start)
    }

    /** What a graph draws of it, with windows that are at least `width` wide; see `graphModel`. */
    model(width) {
        const whole = Math.ceil(width / this.column) * this.column
        const { windows: columns } = this
        const middle = start => Math.min(Math.max(start + Math.floor(this.column / 2), this.from), this.until - 1)
        return {
            samples: columns.map(({ start, last, minimum, maximum }) => ({ time: middle(start), value: last, minimum, maximum })),
            windows: windowsOver({ count: 0 }, columns, whole, this.from, this.until),
            errors: [...this.#columns.values()].filter(({ errors }) => errors > 0).sort((one, other) => one.start - other.start)
                .map(({ start, errors }) => ({ time: middle(start), code: errors === 1 ? "error" : `${errors} errors` })),
            width: whole, start: this.from, end: this.until,
        }
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
        const query = new URLSearchParams({
            from: isoTime(past.from), until: isoTime(past.until), sources: past.source, series: past.name, width: past.column / 1e6,
        })
        const response = await fetch(`feed?${query}`, {
            cache: "no-store", redirect: "manual", signal: control.signal,
        })
        const isFeed = response.headers.get("content-type")?.startsWith("application/x-ndjson")
        if (response.type === "opaqueredirect" || (response.ok && !isFeed)) throw new Error("something else answers there")
        if (response.status === 404) return past.takeBoard()
        if (!response.ok) throw new Error(response.status === 400 ? "the agent refuses it: it may be older than this page" : `status ${response.status}`)
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
