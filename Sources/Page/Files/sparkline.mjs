// A series' windows as a small line: as wide as its box, from the lowest to the highest value shown.

import { svg } from "./dom.mjs"
import { setInk } from "./bands.mjs"

const height = 24
const edge = 3

/**
 * The longest time between two samples that belong together, in the unit of `times` (ascending): a window, or two and a
 * half times what is usual.
 */
export function longestStep(times, width) {
    if (times.length <= 2) return width
    const steps = []
    for (let place = 1; place < times.length; place++) steps.push(times[place] - times[place - 1])
    steps.sort((a, b) => a - b)
    return Math.max(width, steps[steps.length >> 1] * 2.5)
}

/**
 * Where the line goes: `lines` has a path `d` for each band it goes through (`band` is -1 without bands), `newest` is its
 * end or null. Where windows are missing it is broken.
 *
 * `windows` are ascending. Of `frame`, `width` is that of a window in microseconds, `last` the number since the epoch of the
 * last slot, `count` how many slots there are, and `scale` the bands or null.
 */
export function sparklinePaths(windows, { width, last, count, scale }) {
    const slots = []
    let low = Infinity
    let high = -Infinity
    for (const window of windows) {
        const slot = count - 1 - (last - Math.floor(window.start / width))
        if (slot < 0 || slot >= count) continue
        slots.push({ slot, value: window.last })
        low = Math.min(low, window.last)
        high = Math.max(high, window.last)
    }
    // Halved, lest the difference of two large numbers be infinite.
    const span = high / 2 - low / 2
    const y = value => {
        const share = span > 0 ? (value / 2 - low / 2) / span : 0.5
        return Math.round((height - edge - share * (height - 2 * edge)) * 10) / 10
    }
    const longest = longestStep(slots.map(each => each.slot), 1)
    const paths = new Map()
    const draw = (band, d) => paths.set(band, (paths.get(band) ?? "") + d)
    let newest = null
    let open = null
    slots.forEach(({ slot, value }, place) => {
        const at = { x: slot, y: y(value), band: scale ? scale.index(value) : -1 }
        if (newest && slot - newest.x <= longest) {
            // A band's path goes on from where it is; another one's begins where that ended.
            draw(at.band, (open === at.band ? "L" : `M${newest.x} ${newest.y}L`) + `${at.x} ${at.y}`)
            open = at.band
        } else {
            open = null
            // Joined to nothing, it is a dot.
            if (place + 1 === slots.length || slots[place + 1].slot - slot > longest) draw(at.band, `M${at.x} ${at.y}h0`)
        }
        newest = at
    })
    return { lines: Array.from(paths, ([band, d]) => ({ band, d })), newest }
}

/**
 * The windows of values that stand for words, one by one: the place of the band of the last value, without bands true or false; "·" where
 * nothing came, and null before the first one and for the newest, which is not over. See `sparklinePaths`.
 */
export function stripSlots(windows, { width, last, count, scale }) {
    const slots = new Array(count).fill(null)
    let first = count
    for (const window of windows) {
        const slot = count - 1 - (last - Math.floor(window.start / width))
        first = Math.min(first, slot)
        if (slot >= 0 && slot < count) slots[slot] = scale ? scale.index(window.last) : window.last !== 0
    }
    return slots.map((value, slot) => value === null && slot > first && slot < count - 1 ? "·" : value)
}

/** The same as blocks: a path of each band's, of those that are true or false, and of dots; `look` is its class. */
export function stripPaths(windows, frame) {
    const paths = new Map()
    for (const [slot, value] of stripSlots(windows, frame).entries()) {
        if (value !== null) paths.set(value, `${paths.get(value) ?? ""}M${value === "·" ? `${slot + 0.5} 12h0` : `${slot} 4h0.92v16h-0.92z`}`)
    }
    const looks = { "·": "spark-missing", false: "spark-block off" }
    return { lines: Array.from(paths, ([value, d]) => ({ band: typeof value === "number" ? value : -1, d, look: looks[value] ?? "spark-block" })), newest: null }
}

/**
 * Makes a sparkline: `element` is for the page, and `update(windows, frame)` draws what `sparklinePaths` says of the same,
 * or with `frame.isStrip` what `stripPaths` does.
 * Only attributes that changed are set; whoever knows that nothing did need not call it.
 */
export function createSparkline() {
    const end = { node: svg("path"), d: "", color: null, name: "" }
    const element = svg("svg", { class: "sparkline", preserveAspectRatio: "none", "aria-hidden": "true" }, end.node)
    const lines = []
    let box = ""

    function draw(path, d, color, name) {
        if (path.name !== name) path.node.setAttribute("class", name)
        if (path.color !== color || path.name !== name) setInk(path.node, color)
        if (path.d !== d) path.node.setAttribute("d", d)
        Object.assign(path, { d, color, name })
    }

    function update(windows, frame) {
        const { isStrip = false, count } = frame
        const { lines: paths, newest } = isStrip ? stripPaths(windows, frame) : sparklinePaths(windows, frame)
        const color = band => band < 0 ? null : frame.scale.bands[band].color
        const newBox = `0 0 ${Math.max(isStrip ? count : count - 1, 1)} ${height}`
        if (newBox !== box) element.setAttribute("viewBox", box = newBox)
        paths.forEach(({ band, d, look = "spark-line" }, place) => {
            if (!lines[place]) {
                lines[place] = { node: svg("path"), d: "", color: null, name: "" }
                end.node.before(lines[place].node)
            }
            draw(lines[place], d, color(band), look)
        })
        for (const rest of lines.slice(paths.length)) draw(rest, "", null, rest.name)
        draw(end, newest ? `M${newest.x} ${newest.y}h0` : "", newest ? color(newest.band) : null, "spark-end")
    }

    return { element, update }
}
