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

// What SVG's elements inherit.
const looks = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
    "font-family", "font-size", "font-weight", "font-variant-numeric", "text-anchor",
]

/** A drawing as a document of its own: its looks as attributes, a ground behind it, and a line of text above. */
export function standaloneSVG(plot, title) {
    const namespace = "http://www.w3.org/2000/svg"
    const { width, height } = plot.viewBox.baseVal
    const copy = plot.cloneNode(true)
    const originals = [plot, ...plot.querySelectorAll("*")]
    const copies = [copy, ...copy.querySelectorAll("*")]
    copies.forEach((node, place) => {
        const style = getComputedStyle(originals[place])
        const around = node === copy ? null : getComputedStyle(originals[place].parentElement)
        for (const look of looks) {
            const value = style.getPropertyValue(look)
            // A gradient is named with the page's address before it.
            if (node.getAttribute(look)?.startsWith("url(")) continue
            if (value === around?.getPropertyValue(look)) node.removeAttribute(look)
            else node.setAttribute(look, value)
        }
        if (node.localName === "stop") node.setAttribute("stop-color", style.stopColor)
        node.removeAttribute("class")
        node.removeAttribute("style")
    })
    const head = 28
    const make = (name, attributes, text = "") => {
        const node = document.createElementNS(namespace, name)
        for (const key in attributes) node.setAttribute(key, attributes[key])
        node.textContent = text
        return node
    }
    const body = getComputedStyle(document.body)
    for (const name of ["aria-hidden", "focusable"]) copy.removeAttribute(name)
    copy.setAttribute("xmlns", namespace)
    copy.setAttribute("width", width)
    copy.setAttribute("height", height + head)
    copy.setAttribute("viewBox", `0 ${-head} ${width} ${height + head}`)
    copy.prepend(
        make("title", {}, title),
        make("rect", { x: 0, y: -head, width, height: height + head, fill: body.backgroundColor }),
        make("text", { x: 12, y: -9, "font-family": "sans-serif", "font-size": 13, fill: body.color }, title))
    return new XMLSerializer().serializeToString(copy)
}
