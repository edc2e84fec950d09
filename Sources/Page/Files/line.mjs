// Reads lines of format 1. The agent has checked and mended every line, also those of other agents, so that members are
// trusted; only what an agent passes on without looking at it is looked at. `data` is kept as it was written, because `JSON.parse`
// loses digits of long numbers and all but the last of doubled keys.

import { BandScale } from "./bands.mjs"
import { utf8Length, wellFormed } from "./text.mjs"

const mostMilliseconds = 1e12
const mostMicroseconds = 9_223_372_036_854_775

/** The line that a text is; null when it is none. Absent members are null; times and durations are in microseconds. */
export function readLine(text) {
    try {
        const m = JSON.parse(text)
        return typeof m?.type === "string" ? lineOf(m, text, false) : null
    } catch {
        return null
    }
}

/** `isNested`: it is the line in a `kept` line, and none itself. */
function lineOf(m, text, isNested) {
    const kind = kindOf(m, isNested)
    // Anybody's key in lines of an older version, and of no meaning there.
    const agent = typeof m.agent === "string" ? m.agent : null
    const isForwarded = agent !== null && Number.isInteger(m.origin_seq) && m.origin_seq > 0
    const line = { seq: m.seq ?? null, time: parseTime(m.time), type: m.type, source: m.source ?? null, kind, body: null, agent, isForwarded }
    line.body = readers[kind]?.(m, text) ?? null
    if (kind === "kept" && !recalled.has(line.body.line.kind)) return { ...line, kind: "unknown", body: null }
    return line
}

const ofConnection = new Set(["hello", "stats", "gap", "bye"])
// The lines that a `kept` line may have in it.
const alertStates = new Set(["pending", "ok", "firing", "reminder", "clearing", "resolved"])
const recalled = new Set(["data", "latency", "memory", "progress", "alert", "rows"])
const numbered = new Set(["latency", "memory", "window", "error", "progress", "recovered", "agent", "restart", "lost", "peer", "alert", "clock"])

/** What a line's body is: its type, but for `data`, `rows`, `column`, `refusal` and `unknown`. */
function kindOf({ type, seq = null, series = null, rows = null, state }, isNested) {
    if (ofConnection.has(type)) return type
    if (type === "kept" && !isNested && seq === null && series === null) return type
    if (type === "error" && seq === null) return "refusal"
    if (type === "window" && seq === null && !isNested) return "column"
    // A later version may have more states.
    if (type === "alert" && !alertStates.has(state)) return "unknown"
    if (numbered.has(type)) return isNested && type === "window" && rows !== null ? "rows" : type
    // Whatever a later version has is no event.
    return typeof series === "string" ? "data" : "unknown"
}

// MARK: Bodies

const failure = m => ({
    code: m.code, message: m.message, endpoint: m.endpoint ?? null, attempt: m.attempt ?? null, retryIn: duration(m.retry_in_ms, 1e3),
})

const readers = {
    data: (m, text) => ({
        series: m.series,
        value: m.value ?? null,
        ...wordOf(m),
        text: m.text ?? null,
        data: m.data === undefined ? null : memberText(text, "data"),
        truncated: m.truncated ?? false,
        altered: m.altered ?? false,
        valuePointer: valuePointer(m),
    }),
    latency: m => ({
        endpoint: m.endpoint,
        status: m.status,
        ms: milliseconds(m.ms),
        dns: milliseconds(m.dns_ms),
        connect: milliseconds(m.connect_ms),
        tls: milliseconds(m.tls_ms),
        wait: milliseconds(m.wait_ms),
        receive: milliseconds(m.receive_ms),
        bytes: m.bytes ?? 0,
        reused: m.reused ?? false,
        late: milliseconds(m.late_ms),
    }),
    memory: m => ({ resident: m.rss_bytes, peak: m.peak_bytes, privateBytes: m.private_bytes }),
    window: m => ({
        series: m.series,
        start: parseTime(m.start),
        width: duration(m.seconds, 1e6),
        last: m.last,
        lastSeq: m.last_seq,
        count: m.count,
        minimum: m.min,
        maximum: m.max,
        mean: m.mean,
        band: m.band ?? null,
        trend: m.trend ?? null,
        isKept: false,
    }),
    // An answer to a request with `width`; `window` is null where there is no value.
    column: m => {
        const [start, width] = [parseTime(m.start), duration(m.seconds, 1e6)]
        const window = {
            start, width, last: m.last, count: m.count, minimum: m.min, maximum: m.max, mean: m.mean, band: null, trend: null,
        }
        return { series: m.series, start, width, window: m.count > 0 ? window : null, errors: m.errors, gaps: m.gaps }
    },
    // The windows in a `kept` line, one a row.
    rows: m => m.rows.map(([start, last, minimum, maximum, count, mean]) => ({
        series: m.series, start: Math.trunc(start * 1e6), width: duration(m.seconds, 1e6), last, count, minimum, maximum,
        mean: Math.min(Math.max(mean, minimum), maximum), isKept: true, band: null, trend: null,
    })),
    error: failure,
    refusal: failure,
    progress: m => ({
        done: m.done, total: m.total ?? null, page: m.page ?? 0, items: m.items ?? null, gone: m.gone ?? [],
    }),
    recovered: m => ({ down: duration(m.down_s, 1e6), attempts: m.attempts }),
    agent: m => ({
        events: m.events,
        readers: m.readers ?? 0,
        gaps: m.gaps ?? 0,
        stalled: m.stalled ?? 0,
        late: m.late ?? 0,
        future: m.future ?? 0,
        series: m.series ?? 0,
        refusedSeries: m.refused_series ?? 0,
        refusedEndpoints: m.refused_endpoints ?? 0,
        loopLag: milliseconds(m.loop_lag_ms),
        cpu: milliseconds(m.cpu_ms),
        outputs: (m.outputs ?? []).map(({ output, state, behind, durable_seq: durable }) => ({ output, state, behind: behind ?? 0, durable: durable ?? null })),
    }),
    restart: m => ({ lastRun: m.last_run ?? null, lastSequence: m.last_seq ?? null, ended: m.ended ?? null }),
    lost: m => ({ from: m.from, to: m.to, run: m.origin_run ?? null }),
    alert: m => ({
        about: m.about, condition: m.condition, state: m.state, id: m.id, at: parseTime(m.at), since: parseTime(m.since),
        severity: m.severity ?? null, value: m.value ?? null, text: m.text ?? null, test: m.test, limit: limit(m),
        note: m.note ?? null, down: duration(m.down_s, 1e6), reason: m.reason ?? null, evidence: m.evidence,
    }),
    clock: m => ({ step: m.step_s, slept: duration(m.slept_s, 1e6) }),
    peer: m => ({
        state: m.state,
        since: parseTime(m.since),
        heard: parseTime(m.heard),
        run: m.run ?? null,
        host: host(m),
        app: app(m),
        skew: m.skew_ms ?? null,
        lost: m.lost ?? 0,
    }),
    hello: m => ({
        format: m.format,
        run: m.run,
        filtered: m.filtered ?? false,
        interval: duration(m.interval_s, 1e6) ?? 10e6,
        history: duration(m.history_s, 1e6) ?? 120e6,
        firstSeq: m.first_seq,
        nextSeq: m.next_seq,
        isFleet: m.fleet ?? false,
        host: host(m),
        app: app(m),
    }),
    stats: m => ({
        asOf: m.as_of,
        endpoints: (m.endpoints ?? []).map(one => ({ endpoint: one.endpoint, source: one.source ?? "", summary: summary(one) })),
        // Not those in a state that a later version has.
        sources: (m.sources ?? []).filter(({ state }) => ["starting", "ok", "failing"].includes(state)).map(status),
        moreEndpoints: m.more_endpoints ?? 0,
        moreSources: m.more_sources ?? 0,
    }),
    gap: m => ({ from: m.from, to: m.to, reason: m.reason ?? null }),
    kept: (m, text) => ({ run: m.run, line: lineOf(m.line, memberText(text, "line"), true) }),
    bye: m => ({ run: m.run ?? null, lastSeq: m.last_seq ?? null, reason: m.reason ?? null }),
}

// What objects have inside is checked by nobody on the way.
const textOf = text => (typeof text === "string" ? text : null)

function host({ host }) {
    const text = key => textOf(host?.[key]) ?? ""
    return { name: text("name"), device: text("device"), os: text("os"), kernel: text("kernel"), arch: text("arch") }
}

const app = ({ app }) => ({ name: textOf(app?.name), version: textOf(app?.version), started: parseTime(app?.started) })

/** An alert's first test of a value with a number, or a range up to `upper`; null without one. */
function limit({ op, threshold: value = null, threshold_to: upper = null }) {
    return /^([<>]=?|!?=|(not )?in)$/.test(op) && value !== null && (upper !== null) === /n$/.test(op) ? { op, value, upper } : null
}

const summary = m => ({
    count: m.count,
    errors: m.errors ?? 0,
    last: milliseconds(m.last_ms),
    mean: milliseconds(m.mean_ms),
    minimum: milliseconds(m.min_ms),
    p50: milliseconds(m.p50_ms),
    p90: milliseconds(m.p90_ms),
    p95: milliseconds(m.p95_ms),
    p99: milliseconds(m.p99_ms),
    maximum: milliseconds(m.max_ms),
})

/** The word that a value stands for, and since when; both or neither, and only with a value. */
function wordOf({ value = null, word, since }) {
    const time = parseTime(since)
    return value !== null && isText(word, 64) && word !== "" && time !== null ? { word, since: time } : { word: null, since: null }
}

/** Where a source's values were found. */
const valuePointer = ({ value_pointer: pointer }) => (isText(pointer, 256) ? pointer : null)

const isText = (text, most) => typeof text === "string" && utf8Length(text) <= most

function status(m) {
    const every = duration(m.every_s, 1e6)
    return {
        source: m.source,
        state: m.state,
        since: parseTime(m.since),
        failure: m.state === "failing" && m.code !== undefined
            ? { code: m.code, message: m.message ?? null, attempt: m.attempt ?? null, retryAt: parseTime(m.retry_at) } : null,
        answered: parseTime(m.answered_at),
        type: m.type ?? null,
        unit: m.unit ?? null,
        bands: BandScale.of((m.bands ?? []).map(band), m.higher_is_better ?? false),
        valuePointer: valuePointer(m),
        rhythm: every > 0 ? { kind: "every", period: every } : { kind: m.runs_once ? "once" : "stream", period: 0 },
    }
}

const band = ({ name, letter, color, up_to: upTo = null }) => ({ name, letter, color: `${color}`.toLowerCase(), upTo })

// MARK: Values

/** 0 for what an agent would have written as 0: sums overflow otherwise. */
const milliseconds = ms => (ms > 0 && ms < mostMilliseconds ? ms : 0)

/** A number of units of so many microseconds; what is more than the agent counts to is 292 years. */
const duration = (units, unit) => typeof units === "number" ? Math.min(Math.round(units * unit), mostMicroseconds) : null

/** The microseconds since the epoch of a time as in RFC 3339, to the microsecond below; null when it is none. */
export function parseTime(text) {
    const match = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-](?:[01]\d|2[0-3]):[0-5]\d))$/.exec(text)
    if (match === null) return null
    const [, day, clock, second, fraction = "", offset = "Z"] = match
    const isLeap = second === "60"
    const milliseconds = Date.parse(`${day}T${clock}:${isLeap ? 59 : second}${offset}`) + (isLeap ? 1000 : 0)
    // What follows a leap second is the first second of a day. A date that is none, such as the 30th of February, is another then.
    if (isLeap && milliseconds % 86_400_000 !== 0) return null
    if (Number.isNaN(milliseconds) || clock > "23:59" || !isDate(day)) return null
    return milliseconds * 1e3 + Number(fraction.padEnd(6, "0").slice(0, 6))
}

const isDate = day => day.slice(8) <= "28" || new Date(day + "T00:00Z").toISOString().startsWith(day)

// MARK: JSON as it is written

/** The members of an object or the elements of an array, in their order: `{name, text}` each, as valid JSON writes them. */
export function partsOf(text) {
    const parts = []
    let level = 0
    let start = 0
    let name = null
    const end = place => {
        const part = text.slice(start, place).trim()
        if (part !== "") parts.push({ name, text: part })
        start = place + 1
    }
    for (let place = 0; place < text.length; place += 1) {
        switch (text[place]) {
        case '"':
            place = endOfString(text, place)
            break
        case "{":
        case "[":
            level += 1
            if (level === 1) start = place + 1
            break
        case "}":
        case "]":
            level -= 1
            if (level === 0) end(place)
            break
        case ",":
            if (level === 1) end(place)
            break
        case ":":
            if (level !== 1) break
            name = stringOf(text.slice(start, place).trim())
            start = place + 1
        }
    }
    return parts
}

/** The place of the quote that ends a string which begins at `place`. */
function endOfString(text, place) {
    for (;;) {
        place = text.indexOf('"', place + 1)
        let escapes = 0
        while (text[place - 1 - escapes] === "\\") escapes += 1
        if (escapes % 2 === 0) return place
    }
}

/** The text of an object's first member of a name. */
const memberText = (object, key) => partsOf(object).find(({ name }) => name === key).text

/** What the text of a string with its quotes stands for. */
export const stringOf = token => (token.includes("\\") ? wellFormed(JSON.parse(token)) : token.slice(1, -1))
