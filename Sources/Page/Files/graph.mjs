// The graph of one series: every value it has, its bands, its errors, and what is where the cursor is.

import { zones } from "./alerts.mjs"
import { ValueAxis } from "./axis.mjs"
import { badgeText, setInk } from "./bands.mjs"
import { element, setAttribute, setClass, setText, svg, visible } from "./dom.mjs"
import { bytes, clock, quantity, short } from "./format.mjs"
import { longestStep } from "./sparkline.mjs"

// MARK: What is drawn

/**
 * What a graph of the series at `index` shows: `samples` (`{time, value}`, those of the past with a `minimum` and a `maximum`) and `errors` (`{time, code}`), both ascending,
 * its `windows`, and from when (`start`) to when (`end`) it goes.
 *
 * As long as there is less than the history and no span was chosen, it begins where the series does and grows at its end; it
 * is never shorter than 20 s. `view` has `width`, `start`, `lastWindow` and `span` (null: as the agent has it), as on
 * the context of screens.
 */
export function graphModel(board, index, { width, start, lastWindow, span }, now) {
    const series = board.series[index]
    const windows = board.windows(index, width, start, Infinity)
    const points = board.points(index)
    const samples = []
    for (let place = 0; place < points.count; place++) {
        if (points.time(place) >= start) samples.push({ time: points.time(place), value: points.value(place) })
    }
    samples.sort((a, b) => a.time - b.time)
    const first = samples.length > 0 ? samples[0].time : Infinity
    // From before the first point there are the agent's windows: a value somewhere in each.
    samples.unshift(...windows.filter(window => window.start + window.width <= first)
        .map(window => ({ time: Math.max(window.start + Math.floor(window.width / 2), start), value: window.last })))
    const source = board.sourceNamed(series.source)
    const errors = source === undefined ? [] : Array.from(board.errors(source), ({ time, code }) => ({ time, code }))
        .filter(error => error.time >= start).sort((a, b) => a.time - b.time)

    const begin = Math.min(samples.length > 0 ? samples[0].time : Infinity, errors.length > 0 ? errors[0].time : Infinity)
    const end = Math.max((lastWindow + 1) * width, start + 1)
    // Once something of it is past the history, there is as much as there can be.
    const isWhole = series.count > points.count || (series.windows.length > 0 && series.windows[0].start < start)
    const model = { samples, windows, errors, width, start, end }
    if (span === null && !isWhole && begin > start && begin < end) {
        // By steps, lest everything move with every value.
        const step = Math.min(width, 5e6)
        model.start = begin
        model.end = Math.max(begin + 20e6, (Math.floor(now / step) + 1) * step)
    }
    return model
}

/** Samples that follow one another, as arrays: where something is missing between them, or an error came, a new one begins. */
export function unbroken(samples, errors, width) {
    const longest = longestStep(samples.map(sample => sample.time), width)
    const runs = []
    let next = 0
    let previous = null
    for (const sample of samples) {
        while (next < errors.length && previous && errors[next].time < previous.time) next++
        const hasError = next < errors.length && errors[next].time <= sample.time
        if (previous && sample.time - previous.time <= longest && !hasError) runs[runs.length - 1].push(sample)
        else runs.push([sample])
        previous = sample
    }
    return runs
}

const round = number => Math.round(number * 10) / 10

// The path of a graph of the page: four points a column of pixels; first, lowest, highest, last drawn.
/**
 * The path of one run of samples; a dot where it is a single one.
 */
export function runPath(run, x, y) {
    const points = []
    let column = null
    function close() {
        if (!column) return
        const { first, low, high, last } = column
        for (const point of [...new Set([first, low, high, last])].sort((a, b) => a.order - b.order)) points.push(point)
    }
    run.forEach((sample, order) => {
        const point = { x: round(x(sample.time)), y: round(y(sample.value)), order }
        const place = Math.floor(point.x)
        if (column?.place === place) {
            if (point.y > column.low.y) column.low = point
            if (point.y < column.high.y) column.high = point
            column.last = point
        } else {
            close()
            column = { place, first: point, low: point, high: point, last: point }
        }
    })
    close()
    if (points.length === 1) return `M${points[0].x} ${points[0].y}h0`
    return "M" + points.map(point => `${point.x} ${point.y}`).join("L")
}

/** A sample that stands for a column as three: its least and its greatest value, and the last one. */
export const spread = sample => sample.minimum === undefined || sample.minimum === sample.maximum ? [sample]
    : [{ time: sample.time, value: sample.minimum }, { time: sample.time, value: sample.maximum }, sample]

/** The last sample of each window: the ones that count. */
export function lastOfWindows(samples, width) {
    const window = sample => Math.floor(sample.time / width)
    return samples.filter((sample, place) => place + 1 === samples.length || window(samples[place + 1]) !== window(sample))
}

/** Where on the axis each band is, `{band, low, high}` from 0 at the bottom to 1 at the top; those in sight only. */
export function bandPlaces(scale, axis) {
    const inside = place => Math.min(Math.max(place, 0), 1)
    let low = 0
    const places = []
    for (const band of scale.bands) {
        const high = band.upTo === null ? 1 : inside(axis.place(band.upTo))
        if (high > low) places.push({ band, low, high })
        low = high
    }
    return places
}

/** The places of all bands, from 0 at the bottom to 1 at the top, each of the same height. */
const evenPlaces = ({ bands }) => bands.map((band, place) => ({ band, low: place / bands.length, high: (place + 1) / bands.length }))

/** The dots of a strip; where more windows are empty, the later ones have none. */
const mostDots = 500

/** Which windows of words are in sight, `{window, from, until}` each, and the middles of those (`missing`) in which nothing came. */
export function blocksOf({ windows, width, start, end }) {
    const blocks = []
    const missing = []
    let next = Infinity
    for (const window of windows) {
        // An agent whose clock is ahead says what is yet to come.
        if (window.start >= end) break
        for (; next < window.start && missing.length < mostDots; next += width) missing.push(next + width / 2)
        next = window.start + width
        if (next > start) blocks.push({ window, from: Math.max(window.start, start), until: Math.min(next, end) })
    }
    return { blocks, missing }
}

/** The least, the mean and the greatest of what windows hold, and how many values that is; null where there is none. */
export function summary(windows) {
    if (windows.length === 0) return null
    const result = { minimum: Infinity, maximum: -Infinity, mean: 0, count: 0 }
    for (const window of windows) {
        result.minimum = Math.min(result.minimum, window.minimum)
        result.maximum = Math.max(result.maximum, window.maximum)
        result.count += window.count
        result.mean += (window.mean - result.mean) * (window.count / result.count)
    }
    result.mean = Math.min(Math.max(result.mean, result.minimum), result.maximum)
    return result
}

/** The place of the element of `sorted` (ascending by `time`) that is nearest to a time; -1 where there is none. */
export function nearest(sorted, time) {
    let low = 0
    let high = sorted.length
    while (low < high) {
        const middle = (low + high) >> 1
        if (sorted[middle].time < time) low = middle + 1
        else high = middle
    }
    if (low === sorted.length || (low > 0 && time - sorted[low - 1].time <= sorted[low].time - time)) low--
    return low
}

/**
 * The axis of values, `{place(value), marks: [{value, text}]}`: in the terminal's steps, but for memory, whose steps are round in
 * the unit that they are written in.
 */
export function axisOf(values, { kind, isLog, range }, count) {
    const unit = kind === "memory" && !isLog ? bytes(values.reduce((most, value) => Math.max(most, value), 0)).unit : ""
    // Differences of such values are not finite; those of a part of them are.
    const isVast = !isLog && [values, range ?? []].some(some => some.some(value => Math.abs(value) > 1e300))
    const divisor = isVast ? 1e10 : { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[unit] ?? 1
    const scaled = divisor === 1 ? values : values.map(value => value / divisor)
    const axis = new ValueAxis(scaled, { fixed: range && range.map(value => value / divisor), isLog, count })
    return {
        place: value => axis.place(value / divisor),
        marks: axis.marks.filter(mark => Number.isFinite(mark * divisor)).map(mark => ({
            value: mark * divisor,
            text: isVast ? short(mark * divisor) : unit === "" ? axis.label(mark) : `${axis.label(mark)} ${unit}`,
        })),
    }
}

const second = 1e6
const day = 86400
const steps = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, day]

/**
 * The marks of a time axis, `{time, text}`, at round times of the clock that is `offset` seconds ahead of UTC, and no nearer
 * to one another than `room` of the `pixels` from `start` to `end`.
 */
export function timeMarks(start, end, pixels, room, offset) {
    const least = Math.max(end - start, 1) / second * room / Math.max(pixels, 1)
    const step = (steps.find(each => each >= least) ?? Math.ceil(least / day) * day) * second
    const shift = offset * second
    const marks = []
    for (let local = Math.ceil((start + shift) / step) * step; local - shift <= end; local += step) {
        const text = clock(local - shift, offset)
        marks.push({ time: local - shift, text: step % (60 * second) === 0 ? text.slice(0, 5) : text })
    }
    return marks
}

const longestBandName = 16

/** As much of a band's name as there is room for beside a graph. */
function bandName(band) {
    const name = visible(band.name)
    return name.length > longestBandName ? name.slice(0, longestBandName - 1) + "…" : name
}

// MARK: The element

let graphs = 0

/**
 * Makes a graph: `element` is a <figure>, `update(model, looks)` draws a `graphModel`.
 *
 * `looks` says how: `name`, `kind` and `unit` of the series, `newest` value (null for none), its bands as `scale` (or null),
 * `limits` of alerts (`{op, value, upper, severity}`), `isWord`, whether values stand for words, `isLog`, `range`, `offset` (seconds ahead of UTC), `isStale`, `isTrimmed`, and `now`. `step(count)` moves the cursor by so
 * many values, `moveTo(time)` moves it to a time, `showTable(is)` shows a table instead, and `plot` is the drawing.
 */
export function createGraph() {
    const id = `graph-${++graphs}`
    const gradient = svg("linearGradient", { id: `${id}-ink`, gradientUnits: "userSpaceOnUse", x1: 0, x2: 0 })
    // Lines stay in the plot, the width of a dot around it is theirs.
    const inside = svg("rect")
    const clip = svg("clipPath", { id: `${id}-clip` }, inside)
    const parts = {}
    for (const name of ["bands", "limits", "blocks", "grid", "errors", "times", "values", "letters"]) parts[name] = svg("g", { class: `graph-${name}` })
    const line = svg("path", { class: "graph-line", "clip-path": `url(#${id}-clip)` })
    const dots = svg("path", { class: "graph-dots", "clip-path": `url(#${id}-clip)` })
    const marks = svg("path", { class: "graph-marks" })
    const markLines = svg("path", { class: "graph-mark-lines" })
    const end = svg("path", { class: "graph-end", "clip-path": `url(#${id}-clip)` })
    const cursor = svg("path", { class: "graph-cursor" })
    const cursorDot = svg("path", { class: "graph-cursor-dot" })
    parts.errors.append(markLines, marks)
    const plot = svg("svg", { class: "graph-plot", "aria-hidden": "true", focusable: "false" },
        svg("defs", {}, gradient, clip), parts.bands, parts.limits, parts.blocks, parts.grid, parts.times, parts.values, parts.letters, line, dots, parts.errors,
        end, cursor, cursorDot)
    const frame = element("div", {
        class: "graph-frame", role: "slider", tabindex: "0", "aria-describedby": `${id}-summary`,
        "aria-orientation": "horizontal", "aria-valuemin": "0",
    }, plot)
    const numbers = element("p", { class: "graph-numbers" })
    const told = element("p", { class: "visually-hidden", id: `${id}-summary` })
    const body = element("tbody")
    const titles = ["window", "last", "min", "mean", "max", "n", "band"]
    const table = element("div", { class: "graph-table", tabindex: "0", role: "region", hidden: true },
        element("table", {},
            element("caption", { class: "visually-hidden" }),
            element("thead", {}, element("tr", {}, ...titles.map(title => element("th", { scope: "col", class: title === "band" ? "word" : null }, title)))), body))
    const root = element("figure", { class: "graph" }, frame, table, numbers, told)

    let size = { width: 0, height: 0, font: 12 }
    let model = null
    let looks = null
    /** What the cursor can stand at: values and errors, ascending. */
    let stops = []
    /** Where the cursor is, in microseconds; null for nowhere. */
    let scrub = null
    let geometry = null
    let toldAt = -Infinity
    const keys = {}

    /** Whether a part of the drawing has to be made anew: it is not what `key` says. */
    function isNew(part, ...key) {
        const text = JSON.stringify(key)
        if (keys[part] === text) return false
        keys[part] = text
        return true
    }

    function text(value) {
        if (looks.isWord) return looks.scale ? visible(looks.scale.bands[looks.scale.index(value)].name) : String(value !== 0)
        const { text, unit } = quantity(value, looks.kind, looks.unit)
        return looks.kind === "memory" ? `${text} ${unit}` : text
    }

    function update(newModel, newLooks) {
        model = newModel
        looks = newLooks
        stops = [...model.samples, ...model.errors].sort((a, b) => a.time - b.time)
        if (scrub !== null && (scrub < model.start || scrub > model.end)) scrub = null
        draw()
        tell()
        if (!table.hidden) drawTable()
    }

    // MARK: Drawing

    function draw() {
        if (!model || size.width === 0) return
        const { width, height, font } = size
        const { scale } = looks
        const top = Math.round(font * 0.8)
        const bottom = height - Math.round(font * 1.9)
        const limits = looks.isWord ? [] : looks.limits
        const ends = limits.flatMap(({ value, upper, severity }) => [value, upper].filter(end => end !== null).map(end => ({ value: end, severity })))
        const axis = axisOf([...model.samples.flatMap(spread), ...ends].map(({ value }) => value), looks, Math.max(Math.floor((bottom - top) / (font * 4)), 2))
        const labels = looks.isWord ? [] : axis.marks.filter(mark => axis.place(mark.value) >= 0 && axis.place(mark.value) <= 1)
        // All figures have one width, about this much.
        const longest = Math.max(...labels.map(label => label.text.length), ...ends.map(({ value }) => limitText(value).length), 1)
        const left = Math.round(longest * font * 0.6 + 12)
        // Of words, all that there are stand beside the strip.
        const places = !scale ? [] : looks.isWord ? evenPlaces(scale) : bandPlaces(scale, axis)
        const hasNames = width >= font * 50
        const longestName = Math.max(...(scale?.bands.map(band => bandName(band).length) ?? [0]))
        const gutter = !scale ? font : hasNames ? font * 3 + longestName * font * 0.6 : font * 2.2
        const right = Math.max(Math.round(width - gutter), left + 1)
        const span = Math.max(model.end - model.start, 1)
        const x = time => left + (time - model.start) / span * (right - left)
        const y = value => bottom - axis.place(value) * (bottom - top)
        geometry = { x, y, left, right, top, bottom, span }

        const box = [width, height, font, left, right]
        if (isNew("box", width, height)) setAttribute(plot, "viewBox", `0 0 ${width} ${height}`)
        if (isNew("clip", left, right, top, bottom)) {
            const around = { x: left - 5, y: top - 5, width: right - left + 10, height: bottom - top + 10 }
            for (const [name, value] of Object.entries(around)) setAttribute(inside, name, value)
        }
        if (isNew("values", box, labels, ends)) {
            parts.grid.replaceChildren(...labels.map(({ value }) => {
                const at = Math.round(y(value)) + 0.5
                return svg("path", { class: "graph-rule", d: `M${left} ${at}H${right}` })
            }))
            // The limit of an alert is said in the place of a mark.
            const free = labels.filter(({ value }) => ends.every(end => Math.abs(y(end.value) - y(value)) > font * 1.1))
            parts.values.replaceChildren(...free.map(({ value, text }) =>
                svg("text", { class: "graph-label", x: left - 8, y: round(y(value) + font * 0.36), "text-anchor": "end" }, text)))
        }
        const times = timeMarks(model.start, model.end, right - left, font * 6.2, looks.offset)
        if (isNew("times", box, times, model.start, model.end)) drawTimes(times)
        if (isNew("bands", box, places, looks.isWord)) drawBands(places, hasNames)
        if (isNew("limits", box, limits, labels)) drawLimits(limits, ends, axis)
        drawBlocks(x, top, bottom)

        const runs = unbroken(model.samples, model.errors, model.width)
        if (isNew("banded", Boolean(scale))) {
            setClass(line, "banded", Boolean(scale))
            setClass(dots, "banded", Boolean(scale))
            for (const path of [line, dots]) setAttribute(path, "stroke", scale ? `url(#${id}-ink)` : null)
        }
        setClass(plot, "old", looks.isStale)
        const isLine = !looks.isWord
        setAttribute(line, "d", !isLine ? "" : runs.map(run => runPath(run.flatMap(spread), x, y)).join(""))
        // The value that counts in each window, the last one, stands out where there is room.
        const isRoomy = isLine && model.width / span * (right - left) >= font * 0.6
        const counting = isRoomy ? lastOfWindows(model.samples, model.width) : []
        setAttribute(dots, "d", counting.map(sample => `M${round(x(sample.time))} ${round(y(sample.value))}h0`).join(""))
        const arm = round(font * 0.3)
        const at = model.errors.map(({ time }) => round(x(time)))
        setAttribute(markLines, "d", at.map(place => `M${place} ${top}V${bottom - 3 * arm}`).join(""))
        setAttribute(marks, "d", at.map(place =>
            `M${place - arm} ${bottom - 2 * arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`).join(""))
        const last = model.samples[model.samples.length - 1]
        setAttribute(end, "d", last && isLine ? `M${round(x(last.time))} ${round(y(last.value))}h0` : "")
        setInk(end, last && scale ? scale.bands[scale.index(last.value)].color : null)
        drawCursor()
    }

    const limitText = value => looks.kind === "memory" ? Object.values(bytes(value)).join(" ") : short(value)

    /** The limits of alerts: a line each, and what is beyond is shaded. */
    function drawLimits(limits, ends, axis) {
        const { y, left, right, top, bottom } = geometry
        const inside = value => Math.min(Math.max(value === Infinity ? top : value === -Infinity ? bottom : y(value), top), bottom)
        const shades = limits.flatMap(({ severity, ...limit }) => zones(limit).map(([from, until]) => svg("rect", {
            class: "graph-zone", "data-severity": severity, x: left, y: round(inside(until)), width: right - left,
            height: Math.max(round(inside(from) - inside(until)), 0),
        })))
        const lines = ends.filter(({ value }) => axis.place(value) >= 0 && axis.place(value) <= 1).flatMap(({ value, severity }) => [
            svg("path", { class: "graph-limit", "data-severity": severity, d: `M${left} ${round(y(value))}H${right}` }),
            svg("text", { class: "graph-label", "data-severity": severity, x: left - 8, y: round(y(value) + size.font * 0.36), "text-anchor": "end" }, limitText(value)),
        ])
        parts.limits.replaceChildren(...shades, ...lines)
    }

    /** A strip of a block for each window, where values stand for words; a dot for each one in which nothing came. */
    function drawBlocks(x, top, bottom) {
        const blocks = []
        if (looks.isWord) {
            const { blocks: places, missing } = blocksOf(model)
            const high = Math.min((bottom - top) / 2, size.font * 5)
            const y = round((top + bottom - high) / 2)
            for (const { window, from, until } of places) {
                const width = Math.max(round(x(until) - x(from)) - 0.5, 0.5)
                const block = svg("rect", { class: "graph-block", x: round(x(from)), y, width, height: high })
                if (looks.scale) setInk(block, looks.scale.bands[looks.scale.index(window.last)].color)
                else setClass(block, "off", window.last === 0)
                blocks.push(block)
            }
            const dots = missing.map(time => `M${round(x(time))} ${round((top + bottom) / 2)}h0`)
            blocks.push(svg("path", { class: "graph-missing", d: dots.join("") }))
        }
        parts.blocks.replaceChildren(...blocks)
    }

    function drawTimes(times) {
        const { x, left, right, bottom } = geometry
        const { font } = size
        const at = bottom + 0.5
        let ticks = `M${left} ${at}H${right}`
        // Windows, where there is room for a mark each.
        const first = Math.ceil(model.start / model.width)
        const count = Math.floor(model.end / model.width) - first
        if (count > 0 && (right - left) / count >= 5) {
            for (let number = 0; number <= count; number++) ticks += `M${round(x((first + number) * model.width))} ${at}v3`
        }
        const nodes = []
        for (const { time, text } of times) {
            const place = round(x(time))
            ticks += `M${place} ${at}v6`
            const room = text.length * font * 0.3
            if (place - room < 0 || place + room > size.width) continue
            nodes.push(svg("text", { class: "graph-label", x: place, y: round(bottom + font * 1.6), "text-anchor": "middle" }, text))
        }
        parts.times.replaceChildren(svg("path", { class: "graph-axis", d: ticks }), ...nodes)
    }

    function drawBands(places, hasNames) {
        const { left, right, top, bottom } = geometry
        const { font } = size
        const at = place => round(bottom - place * (bottom - top))
        setAttribute(gradient, "y1", bottom)
        setAttribute(gradient, "y2", top)
        gradient.replaceChildren(...places.flatMap(({ band, low, high }) => [low, high].map(offset => {
            const stop = svg("stop", { offset })
            setInk(stop, band.color)
            return stop
        })))
        parts.bands.replaceChildren(...(looks.isWord ? [] : places).flatMap(({ band, low, high }) => [
            svg("rect", {
                class: "graph-band", x: left, y: at(high), width: right - left, height: round(at(low) - at(high)),
                fill: band.color,
            }),
            svg("rect", {
                class: "graph-strip", x: right + 2, y: at(high) + 0.5, width: 3, height: Math.max(at(low) - at(high) - 1, 0),
                fill: band.color,
            }),
            ...(high < 1 ? [svg("path", { class: "graph-border", d: `M${left} ${at(high)}H${right}` })] : []),
        ]))
        const side = round(font * 1.3)
        parts.letters.replaceChildren(...places.filter(({ low, high }) => at(low) - at(high) >= side).flatMap(
            ({ band, low, high }) => {
                const middle = (at(low) + at(high)) / 2
                const x = right + 9
                return [
                    svg("rect", {
                        class: "graph-badge", x, y: round(middle - side / 2), width: side, height: side, rx: 3,
                        fill: band.color,
                    }),
                    svg("text", {
                        class: "graph-letter", x: round(x + side / 2), y: round(middle + font * 0.36),
                        "text-anchor": "middle", fill: badgeText(band.color),
                    }, visible(band.letter)),
                    ...(hasNames ? [svg("text", {
                        class: "graph-label", x: round(x + side + 5), y: round(middle + font * 0.36),
                    }, bandName(band))] : []),
                ]
            }))
    }

    // MARK: The cursor

    /** What there is at a time: the `value` next to it, if one is near, its `window`, and the `code` of an error there. */
    function read(time) {
        const near = Math.max(model.width, geometry ? geometry.span / (geometry.right - geometry.left) * 2 : 0)
        const sample = model.samples[nearest(model.samples, time)]
        const error = model.errors[nearest(model.errors, time)]
        const number = Math.floor(time / model.width)
        return {
            time,
            sample: sample && Math.abs(sample.time - time) <= near ? sample : null,
            error: error && Math.abs(error.time - time) <= near / 2 ? error : null,
            window: model.windows.find(window => Math.floor(window.start / model.width) === number) ?? null,
        }
    }

    function drawCursor() {
        const reading = scrub === null ? null : read(scrub)
        const { x, y, top, bottom } = geometry
        setAttribute(cursor, "d", reading ? `M${Math.round(x(scrub)) + 0.5} ${top}V${bottom}` : "")
        const sample = looks.isWord ? null : reading?.sample
        setAttribute(cursorDot, "d", sample ? `M${round(x(sample.time))} ${round(y(sample.value))}h0` : "")
        write(reading)
    }

    function write(reading) {
        const pieces = []
        const add = (label, value, look = "") => pieces.push({ label, value, look })
        // There is no mean of words.
        const addRange = ({ minimum, mean, maximum }) => {
            if (!looks.isWord) for (const [label, value] of Object.entries({ min: minimum, mean, max: maximum })) add(label, text(value))
        }
        if (reading) {
            add("", clock(reading.time, looks.offset, 1), "accent")
            if (reading.sample) add("value", text(reading.sample.value))
            if (reading.sample && looks.scale && !looks.isWord) {
                const band = looks.scale.bands[looks.scale.index(reading.sample.value)]
                add("", `${visible(band.letter)} ${visible(band.name)}`)
            }
            if (reading.error) add("", "✕ " + visible(reading.error.code), "bad")
            const { window } = reading
            if (window) {
                add("window: last", text(window.last))
                addRange(window)
                add("n", String(window.count))
            } else {
                add("nothing in this window", "")
            }
        } else {
            const all = summary(model.windows)
            if (all) {
                if (looks.newest !== null) add("last", text(looks.newest))
                addRange(all)
                add("n", short(all.count))
                if (looks.isLog) add("", "log", "warning")
                if (looks.range) add("", "range fixed", "warning")
                if (looks.isTrimmed) add("", "oldest values left out", "warning")
            } else {
                add("no values in this time", "")
            }
        }
        while (numbers.childElementCount < pieces.length) numbers.append(element("span", {}, element("span"), " ", element("b")), " ")
        while (numbers.childElementCount > pieces.length) numbers.lastElementChild.remove()
        pieces.forEach(({ label, value, look }, place) => {
            const piece = numbers.children[place]
            setAttribute(piece, "class", look || null)
            setText(piece.firstElementChild, label)
            setText(piece.lastElementChild, value)
        })
        const place = reading ? nearest(stops, reading.time) + 1 : 0
        setAttribute(frame, "aria-valuemax", stops.length)
        setAttribute(frame, "aria-valuenow", place)
        setAttribute(frame, "aria-valuetext", reading
            ? pieces.map(({ label, value }) => (label + " " + value).trim()).join(", ")
            : "no time chosen")
    }

    function moveTo(time) {
        scrub = time
        if (model && geometry) drawCursor()
    }

    /** The time of a pointer: that of a value or an error where one is near. */
    function timeAt(event) {
        const { left, right, span } = geometry
        const pixel = event.clientX - plot.getBoundingClientRect().left
        const time = model.start + (Math.min(Math.max(pixel, left), right) - left) / (right - left) * span
        const stop = stops[nearest(stops, time)]
        return stop && Math.abs(stop.time - time) / span * (right - left) <= 24 ? stop.time : time
    }

    function step(count) {
        if (stops.length === 0) return
        const place = scrub === null ? (count < 0 ? stops.length : -1) : nearest(stops, scrub)
        moveTo(stops[Math.min(Math.max(place + count, 0), stops.length - 1)].time)
    }

    for (const kind of ["pointermove", "pointerdown"]) {
        frame.addEventListener(kind, event => { if (geometry) moveTo(timeAt(event)) })
    }
    frame.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") moveTo(null) })
    frame.addEventListener("keydown", event => {
        if (event.ctrlKey || event.altKey || event.metaKey || !model) return
        const moves = {
            ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity,
        }
        if (event.key in moves) step(moves[event.key])
        else if (event.key === "Escape" && scrub !== null) moveTo(null)
        else return
        event.preventDefault()
        event.stopPropagation()
    })

    // MARK: For those who do not see it

    /** Says the whole in words, at a calm pace: whoever listens shall hear the end of it. */
    function tell() {
        setAttribute(frame, "aria-label", "graph of " + visible(looks.name))
        if (looks.now - toldAt < 10e6 && looks.now >= toldAt && told.dataset.name === looks.name) return
        toldAt = looks.now
        told.dataset.name = looks.name
        const all = summary(model.windows)
        const unit = looks.kind === "data" ? looks.unit : looks.kind === "latency" ? "ms" : ""
        const parts = [all
            ? `${short(all.count)} values from ${clock(model.start, looks.offset)} to ${clock(Math.min(looks.now, model.end), looks.offset)}`
                + (looks.isWord ? "" : ` from ${text(all.minimum)} to ${text(all.maximum)}, mean ${text(all.mean)}`)
                + (looks.newest === null ? "" : `, last ${text(looks.newest)}`) + (unit ? " " + visible(unit) : "")
            : "no values in this time"]
        if (all && looks.newest !== null && looks.scale) parts.push(visible(looks.scale.bands[looks.scale.index(looks.newest)].name))
        if (model.errors.length > 0) parts.push(`${model.errors.length} ${model.errors.length === 1 ? "error" : "errors"}`)
        if (looks.isStale) parts.push("nothing new for longer than expected")
        setText(told, parts.join("; ") + ". Arrow keys read single values.")
    }

    // Windows in the table of a graph: 500; newest shown.
    const mostRows = 500

    function drawTable() {
        setText(table.querySelector("caption"), `windows of ${visible(looks.name)}, the newest first`)
        setAttribute(table, "aria-label", `windows of ${visible(looks.name)}`)
        const { windows } = model
        const rows = windows.slice(-mostRows).reverse()
        if (!isNew("table", looks.offset, looks.name, rows)) return
        body.replaceChildren(...rows.map(window => {
            const band = looks.scale?.bands[looks.scale.index(window.last)]
            const { last, minimum, mean, maximum } = window
            const cells = [text(last), ...[minimum, mean, maximum].map(value => looks.isWord ? "–" : text(value))]
            return element("tr", {},
                element("th", { scope: "row" }, clock(window.start, looks.offset)),
                ...[...cells, String(window.count)].map(cell => element("td", {}, cell)),
                element("td", { class: "word" }, band ? `${visible(band.letter)} ${visible(band.name)}` : "–"))
        }))
    }

    function showTable(is) {
        table.hidden = !is
        frame.hidden = is
        if (is && model) drawTable()
    }

    new ResizeObserver(() => {
        const width = frame.clientWidth
        const height = frame.clientHeight
        if (width === 0 || height === 0) return
        size = { width, height, font: parseFloat(getComputedStyle(plot).fontSize) }
        draw()
    }).observe(frame)

    return { element: root, plot, update, step, showTable, moveTo, leave: () => moveTo(null) }
}
