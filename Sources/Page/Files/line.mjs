// Reads lines of format 1: the twin of Sources/Feed/Lines/Reading. `JSON.parse` is no reader of them: it loses long numbers
// and takes the last of doubled keys, where the first counts, and a line keeps its `data` as it was written.

import { BandScale } from "./bands.mjs"
import { cutBytes, firstCharacter, own, utf8Length, wellFormed } from "./text.mjs"

const longestString = 4096
const mostLevels = 512
// One more than there may be.
const mostBandsRead = 65
const mostMilliseconds = 1e12
const longestDuration = 31_556_952e9
const mostMicroseconds = 9_223_372_036_854_775
const mostGone = 1000
const mostGoneBytes = 64 << 10
const greatestInteger = "9223372036854775807"

// Thrown where a line is none; never seen outside.
const fault = Symbol("fault")
const refuse = () => {
    throw fault
}

/** The line that a text is; null when it is none. Absent members are null; times and durations are in microseconds. */
export function readLine(text) {
    return read(text, false)
}

/** `isNested`: it is the line in a `kept` line, and none itself. */
function read(text, isNested) {
    try {
        const start = space(text, 0)
        const members = new Map()
        const end = text[start] === "{" ? walkObject(text, start, 1, members) : refuse()
        if (space(text, end) !== text.length) return null
        const type = need(string(members, "type"))
        // 0 is the number of a fleet's kept lines: those of its agents.
        const seq = integer(members, "seq", isNested ? 0 : 1)
        const line = { seq, time: need(time(members, "time")), type, source: string(members, "source"), kind: "", body: null, agent: null, isForwarded: false }
        // Anybody's key in lines of an older version, and of no meaning there.
        if (members.get("agent")?.startsWith('"')) line.agent = string(members, "agent")
        line.isForwarded = line.agent !== null && attempt(() => integer(members, "origin_seq", 1)) !== null
        line.kind = kindOf(type, members, isNested)
        if (readers[line.kind] !== undefined) line.body = readers[line.kind](members)
        if (line.kind === "kept" && !recalled.has(line.body.line.kind)) return { ...line, kind: "unknown", body: null }
        return line
    } catch (error) {
        if (error === fault) return null
        throw error
    }
}

const ofConnection = new Set(["hello", "stats", "gap", "bye"])
// The lines that a `kept` line may have in it.
const recalled = new Set(["data", "latency", "memory", "progress", "rows"])
const numbered = new Set(["latency", "memory", "window", "error", "progress", "recovered", "agent", "restart", "lost", "peer"])

/** What a line's body is: its type, but for `data`, `refusal` and `unknown`. */
function kindOf(type, members, isNested) {
    if (ofConnection.has(type)) return type
    if (type === "kept" && !isNested && value(members, "seq") === null && value(members, "series") === null) return type
    const isWhole = value(members, "seq") !== null && value(members, "source") !== null
    if (numbered.has(type)) {
        if (isWhole) return isNested && type === "window" && members.has("rows") ? "rows" : type
        const isRefusal = type === "error" && value(members, "seq") === null && value(members, "source") === null
        return isRefusal ? "refusal" : refuse()
    }
    // Whatever a later version has.
    if (!members.get("series")?.startsWith('"')) return "unknown"
    return isWhole ? "data" : refuse()
}

// MARK: Bodies

const failure = m => ({
    code: need(string(m, "code")),
    message: need(string(m, "message")),
    endpoint: string(m, "endpoint"),
    attempt: integer(m, "attempt", 1),
    retryIn: duration(m, "retry_in_ms", 1e3),
})

const readers = {
    data: m => ({
        series: need(string(m, "series")),
        value: number(m, "value"),
        ...wordOf(m),
        text: string(m, "text"),
        // A part of the line, whatever it is: null too.
        data: m.get("data") ?? null,
        truncated: bool(m, "truncated") ?? false,
        altered: bool(m, "altered") ?? false,
        valuePointer: valuePointer(m),
    }),
    latency: m => ({
        endpoint: need(string(m, "endpoint")),
        status: need(integer(m, "status")),
        ms: need(milliseconds(m, "ms")),
        dns: milliseconds(m, "dns_ms") ?? 0,
        connect: milliseconds(m, "connect_ms") ?? 0,
        tls: milliseconds(m, "tls_ms") ?? 0,
        wait: milliseconds(m, "wait_ms") ?? 0,
        receive: milliseconds(m, "receive_ms") ?? 0,
        bytes: integer(m, "bytes") ?? 0,
        reused: bool(m, "reused") ?? false,
        late: milliseconds(m, "late_ms") ?? 0,
    }),
    memory: m => ({
        resident: need(integer(m, "rss_bytes")),
        peak: need(integer(m, "peak_bytes")),
        privateBytes: need(integer(m, "private_bytes")),
    }),
    window: m => ({
        series: need(string(m, "series")),
        start: need(time(m, "start")),
        width: need(duration(m, "seconds", 1e6)) || refuse(),
        last: need(number(m, "last")),
        lastSeq: need(integer(m, "last_seq", 1)),
        count: need(integer(m, "count", 1)),
        minimum: need(number(m, "min")),
        maximum: need(number(m, "max")),
        mean: need(number(m, "mean")),
        band: string(m, "band"),
        trend: string(m, "trend"),
        revision: integer(m, "revision") ?? 0,
    }),
    error: failure,
    refusal: failure,
    progress: m => ({
        done: need(integer(m, "done")),
        total: integer(m, "total"),
        page: integer(m, "page") ?? 0,
        items: integer(m, "items"),
        gone: strings(m, "gone", mostGone, mostGoneBytes),
    }),
    recovered: m => ({ down: need(duration(m, "down_s", 1e6)), attempts: need(integer(m, "attempts", 1)) }),
    agent: m => ({
        events: need(integer(m, "events")),
        readers: integer(m, "readers") ?? 0,
        gaps: integer(m, "gaps") ?? 0,
        stalled: integer(m, "stalled") ?? 0,
        late: integer(m, "late") ?? 0,
        future: integer(m, "future") ?? 0,
        series: integer(m, "series") ?? 0,
        refusedSeries: integer(m, "refused_series") ?? 0,
        refusedEndpoints: integer(m, "refused_endpoints") ?? 0,
        loopLag: milliseconds(m, "loop_lag_ms") ?? 0,
        cpu: milliseconds(m, "cpu_ms") ?? 0,
        outputs: list(m, "outputs").map(output => ({
            output: need(string(output, "output")),
            state: need(string(output, "state")),
            behind: integer(output, "behind") ?? 0,
            durable: integer(output, "durable_seq"),
        })),
    }),
    restart: m => ({ lastRun: string(m, "last_run"), lastSequence: integer(m, "last_seq"), ended: string(m, "ended") }),
    lost: m => {
        const from = need(integer(m, "from", 1))
        return { from, to: need(integer(m, "to", from)), run: string(m, "origin_run") }
    },
    peer: m => ({
        state: need(string(m, "state")),
        since: need(time(m, "since")),
        heard: time(m, "heard"),
        run: value(m, "run") === null ? null : runName(string(m, "run")),
        host: host(members(m, "host") ?? new Map()),
        app: app(members(m, "app") ?? new Map()),
        skew: number(m, "skew_ms"),
        lost: integer(m, "lost") ?? 0,
    }),
    hello: m => ({
        format: need(integer(m, "format")) === 1 ? 1 : refuse(),
        run: runName(need(string(m, "run"))),
        filtered: bool(m, "filtered") ?? false,
        interval: duration(m, "interval_s", 1e6) ?? 10e6,
        history: duration(m, "history_s", 1e6) ?? 120e6,
        firstSeq: need(integer(m, "first_seq", 1)),
        nextSeq: need(integer(m, "next_seq", 1)),
        journalFirstSeq: integer(m, "journal_first_seq", 1),
        isFleet: bool(m, "fleet") ?? false,
        host: host(members(m, "host") ?? new Map()),
        app: app(members(m, "app") ?? new Map()),
    }),
    stats: m => ({
        asOf: need(integer(m, "as_of")),
        endpoints: list(m, "endpoints").map(endpoint => ({
            endpoint: need(string(endpoint, "endpoint")),
            source: string(endpoint, "source") ?? "",
            summary: summary(endpoint),
        })),
        sources: list(m, "sources").map(status).filter(one => one !== null),
        moreEndpoints: integer(m, "more_endpoints") ?? 0,
        moreSources: integer(m, "more_sources") ?? 0,
    }),
    gap: m => {
        const from = need(integer(m, "from", 1))
        return { from, to: need(integer(m, "to", from)), reason: string(m, "reason") }
    },
    kept: m => ({ run: need(string(m, "run")), line: read(need(value(m, "line")), true) ?? refuse() }),
    // The windows in a `kept` line, one a row. Any window line replaces one with the same start: they have no revision.
    rows: m => {
        need(integer(m, "seq", 1))
        const series = need(string(m, "series"))
        const width = need(duration(m, "seconds", 1e6)) || refuse()
        const rows = JSON.parse(need(value(m, "rows")))
        if (!Array.isArray(rows) || rows.length < 1 || rows.length > 120) refuse()
        return rows.map(row => {
            if (!Array.isArray(row) || row.length < 6 || row.length > 64 || !row.every(Number.isFinite)) refuse()
            const [start, last, minimum, maximum, count, mean] = row
            if (start < -62_135_596_800 || start > 253_402_300_799 || !Number.isSafeInteger(count) || count < 1) refuse()
            if (minimum > last || last > maximum) refuse()
            const middle = Math.min(Math.max(mean, minimum), maximum)
            return { series, start: Math.trunc(start * 1e6), width, last, count, minimum, maximum, mean: middle, revision: -1, band: null, trend: null }
        })
    },
    bye: m => ({
        run: value(m, "run") === null ? null : runName(string(m, "run")),
        lastSeq: integer(m, "last_seq"),
        reason: string(m, "reason"),
    }),
}

const runName = name => (/^[A-Za-z0-9_-]{1,64}$/.test(name) ? name : refuse())

const host = m => ({
    name: string(m, "name") ?? "",
    device: string(m, "device") ?? "",
    os: string(m, "os") ?? "",
    kernel: string(m, "kernel") ?? "",
    arch: string(m, "arch") ?? "",
})

const app = m => ({ name: string(m, "name"), version: string(m, "version"), started: time(m, "started") })

const summary = m => ({
    count: need(integer(m, "count")),
    errors: integer(m, "errors") ?? 0,
    last: milliseconds(m, "last_ms") ?? 0,
    mean: milliseconds(m, "mean_ms") ?? 0,
    minimum: milliseconds(m, "min_ms") ?? 0,
    p50: milliseconds(m, "p50_ms") ?? 0,
    p90: milliseconds(m, "p90_ms") ?? 0,
    p95: milliseconds(m, "p95_ms") ?? 0,
    p99: milliseconds(m, "p99_ms") ?? 0,
    maximum: milliseconds(m, "max_ms") ?? 0,
})

/** The word that a value stands for, of 1 to 64 bytes, and since when; both or neither, and only with a value. */
function wordOf(m) {
    const word = value(m, "value") === null || value(m, "word") === null ? null : attempt(() => string(m, "word"))
    const since = word === null || word === "" || utf8Length(word) > 64 ? null : attempt(() => time(m, "since"))
    return since === null ? { word: null, since: null } : { word, since }
}

/** Null for a state that this version does not know. What is wrong in how values are to be read is left out. */
function status(m) {
    const source = need(string(m, "source"))
    const state = need(string(m, "state"))
    const since = time(m, "since")
    if (state !== "starting" && state !== "ok" && state !== "failing") return null
    const every = attempt(() => duration(m, "every_s", 1e6))
    const unit = attempt(() => string(m, "unit"))
    const runsOnce = attempt(() => bool(m, "runs_once"))
    return {
        source,
        state,
        since,
        failure: state === "failing" ? attempt(() => reason(m)) : null,
        answered: attempt(() => time(m, "answered_at")),
        type: attempt(() => string(m, "type")),
        unit: unit === null ? null : cutBytes(unit, 32),
        bands: attempt(() => bandScale(m)),
        valuePointer: valuePointer(m),
        takesN: attempt(() => bool(m, "takes_n")) ?? false,
        rhythm: every > 0 ? { kind: "every", period: every } : { kind: runsOnce ? "once" : "stream", period: 0 },
    }
}

const reason = m => ({
    code: need(string(m, "code")),
    message: attempt(() => string(m, "message")),
    attempt: attempt(() => integer(m, "attempt", 1)),
    retryAt: attempt(() => time(m, "retry_at")),
})

/** Where a source's values were found; null for one that is too long. */
function valuePointer(m) {
    const text = attempt(() => string(m, "value_pointer"))
    return text !== null && utf8Length(text) <= 256 ? text : null
}

const bandScale = m => BandScale.of(list(m, "bands", mostBandsRead).map(band), bool(m, "higher_is_better") ?? false)

function band(m) {
    const letter = need(string(m, "letter"))
    const color = need(string(m, "color"))
    const name = need(string(m, "name"))
    if (letter === "" || utf8Length(letter) > 16 || firstCharacter(letter) !== letter) refuse()
    if (!/^#[0-9a-fA-F]{6}$/.test(color)) refuse()
    if (name === "" || utf8Length(name) > 64) refuse()
    return { name, letter, color: color.toLowerCase(), upTo: number(m, "up_to") }
}

function attempt(read) {
    try {
        return read()
    } catch (error) {
        if (error === fault) return null
        throw error
    }
}

// MARK: Members: by their names, the text of their values as it stands in the line

const need = value => value ?? refuse()

/** The text of a value; null when there is none or it is `null`. */
function value(members, key) {
    const token = members.get(key)
    return token === undefined || token === "null" ? null : token
}

/** Cut at 4,096 bytes of UTF-8. */
function string(members, key) {
    const token = value(members, key)
    if (token === null) return null
    if (token[0] !== '"') refuse()
    return cutBytes(unescaped(token), longestString)
}

/** What a string with its quotes stands for, in memory of its own. */
function unescaped(token) {
    if (!token.includes("\\")) return own(token.slice(1, -1))
    const text = JSON.parse(token)
    return token.includes("\\u") ? wellFormed(text) : text
}

const isNumber = token => token[0] === "-" || (token[0] >= "0" && token[0] <= "9")

function number(members, key) {
    const token = value(members, key)
    if (token === null) return null
    const number = isNumber(token) ? Number(token) : refuse()
    return number > -Infinity && number < Infinity ? number : refuse()
}

/** A whole number that is written as one, from `least` to 2^63 - 1; rounded as doubles are from 2^53 on. */
function integer(members, key, least = 0) {
    const token = value(members, key)
    if (token === null) return null
    for (let place = token[0] === "-" ? 1 : 0; place < token.length; place += 1) {
        const digit = token.charCodeAt(place)
        if (digit < 0x30 || digit > 0x39) refuse()
    }
    const size = token.length - greatestInteger.length
    if (size > 0 || (size === 0 && token > greatestInteger)) refuse()
    // Not -0.
    const number = Number(token) + 0
    return number >= least ? number : refuse()
}

function bool(members, key) {
    const token = value(members, key)
    if (token === null) return null
    return token === "true" ? true : token === "false" ? false : refuse()
}

/** 0 for what an agent would have written as 0: sums overflow otherwise. */
function milliseconds(members, key) {
    const ms = number(members, key)
    return ms === null ? null : ms > 0 && ms < mostMilliseconds ? ms : 0
}

/** A number of units of so many microseconds, from 0 to 1,000 years; what is more than the agent counts to is 292 years. */
function duration(members, key, unit) {
    const units = number(members, key)
    if (units === null) return null
    const total = units * unit
    return total >= 0 && total <= longestDuration ? Math.min(Math.round(total) + 0, mostMicroseconds) : refuse()
}

function time(members, key) {
    const token = value(members, key)
    if (token === null) return null
    return token[0] === '"' ? (parseTime(token.slice(1, -1)) ?? refuse()) : refuse()
}

/** The members of the object at a key; null when there is none. */
function members(outer, key) {
    const token = value(outer, key)
    if (token === null) return null
    return token[0] === "{" ? membersOf(token) : refuse()
}

function membersOf(token) {
    const found = new Map()
    walkObject(token, 0, 1, found)
    return found
}

/** The members of each object in the array at a key, of the first `most`; none when there is no array. */
function list(outer, key, most = 10_000) {
    const token = value(outer, key)
    if (token === null) return []
    if (token[0] !== "[") refuse()
    return elementsOf(token, most).map(element => (element[0] === "{" ? membersOf(element) : refuse()))
}

/** The strings in the array at a key, `most` with `bytes` together at the most; none when there is no array. */
function strings(outer, key, most, bytes) {
    const token = value(outer, key)
    if (token === null) return []
    if (token[0] !== "[") refuse()
    const found = elementsOf(token, most + 1).map(element => (element[0] === '"' ? unescaped(element) : refuse()))
    return found.length <= most && found.reduce((sum, text) => sum + utf8Length(text), 0) <= bytes ? found : refuse()
}

// MARK: JSON (RFC 8259, strictly)

/** A text without the white space between its tokens when it is JSON; null when it is not. */
export function minified(text) {
    return attempt(() => {
        const end = any(text, space(text, 0), 0)
        return space(text, end) === text.length ? text.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, "$1") : refuse()
    })
}

/** The members of an object of valid JSON in its order, `{name, text}` each, doubled ones too. */
export function memberTexts(object) {
    const all = []
    walkObject(object, 0, 1, null, all)
    return all
}

/** The texts of the elements of an array of valid JSON. */
export const elementTexts = array => elementsOf(array, Infinity)

/** What the text of a string with its quotes stands for. */
export const stringOf = token => unescaped(token)

function elementsOf(text, most) {
    const found = []
    let place = space(text, 1)
    if (text[place] === "]") return found
    while (found.length < most) {
        const end = any(text, place, 1)
        found.push(text.slice(place, end))
        place = space(text, end)
        if (text[place] !== ",") break
        place = space(text, place + 1)
    }
    return found
}

function space(text, place) {
    for (;;) {
        const unit = text.charCodeAt(place)
        if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return place
        place += 1
    }
}

const numbers = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const plain = /[^"\\\u0000-\u001f]*/y
const escapes = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** From where a value begins to behind it. */
function any(text, start, level) {
    switch (text.charCodeAt(start)) {
        case 0x22: return quoted(text, start)
        case 0x7b: return walkObject(text, start, level + 1, null)
        case 0x5b: return walkArray(text, start, level + 1)
        case 0x74: return text.startsWith("true", start) ? start + 4 : refuse()
        case 0x66: return text.startsWith("false", start) ? start + 5 : refuse()
        case 0x6e: return text.startsWith("null", start) ? start + 4 : refuse()
        default: return matched(numbers, text, start)
    }
}

function matched(pattern, text, start) {
    pattern.lastIndex = start
    return pattern.test(text) ? pattern.lastIndex : refuse()
}

function quoted(text, start) {
    let place = matched(plain, text, start + 1)
    while (text.charCodeAt(place) === 0x5c) place = matched(plain, text, matched(escapes, text, place))
    // A control character, or the end.
    return text.charCodeAt(place) === 0x22 ? place + 1 : refuse()
}

/** Adds its members to `found`, the first of each name, or to `all`. */
function walkObject(text, start, level, found, all = null) {
    if (level > mostLevels) refuse()
    let place = space(text, start + 1)
    if (text.charCodeAt(place) === 0x7d) return place + 1
    for (;;) {
        if (text.charCodeAt(place) !== 0x22) refuse()
        const nameEnd = quoted(text, place)
        const colon = space(text, nameEnd)
        if (text.charCodeAt(colon) !== 0x3a) refuse()
        const valueStart = space(text, colon + 1)
        const valueEnd = any(text, valueStart, level)
        if (found !== null) {
            let name = text.slice(place + 1, nameEnd - 1)
            if (name.includes("\\")) name = unescaped(text.slice(place, nameEnd))
            if (!found.has(name)) found.set(name, text.slice(valueStart, valueEnd))
        } else if (all !== null) {
            all.push({ name: unescaped(text.slice(place, nameEnd)), text: text.slice(valueStart, valueEnd) })
        }
        place = space(text, valueEnd)
        const unit = text.charCodeAt(place)
        if (unit === 0x7d) return place + 1
        if (unit !== 0x2c) refuse()
        place = space(text, place + 1)
    }
}

function walkArray(text, start, level) {
    if (level > mostLevels) refuse()
    let place = space(text, start + 1)
    if (text.charCodeAt(place) === 0x5d) return place + 1
    for (;;) {
        place = space(text, any(text, place, level))
        const unit = text.charCodeAt(place)
        if (unit === 0x5d) return place + 1
        if (unit !== 0x2c) refuse()
        place = space(text, place + 1)
    }
}

// MARK: Times

/** The microseconds since the epoch of a time as in RFC 3339, to the microsecond below; null when it is none. */
export function parseTime(text) {
    const match =
        text.length <= 35 &&
        /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/.exec(text)
    if (!match) return null
    const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number)
    const micros = match[7] === undefined ? 0 : Number(match[7].padEnd(6, "0").slice(0, 6))
    const hours = Number(match[9] ?? 0)
    const minutes = Number(match[10] ?? 0)
    if (month < 1 || month > 12 || day < 1 || day > daysIn(month, year)) return null
    if (hour > 23 || minute > 59 || second > 60 || hours > 23 || minutes > 59) return null
    const offset = (hours * 3600 + minutes * 60) * (match[8] === "-" ? -1 : 1)
    const seconds = daysSinceEpoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    // What follows a leap second is the first second of a day.
    if (second === 60 && seconds % 86_400 !== 0) return null
    return seconds * 1e6 + micros
}

const isLeap = year => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
const daysIn = (month, year) => (month === 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31)

/** In the Gregorian calendar, counted in years from March on, so that a leap day is a year's last. */
function daysSinceEpoch(year, month, day) {
    const marchYear = month > 2 ? year : year - 1
    const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400)
    const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
    return marchYear * 365 + leapDays + dayOfYear - 719_468
}
