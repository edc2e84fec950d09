// Runs Tests/Vectors against the page's modules: in Node (vectors.test.mjs) and in a browser (vectors.html) alike.
import { alertRow, alertsByAgent } from "../../Sources/Page/Files/alerts.mjs"
import { agentLook, agentTexts, isSkewed, refusedText, shownAgents } from "../../Sources/Page/Files/agents.mjs"
import { ValueAxis } from "../../Sources/Page/Files/axis.mjs"
import { BandScale, badgeText, contrast, luminance } from "../../Sources/Page/Files/bands.mjs"
import { Board } from "../../Sources/Page/Files/board.mjs"
import { AgentClock } from "../../Sources/Page/Files/windows.mjs"
import { csv } from "../../Sources/Page/Files/export.mjs"
import { FeedRows, keyOf } from "../../Sources/Page/Files/feed.mjs"
import { rowsOf } from "../../Sources/Page/Files/fields.mjs"
import * as format from "../../Sources/Page/Files/format.mjs"
import { readLine } from "../../Sources/Page/Files/line.mjs"
import { Group, isAlert, ListOrder, naturalOrder } from "../../Sources/Page/Files/order.mjs"
import { PastSeries } from "../../Sources/Page/Files/past.mjs"
import { goneText, headingOf, heldText, marks, nameParts, standing, stateOf, troubleText } from "../../Sources/Page/Files/standing.mjs"
import { stripSlots } from "../../Sources/Page/Files/sparkline.mjs"
import { dump, dumpStale, limitsOf } from "./dump.mjs"

/** The first place where two values differ, in words; null when they are equal. Numbers are compared as doubles. */
export function difference(is, should, path = "state") {
    if (is === should) return null
    if (is !== null && should !== null && typeof is === "object" && typeof should === "object") {
        if (Array.isArray(is) !== Array.isArray(should)) return `${path} is no ${Array.isArray(is) ? "object" : "array"}`
        if (Array.isArray(is) && is.length !== should.length) {
            return `${path} has ${is.length} elements, not ${should.length}`
        }
        for (const key of new Set([...Object.keys(is), ...Object.keys(should)])) {
            const found = difference(is[key], should[key], `${path}.${key}`)
            if (found !== null) return found
        }
        return null
    }
    return `${path} is ${JSON.stringify(is)}, not ${JSON.stringify(should)}`.slice(0, 500)
}

function board(vector) {
    const board = new Board(limitsOf(vector.limits))
    for (const [index, line] of vector.lines.entries()) {
        // What is no line of format 1 no agent sends.
        if (vector.ignored?.includes(index)) continue
        if (!board.apply(line)) return `line ${index} is not taken`
    }
    const state = dump(board, vector.width_us, vector.from_us, vector.to_us)
    if (vector.stale_at_us) state.stale = dumpStale(board, vector.stale_at_us, vector.width_us)
    // The page counts no requests.
    const endpoints = vector.state.endpoints.map(({ name, source, newest_ms, newest_status, newest_time }) =>
        ({ name, source, newest_ms, newest_status, newest_time }))
    return difference(state, { ...vector.state, endpoints })
}

/** The first thing that is wrong with some cases, each `[is, should]` and said as `what`; null when nothing is. */
function first(cases, check) {
    for (const [place, one] of cases.entries()) {
        const [is, should] = check(one)
        const found = difference(is, should, `case ${place}`)
        if (found !== null) return found
    }
    return null
}

function lines(vector) {
    return first(vector.cases.filter(([, should]) => should !== null), ([text, should]) => [shownLine(readLine(text)), should])
}

function shownLine(line) {
    if (line === null) return null
    const { kind, seq, time, type, source, body } = line
    const shown = [kind === "rows" ? "window" : kind, seq, time, type, source]
    if (kind === "data") shown.push(body.series, body.value, body.text, body.data, body.truncated, body.altered)
    if (kind !== "kept") return shown
    shown.push(body.run, shownLine(body.line))
    if (body.line.kind === "rows") {
        for (const each of body.line.body) {
            shown.push([each.series, each.start, each.width, each.last, each.minimum, each.maximum, each.count, each.mean])
        }
    }
    return shown
}

const numbers = { inf: Infinity, "-inf": -Infinity, nan: NaN }

function texts(vector) {
    for (const [name, cases] of Object.entries(vector.cases)) {
        const found = first(cases, one => {
            const [value, ...rest] = one.slice(0, -1)
            const is = format[name](numbers[value] ?? value, ...rest)
            const text = name === "bytes" ? `${is.text} ${is.unit}` : name === "quantity" ? is.whole : is
            return [text, one.at(-1)]
        })
        if (found !== null) return `${name}: ${found}`
    }
    return null
}

const isNear = (one, other) => one === other || Math.abs(one - other) <= 1e-12 * Math.max(Math.abs(one), Math.abs(other), 1)

function axis(vector) {
    return first(vector.cases, ({ values, fixed, log, count, ...should }) => {
        const axis = new ValueAxis(values, { fixed, isLog: log, count })
        const near = (one, other) => one !== null && other !== null && isNear(one, other) ? other : one
        const is = {
            low: near(axis.low, should.low), high: near(axis.high, should.high), floor: near(axis.floor, should.floor),
            marks: axis.marks.map((mark, place) => near(mark, should.marks[place])),
            labels: axis.marks.map(mark => axis.label(mark)),
            places: should.places.map(([value, place]) => [value, near(axis.place(value), place)]),
        }
        return [is, should]
    })
}

const seconds = 1e6

function past(vector) {
    return first(vector.cases, one => {
        const series = new PastSeries(one)
        for (const line of one.lines) series.take(line)
        const { windows, errors } = series.model(one.width)
        return [
            [windows.map(({ start, last, count, minimum, maximum }) => [start, last, count, minimum, maximum]), errors.map(({ time }) => time), series.hasHoles],
            [one.windows, one.errors, one.holes ?? false],
        ]
    })
}

function clock(vector) {
    for (const { about, steps } of vector.lives) {
        const clock = new AgentClock()
        for (const [place, [step, one, other]] of steps.entries()) {
            if (step === "note") clock.note(one * seconds, other * seconds)
            else if (clock.time(one * seconds) !== other * seconds) return `${about} step ${place}: ${clock.time(one * seconds)}`
        }
    }
    return null
}

function order(vector) {
    for (const [place, name] of (vector.sorted ?? []).entries()) {
        for (const [other, second] of vector.sorted.entries()) {
            const is = Math.sign(naturalOrder(name, second))
            if (is !== Math.sign(place - other)) return `${JSON.stringify(name)} against ${JSON.stringify(second)} is ${is}`
        }
    }
    if (vector.cases !== undefined) return feedRows(vector)
    const board = new Board()
    const order = new ListOrder()
    return first(vector.steps ?? [], step => {
        if (typeof step === "string") return [board.apply(step), true]
        const { now_us: now = null, key = "source", filter = "", folds = {}, firing = false } = step
        order.update(board, key, filter, new Map(Object.entries(folds)), now, firing)
        if (step.within === undefined) return [order.rows.map(row => shownRow(row, order, board, now ?? board.clock)), step.rows]
        const { source } = board.series[board.seriesNamed(step.within)]
        return [order.within(source).map(index => board.series[index].name), step.series]
    })
}

function feedRows(vector) {
    const board = new Board()
    for (const line of vector.lines) if (!board.apply(line)) return `no line: ${line}`
    return first(vector.cases, ({ about, rows, ...choice }) => {
        const made = new FeedRows(choice)
        made.update(board.lines)
        const shown = lines => lines.length === 1 ? lines[0].sequence
            : { source: lines[0].source, from: lines[0].sequence, items: lines.length, keys: lines.slice(0, 3).map(keyOf) }
        return [made.rows.map(shown), rows]
    })
}

function shownRow(row, order, board, now) {
    const mark = source => source === null ? null : marks[stateOf(source, now, board.interval)]
    if (row instanceof Group) {
        const { name, text, age, source } = headingOf(row, now)
        return { heading: name, mark: mark(source), text, age, folded: row.isFolded }
    }
    const said = alerts => {
        const { sign, text } = alertRow(board, alerts[0], alerts.length - 1, now, 0)
        return { mark: sign, alert: text }
    }
    if (typeof row !== "number" && isAlert(row)) return { about: row.subject, ...said([row]) }
    if (typeof row !== "number") return { trouble: row.name, mark: mark(row), text: troubleText(row, now, board.interval, 0) }
    const { name, source } = board.series[row]
    if (order.alertsOf(row) !== undefined) return { series: name, ...said(order.alertsOf(row)) }
    return order.isHeading(row) ? { series: name, mark: mark(board.describedSource(source)) } : name
}

function agents(vector) {
    const board = new Board()
    for (const line of vector.lines) if (!board.apply(line)) return `no line: ${line}`
    return first(vector.cases, ({ now_us: now, filter, rows }) => [
        shownAgents(board.agents, filter).map(agent => {
            const { state, age, rate, host, system, version, skew, lost } = agentTexts(agent, now)
            const texts = [agent.name, state, age, rate, host, system, version, skew, lost]
            return [...texts, agentLook(agent), isSkewed(agent, 10 * seconds)]
        }), rows,
    ]) ?? first(vector.refused, ({ lines, text }) => [refusedText(lines), text])
        ?? first([vector.alerts], counts => [Object.fromEntries(alertsByAgent(board)), counts])
        ?? first(vector.whose, ({ source, agent }) => [board.agentOfSource(source) ?? "", agent])
}

const fields = vector =>
    first(vector.cases, ({ data, text, rows }) => [rowsOf(data, text).map(({ label, value, link }) => [label, value, link]), rows])

const cells = vector => first(vector.cases, ([text, cell]) => [csv([[text]]), `${cell}\r\n`])

function standings(vector) {
    for (const { about, lines, width_us: width, now_us, strip: count, series } of vector.lives) {
        const board = new Board()
        for (const line of lines.flatMap(repeated)) board.apply(line)
        const now = now_us ?? board.clock
        const is = board.series.map((series, index) => {
            const windows = board.windows(index, width)
            const stands = standing(board, series, windows, width)
            const [prefix, rest] = nameParts(series)
            const { band, former, word } = stands
            const scale = series.kind === "data" ? board.describedSource(series.source)?.bands ?? null : null
            const strip = word === null ? null : stripSlots(windows, { width, last: Math.floor(now / width), count: count ?? 0, scale })
            return {
                prefix, rest, value: stands.quantity?.whole ?? null, band: band === null || band.place < 0 ? null : band.place,
                name: band?.name ?? "", letter: band?.letter ?? null, from: former?.letter ?? null, arrow: stands.arrow || null,
                course: { good: "better", bad: "worse" }[stands.course] ?? null, change: stands.changeText,
                held: heldText(series, now) ?? "", gone: goneText(series, now, 0) ?? "", ...(count && { strip }),
            }
        })
        const found = difference(is, series)
        if (found !== null) return `${about} ${found}`
    }
    return null
}

/** A line, or those that `{from, to, line}` stands for: `%n` is the number. */
function repeated(line) {
    if (typeof line === "string") return [line]
    return Array.from({ length: line.to - line.from + 1 }, (_, place) => line.line.replaceAll("%n", line.from + place))
}

function bands(vector) {
    return first(vector.cases ?? [], ([color, light, text]) => {
        const is = luminance(color)
        if (contrast(color, badgeText(color)) < 4.5) return ["hard to read", color]
        return [[Math.abs(is - light) < 5e-5 ? light : is, badgeText(color)], [light, text]]
    }) ?? first(vector.scales ?? [], ({ ends, values }) => {
        const scale = BandScale.of(ends.map(upTo => ({ name: "n", letter: "l", color: "#000000", upTo })), false)
        return [values.map(([value]) => [value, scale?.index(value)]), values]
    })
}

// By folder: what is wrong with one vector of it, in words; null for nothing.
const topics = { agents, board, lines, format: texts, axis, clock, past, order, fields, bands, standing: standings, csv: cells }

/**
 * Runs every vector. `fetchJSON` gives what a path below Tests/Vectors holds; of `index.json` the paths of all vectors.
 *
 * Returns one `{name, ok, detail}` each.
 */
export async function runVectors(fetchJSON) {
    const results = []
    for (const name of await fetchJSON("index.json")) {
        const topic = topics[name.split("/")[0]]
        let detail = "no module is held to this folder"
        try {
            const vector = await fetchJSON(name)
            if (topic !== undefined) detail = vector.page === false ? null : topic(vector)
        } catch (error) {
            detail = String(error.stack ?? error)
        }
        results.push({ name, ok: detail === null, detail: detail ?? "" })
    }
    return results
}
