// What is said of alerts that fire, the twin of Sources/Terminal/Screens/AlertRow.swift, held to Tests/Vectors/order; and what a
// screen reader is told when one begins or ends.

import { element, visible } from "./dom.mjs"
import { moment, short } from "./format.mjs"
import { severityOf, severities } from "./order.mjs"

/** Each severity that is yellow or blue has a mark of its own. */
const signs = { critical: "✕", unknown: "✕", warning: "▲", info: "◆" }
// Names, values and tests of alerts in rows: 30, 60 and 100 characters; cut.
const [longestName, longestValue, longestTest] = [30, 60, 100]
/** How long there is between two announcements, in milliseconds. */
const pace = 4_000

/** What a row says of an alert, and of how many `more` about the same: `{sign, severity, label, text}`. */
export function alertRow(board, alert, more, now, offset) {
    const { condition, value, text, since, severity } = alert
    const cut = (part, most) => [...part].length > most ? [...part].slice(0, most - 1).join("") + "…" : part
    const measured = value === null ? text : short(value)
    const said = measured === null ? [] : [cut(measured, longestValue)]
    const words = [cut(condition, longestName), ...said, cut(testText(alert), longestTest), `since ${moment(since, now, offset)}`]
    const parts = [words.join(" "), ...(severity === null ? [] : [severity])]
    if (board.alerts.isDoubtful(alert)) parts.push("lines are missing, it may be over")
    if (more > 0) parts.push(`${more} more`)
    const known = severityOf(alert)
    return { sign: signs[known], severity: known, label: known === "unknown" ? "alert" : `alert, ${known}`, text: parts.join(" · ") }
}

/** The part of the condition that the value is compared with, or else all of it but a name that the row has. */
function testText({ limit, about, test }) {
    if (limit !== null) return `${limit.op} ${short(limit.value)}${limit.upper === null ? "" : ` .. ${short(limit.upper)}`}`
    return test.startsWith(about + " ") ? test.slice(about.length + 1) : test
}

/** The lines that show an alert: `lines 640 to 811`; null where no line does, or those of another run. */
export function linesText({ agent, evidence: { run, from, to } }, hello) {
    if (to === 0 || (agent === null && run !== hello?.run)) return null
    const text = from > 0 && from < to ? `lines ${from} to ${to}` : `line ${to}`
    return agent === null ? text : `${text} of ${agent}`
}

/** How many fire: `3 alerts`; `10000+ alerts` where some found no room. */
const alertCount = ({ count, refused }) => refused > 0 ? `${count}+ alerts` : count === 1 ? "1 alert" : `${count} alerts`

/** Where values meet a limit, `[from, until]` each. */
export function zones({ op, value, upper }) {
    switch (op) {
    case ">": case ">=": return [[value, Infinity]]
    case "<": case "<=": return [[-Infinity, value]]
    case "in": return [[value, upper]]
    case "not in": return [[-Infinity, value], [upper, Infinity]]
    default: return []
    }
}

/** The alerts about a series, the worst first. */
export const alertsAbout = (board, name) => [...board.alerts.about(name)].sort((one, other) => severities.indexOf(severityOf(one)) - severities.indexOf(severityOf(other)))

/** How many alerts are about each agent of a fleet, or come from it, by its name. */
export function alertsByAgent(board) {
    const counts = new Map()
    const names = new Set(board.agents.map(({ name }) => name))
    for (const { agent, subject } of board.alerts.all) {
        const own = agent ?? board.agentOfSource(subject.replace(/^(?:latency|memory|count):/, "")) ?? (names.has(subject) ? subject : null)
        if (own !== null) counts.set(own, (counts.get(own) ?? 0) + 1)
    }
    return counts
}

export function createAlerts(context) {
    let counted = { board: null, changes: -1, summary: null }
    /** What was told: those that fire, of which run of which board. */
    let told = { board: null, run: null, changes: -1, firing: new Set() }
    let toldAt = -Infinity

    const row = (alerts, now) => alertRow(context.board, alerts[0], alerts.length - 1, now, context.utcOffset(now))

    /** How many fire, by the worst: `{text: "✕ 3 alerts", severity}`; null where none does. */
    function summary(board) {
        const { changes, count } = board.alerts
        if (counted.board === board && counted.changes === changes) return counted.summary
        const worst = [...board.alerts.all].reduce((least, alert) => Math.min(least, severities.indexOf(severityOf(alert))), Infinity)
        const severity = severities[worst]
        counted = { board, changes, summary: count === 0 ? null : { severity, text: `${signs[severity]} ${alertCount(board.alerts)}` } }
        return counted.summary
    }

    /** Says which alerts began or ended since the last time; of a feed that just began, all are as they were. */
    function announce(board) {
        const { changes } = board.alerts
        const isOther = told.board !== board || told.run !== board.hello?.run
        if (!isOther && (told.changes === changes || performance.now() - toldAt < pace)) return
        const firing = new Set(board.alerts.all)
        if (!isOther) tell([...firing].filter(alert => !told.firing.has(alert)), [...told.firing].filter(alert => !firing.has(alert)))
        told = { board, run: board.hello?.run, changes, firing }
    }

    function tell(begun, ended) {
        const parts = []
        const named = ({ condition, subject }) => `${visible(condition)} on ${visible(subject)}`
        if (begun.length === 1) parts.push(`alert ${named(begun[0])}`)
        if (begun.length > 1) parts.push(`${begun.length} alerts began`)
        if (ended.length === 1) parts.push(`alert over: ${named(ended[0])}`)
        if (ended.length > 1) parts.push(`${ended.length} alerts are over`)
        if (parts.length === 0) return
        toldAt = performance.now()
        context.say(parts.join(", "))
    }

    /** What the list shows where nothing fires and it shows only that. */
    function drawEmpty(place) {
        place.replaceChildren(element("p", {}, "nothing fires"),
            element("p", {}, element("button", { type: "button", class: "plain", onclick: () => context.choose({ firing: false }) }, "show everything")))
    }

    return { row, summary, announce, drawEmpty }
}
