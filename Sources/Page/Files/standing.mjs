// Where a series stands: its newest value, the band it is in, and where it is going; and how a source does. Written once for all
// screens.

import { isStale, lateness } from "./board.mjs"
import { age, countdown, moment, ordinal, quantity, span } from "./format.mjs"
import { firstCharacter } from "./text.mjs"

/** Bands by their place have one of these shapes each, so that no colour is needed to tell two apart. */
export const shapes = 6

/**
 * `quantity` {text, unit} of the newest value, null without one; `band` {name, letter, color, place}, null without bands
 * (`color` is null and `place` -1 where only the name is known); `arrow` "↑", "↓" or ""; `course` "good", "bad" or "";
 * `change` against the last window before, null without one, and `changeText` as it is shown.
 *
 * `windows` are those of the series, ascending, of `width` microseconds.
 */
export function standing(board, series, windows, width) {
    const result = { quantity: null, band: null, arrow: "", course: "", change: null, changeText: "" }
    const newest = series.newest
    if (!newest) return result
    const source = board.describedSource(series.source)
    const unit = source?.unit ?? null
    result.quantity = quantity(newest.value, series.kind, unit)
    const index = Math.floor(newest.time / width)
    let before = null
    for (let place = windows.length - 1; place >= 0 && before === null; place--) {
        if (Math.floor(windows[place].start / width) < index) before = windows[place]
    }
    if (before !== null && Number.isFinite(newest.value - before.last)) result.change = newest.value - before.last
    const scale = series.kind === "data" ? source?.bands ?? null : null
    const said = series.windows.at(-1)
    if (scale !== null) {
        const place = scale.index(newest.value)
        result.band = { ...scale.bands[place], place }
        if (before !== null) {
            const old = scale.index(before.last)
            if (old !== place) head(result, (place > old) === scale.higherIsBetter)
        }
    } else if (said?.band) {
        result.band = { name: said.band, letter: firstCharacter(said.band).toUpperCase(), color: null, place: -1 }
        if (said.trend === "improving" || said.trend === "deteriorating") head(result, said.trend === "improving")
    } else if (result.change !== null && result.change !== 0) {
        result.arrow = result.change > 0 ? "↑" : "↓"
    }
    if (result.change) {
        const amount = quantity(result.change, series.kind, unit)
        // Less than can be shown is none; another unit than the value's is said.
        if (/[1-9]/.test(amount.text)) {
            result.changeText = (result.change > 0 ? "+" : "") + amount.text
            if (amount.unit !== result.quantity.unit) result.changeText += amount.unit.slice(0, 1)
        }
    }
    return result
}

function head(result, isBetter) {
    result.arrow = isBetter ? "↑" : "↓"
    result.course = isBetter ? "good" : "bad"
}

/** A series' name in two: what it begins with up to its key (`aqi/`, `latency:`), and the rest. */
export function nameParts(series) {
    const prefix = series.name.startsWith(series.source + "/") ? series.source + "/"
        : series.kind === "data" ? "" : series.kind + ":"
    return [prefix, series.name.slice(prefix.length)]
}

/** How a source does: `failing`, `starting`, `late` or `well`; `window` is the width of the windows on the screen. */
export function stateOf(source, now, window) {
    if (source.state !== "ok") return source.state
    return source.answered !== null && isStale(source, source.answered, now, window) ? "late" : "well"
}

export const marks = { failing: "✕", late: "◐", well: "●", starting: "○" }

/** What is wrong with a failing or late source, the most useful part first. */
export function troubleText(source, now, window, offset) {
    if (source.state !== "failing") {
        const { silence, expected } = lateness(source, now, window) ?? { silence: 0, expected: window }
        return `nothing for ${age(silence)}, expected each ${span(expected)}`
    }
    const { message, code, attempt, retryAt } = source.failure ?? {}
    const parts = [message ?? code ?? "fails", `since ${moment(source.since, now, offset)} (${age(now - source.since)})`]
    if (attempt > 1) parts.push(`${ordinal(attempt)} try`)
    if (retryAt) parts.push(retryAt > now ? `next in ${countdown(retryAt - now)}` : "next now")
    return parts.join(" · ")
}

/** What stands in the heading of a `Group`: `{name, text, age}`, and its `source`, null for latencies, counts and memory. */
export function headingOf({ name, isOthers, source, matched, members }, now) {
    let text = `${matched.length < members.length ? `${matched.length} of ` : ""}${members.length} series`
    if (source?.rhythm.kind === "every") text += ` · each ${span(source.rhythm.period)}`
    const { answered = null } = source ?? {}
    return { name: isOthers ? "latency, counts, memory" : name, text, age: answered === null ? "" : age(now - answered), source }
}
