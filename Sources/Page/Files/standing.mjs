// Where a series stands: its newest value, the band it is in, and where it is going; and how a source does. Written once for all
// screens.

import { isStale, lateness } from "./board.mjs"
import { age, countdown, moment, ordinal, quantity, span } from "./format.mjs"
import { firstCharacter } from "./text.mjs"

/** Bands by their place have one of these shapes each, so that no colour is needed to tell two apart. */
export const shapes = 6

/**
 * `quantity` {text, unit} of the newest value, null without one, and `word`, what that stands for, or null;
 * `band` {name, letter, color, place}, null without bands (`color` is null and `place` -1 where only the name is known), and `former`,
 * that of the window before if it is another; `arrow` "↑", "↓" or "", where the number went since then; `course` "good", "bad" or "",
 * whether into a better or a worse band; `change` against the last window before, null without one, and `changeText` as it is shown.
 *
 * `windows` are those of the series, ascending, of `width` microseconds.
 */
export function standing(board, series, windows, width) {
    const result = { quantity: null, word: null, band: null, former: null, arrow: "", course: "", change: null, changeText: "" }
    const newest = series.newest
    if (!newest) return result
    const source = board.describedSource(series.source)
    const unit = source?.unit ?? null
    result.quantity = quantity(newest.value, series.kind, unit)
    result.word = series.lastWord
    if (result.word !== null) result.quantity = { text: result.word, unit: "", whole: result.word }
    const index = Math.floor(newest.time / width)
    let before = null
    for (let place = windows.length - 1; place >= 0 && before === null; place--) {
        if (Math.floor(windows[place].start / width) < index) before = windows[place].last
    }
    if (before !== null) {
        if (Number.isFinite(newest.value - before)) result.change = newest.value - before
        // A word is no more or less than another.
        if (result.word === null) result.arrow = newest.value > before ? "↑" : newest.value < before ? "↓" : ""
    }
    const scale = series.kind === "data" ? source?.bands ?? null : null
    const said = series.windows.at(-1)
    const bandAt = place => ({ ...scale.bands[place], place })
    if (scale !== null) {
        const place = scale.index(newest.value)
        result.band = bandAt(place)
        const old = before === null ? place : scale.index(before)
        if (old !== place) {
            result.former = bandAt(old)
            result.course = (place > old) === scale.higherIsBetter ? "good" : "bad"
        }
    } else if (said?.band) {
        result.band = { name: said.band, letter: firstCharacter(said.band).toUpperCase(), color: null, place: -1 }
        result.course = { improving: "good", deteriorating: "bad" }[said.trend] ?? ""
    }
    if (result.change && result.word === null) {
        const amount = quantity(result.change, series.kind, unit)
        // Less than can be shown is none; another unit than the value's is said.
        if (/[1-9]/.test(amount.text)) {
            result.changeText = (result.change > 0 ? "+" : "") + amount.text
            if (amount.unit !== result.quantity.unit) result.changeText += amount.unit.slice(0, 1)
        }
    }
    return result
}

/** For how long a series has its word, `for 4m12s`; null where it has none, or its newest event has none. */
export const heldText = ({ event }, now) => (event?.since ?? null) === null ? null : `for ${age(now - event.since)}`

/** Since when a series is gone from its source's answers, `gone 14:03`; null where it is not. */
export const goneText = ({ goneAt }, now, offset) => goneAt === null ? null : `gone ${moment(goneAt, now, offset)}`

/** What stands in the place of the change, where one of both is so. */
export const noteOf = (series, now, offset) => goneText(series, now, offset) ?? heldText(series, now)

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
    const parts = [message || code || "fails", `since ${moment(source.since, now, offset)} (${age(now - source.since)})`]
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
