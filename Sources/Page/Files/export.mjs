// A series as a file, made in the page.

import { element } from "./dom.mjs"

/** A time as RFC 3339, UTC, with microseconds: as lines have it. */
export function isoTime(microseconds) {
    const seconds = Math.floor(microseconds / 1e6)
    const fraction = String(microseconds - seconds * 1e6).padStart(6, "0")
    return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, `.${fraction}Z`)
}

/**
 * A cell of CSV (RFC 4180). Text that a spreadsheet would take for a formula begins with an apostrophe; numbers do not, as a
 * minus is their own.
 */
function cell(value) {
    if (value === null || value === undefined) return ""
    if (typeof value === "number") return String(value)
    const text = /^[\s\p{Cf}\p{Cc}]*[=+\-@|%\uff1d\uff0b\uff0d\uff20]/u.test(value) || /^[\t\r\n]/.test(value) ? "'" + value : value
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Rows as CSV: every line ends in CR LF. */
export function csv(rows) {
    return rows.map(row => row.map(cell).join(",") + "\r\n").join("")
}

/**
 * What there is of a series, the oldest first: windows of before its first value, then every value.
 *
 * `about` has the `name`, the `unit` (null for none) and the bands as `scale` (or null); `points` are `{time, value, sequence}`
 * and `windows` the agent's, both ascending.
 */
export function seriesRows({ name, unit, scale }, points, windows) {
    const band = value => scale ? scale.bands[scale.index(value)].name : null
    const first = points.length > 0 ? points[0].time : Infinity
    return [
        ["time", "series", "value", "unit", "band", "sequence", "seconds", "count", "min", "mean", "max"],
        ...windows.filter(window => window.start + window.width <= first).map(window => [
            isoTime(window.start), name, window.last, unit, band(window.last), null, window.width / 1e6, window.count,
            window.minimum, window.mean, window.maximum,
        ]),
        ...points.map(({ time, value, sequence }) =>
            [isoTime(time), name, value, unit, band(value), sequence, null, null, null, null, null]),
    ]
}

/** Rows, of which the first has the names, as JSON: objects without what is missing. */
export function json([names, ...rows]) {
    return JSON.stringify(rows.map(row =>
        Object.fromEntries(names.map((name, place) => [name, row[place]]).filter(([, value]) => value !== null))))
}

/** A series' name as that of a file. */
export function fileName(name, extension) {
    const plain = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+|-+$/g, "").slice(0, 80)
    return `${plain || "series"}.${extension}`
}

/** Hands a text to the browser as a file. */
export function download(text, name, type) {
    const address = URL.createObjectURL(new Blob([text], { type }))
    element("a", { href: address, download: name }).click()
    // The browser has begun to read it by then.
    setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
