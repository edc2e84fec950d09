// Time: values in windows of it, and the agent's clock. The former is the twin of Sources/Feed/Store/Window.swift and Sources/Feed/Board/Board+Windows.swift.
// Times and widths are whole microseconds.

/** Which window since the epoch holds a time: number k reaches from k widths to k + 1 widths. */
export function windowIndex(time, width) {
    const rest = time % width
    const index = (time - rest) / width
    return rest < 0 ? index - 1 : index
}

export const windowStart = (index, width) => index * width

/** The windows of a series at any width, ascending, those that overlap the time from `from` to `to` (which is outside). */
export function windowsOver(points, lines, width, from, to) {
    const made = windowsOfPoints(points, width)
    const said = windowsOfLines(lines, width)
    const merged = []
    const add = window => {
        if (window.start < to && window.start + width > from) merged.push(window)
    }
    let theirs = 0
    for (const mine of made) {
        while (theirs < said.length && said[theirs].start < mine.start) add(said[theirs++])
        const line = said[theirs]
        if (line === undefined || line.start > mine.start) {
            add(mine)
            continue
        }
        // Each side can only lack events: the one with more of them knows better.
        add({ ...(line.count > mine.count ? line : mine), band: line.band, trend: line.trend })
        theirs += 1
    }
    while (theirs < said.length) add(said[theirs++])
    return merged
}

function windowsOfPoints(points, width) {
    const windows = []
    for (let place = 0; place < points.count; place += 1) {
        const time = points.time(place)
        const value = points.value(place)
        const index = windowIndex(time, width)
        // Points come nearly in order, so the place is nearly always the last.
        let end = windows.length
        while (end > 0 && windows[end - 1].index > index) end -= 1
        const window = end > 0 && windows[end - 1].index === index ? windows[end - 1] : null
        if (window === null) {
            const first = { index, time, sequence: points.sequence(place), last: value, count: 1 }
            windows.splice(end, 0, Object.assign(first, { minimum: value, maximum: value, sum: value }))
            continue
        }
        const sequence = points.sequence(place)
        if (time > window.time || (time === window.time && sequence >= window.sequence)) {
            window.last = value
            window.time = time
            window.sequence = sequence
        }
        window.count += 1
        if (value < window.minimum) window.minimum = value
        if (value > window.maximum) window.maximum = value
        window.sum += value
    }
    return windows.map(({ index, last, count, minimum, maximum, sum }) => {
        const mean = Math.min(Math.max(sum / count, minimum), maximum)
        const start = windowStart(index, width)
        return { start, width, last, count, minimum, maximum, mean, band: null, trend: null }
    })
}

/** The agent's windows put together to wider ones; none if they do not fit. */
function windowsOfLines(lines, width) {
    if (lines.length === 0 || width % lines[0].width !== 0) return []
    if (width === lines[0].width) return lines
    const windows = []
    for (const line of lines) {
        const start = windowStart(windowIndex(line.start, width), width)
        const last = windows.at(-1)
        if (last?.start === start) absorb(last, line)
        else windows.push({ ...line, start, width, band: null, trend: null })
    }
    return windows
}

/** Weighed, not summed, so that nothing overflows; limited to the extremes as rounding may leave them. */
export function absorb(window, later) {
    const weight = later.count / (window.count + later.count)
    window.minimum = Math.min(window.minimum, later.minimum)
    window.maximum = Math.max(window.maximum, later.maximum)
    const mean = window.mean * (1 - weight) + later.mean * weight
    window.mean = Math.min(Math.max(mean, window.minimum), window.maximum)
    window.count += later.count
    window.last = later.last
}

// MARK: What the agent's clock shows, told from when its lines come and what time they say: the twin of
// Sources/Terminal/View/AgentClock.swift, held to Tests/Vectors/clock.

// How long a line counts at the least; twice that at the most.
const period = 30_000_000

export class AgentClock {
    #start = 0
    #current = null
    #previous = null

    /** Takes in the time that a line says, and when it came by the local clock. */
    note(agent, local) {
        const lead = agent - local
        const elapsed = local - this.#start
        if (this.#current !== null && elapsed >= 0 && elapsed < period) {
            this.#current = Math.max(this.#current, lead)
            return
        }
        // A local clock that was set back has nothing to do with what was before.
        this.#previous = elapsed >= 0 ? this.#current : null
        this.#current = lead
        this.#start = local
    }

    /** The agent's time at a local time; the local time while nothing is known. */
    time(local) {
        return this.#current === null ? local : local + Math.max(this.#current, this.#previous ?? -Infinity)
    }

    get isKnown() {
        return this.#current !== null
    }
}

/** The local time as it goes on for the feed: for a recording that is played back at the rate that its agent says. */
export class PacedTime {
    #rate = 1
    #start = 0
    #since = 0

    /** What it is at a local time. */
    at(local) {
        return this.#start + (local - this.#since) * this.#rate
    }

    /** Goes on at another rate from a local time on; 0 to stand still. */
    setRate(rate, local) {
        if (!(rate >= 0)) return
        this.#start = this.at(local)
        this.#since = local
        this.#rate = rate
    }
}
