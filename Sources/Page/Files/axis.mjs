// Where the marks of a graph's axes are, and what is written there.

import { bytes, clock, fixed, short } from "./format.mjs"

/**
 * Which values a graph reaches from and to, as in the terminal: `marks` ascending, `place(value)` from 0 at the bottom to 1
 * at the top (less or more outside, at most by 1), `label(mark)`, and `valueAt(place)`.
 *
 * `count` is how many marks there may be at the most, `range` a fixed `[low, high]` or null. The floor of a logarithmic
 * axis, which stands for values of 0 and below, is a tenth of the largest power of ten that does not exceed the smallest
 * positive value; 0.1 if there is none. With `isBytes`, steps are round in the unit they are written in.
 */
export function valueAxis(values, { isLog = false, range = null, count = 5, isBytes = false } = {}) {
    let low = Infinity
    let high = -Infinity
    let positive = Infinity
    for (const value of values) {
        if (!Number.isFinite(value)) continue
        low = Math.min(low, value)
        high = Math.max(high, value)
        if (value > 0) positive = Math.min(positive, value)
    }
    if (range) {
        [low, high] = range
        if (low > 0) positive = Math.min(positive, low)
    }
    if (low > high) [low, high] = [0, 1]
    const isFixed = range !== null
    return isLog
        ? logarithmicAxis(low, high, positive, count, isFixed) : linearAxis(low, high, Math.max(count, 2), isFixed, isBytes)
}

function limited(place, isAbove) {
    return Number.isFinite(place) ? Math.min(Math.max(place, -1), 2) : isAbove ? 2 : -1
}

function linearAxis(lowest, highest, count, isFixed, isBytes) {
    const unit = isBytes ? bytes(highest).unit : ""
    const divisor = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }[unit] ?? 1
    // Beyond that, differences are not finite any more.
    let low = Math.min(Math.max(lowest / divisor, -1e300), 1e300)
    let high = Math.min(Math.max(highest / divisor, -1e300), 1e300)
    // A step of less would not be a number that can be divided by.
    if (high - low <= Math.max(Math.abs(low), Math.abs(high), 1e-290) * 1e-9) {
        const room = Math.max(Math.abs(high) * 0.05, 0.5)
        low -= room
        high += room
    }
    const rough = (high - low) / (count - 1)
    const power = Math.floor(Math.log10(rough))
    const factor = [1, 2, 5, 10].find(each => each * 10 ** power >= rough * 0.999) ?? 10
    const step = factor * 10 ** power
    const decimals = Math.max(0, Math.min(9, -(factor === 10 ? power + 1 : power)))
    if (!isFixed) {
        low = Math.floor(low / step) * step
        high = Math.ceil(high / step) * step
    }
    const marks = []
    const first = Math.ceil(low / step - 1e-9)
    for (let number = 0; number < 64; number++) {
        const mark = (first + number) * step
        if (mark > high + step * 1e-9) break
        marks.push(mark * divisor)
    }
    return {
        marks,
        place: value => limited((value / divisor - low) / (high - low), value / divisor > high),
        valueAt: place => (low + place * (high - low)) * divisor,
        label(mark) {
            const number = mark / divisor
            const text = Math.max(Math.abs(low), Math.abs(high)) >= 1e6 ? short(number) : fixed(number, decimals)
            return unit === "" ? text : text + " " + unit
        },
    }
}

function logarithmicAxis(lowest, highest, smallest, count, isFixed) {
    // Smaller ones have no power of ten below them.
    const positive = Math.max(smallest, 1e-300)
    let floor = null
    if (lowest <= 0) floor = 10 ** ((Number.isFinite(positive) ? Math.floor(Math.log10(positive)) : 0) - 1)
    let low = Math.log10(floor ?? Math.max(lowest, 1e-300))
    let high = Math.log10(Math.max(highest, 10 ** low))
    if (!isFixed || high - low < 1e-9) {
        low = Math.floor(low)
        high = Math.max(Math.ceil(high), low + 1)
    }
    const step = Math.max(1, Math.ceil((high - low) / Math.max(count - 1, 1)))
    const marks = []
    for (let mark = Math.ceil(low); mark <= high + 1e-9 && marks.length < 64; mark += step) marks.push(10 ** mark)
    return {
        marks,
        place(value) {
            const power = Math.log10(Math.max(value, floor ?? 10 ** (low - 1)))
            return limited((power - low) / (high - low), power > high)
        },
        valueAt: place => 10 ** (low + place * (high - low)),
        label: mark => (floor !== null && Math.abs(floor - mark) < floor * 1e-6 ? "≤" : "") + short(mark),
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
