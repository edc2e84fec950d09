// Which values a graph reaches from and to, and where its marks are: the twin of Sources/Terminal/Screens/ValueAxis.swift,
// held to Tests/Vectors/axis.

import { fixed as fixedText, short } from "./format.mjs"

// Exact for whole exponents, which `10 ** exponent` is not everywhere.
const power = exponent => Number.isInteger(exponent) ? Number(`1e${exponent}`) : 10 ** exponent

export class ValueAxis {
    #decimals = 0

    /**
     * `values` are what is to be seen, of which the finite ones count; `fixed` is `[low, high]`, to reach from there to there
     * instead; `count` is how many marks there may be at the most.
     */
    constructor(values, { fixed = null, isLog = false, count }) {
        this.isLog = isLog
        /** What stands for values of 0 and below on a logarithmic axis; null where there are none, or it is linear. */
        this.floor = null
        /** Ascending. */
        this.marks = []
        let low = Infinity
        let high = -Infinity
        let positive = Infinity
        for (const value of values) {
            if (!Number.isFinite(value)) continue
            low = Math.min(low, value)
            high = Math.max(high, value)
            if (value > 0) positive = Math.min(positive, value)
        }
        if (fixed !== null) {
            low = fixed[0]
            high = fixed[1]
            if (low > 0) positive = Math.min(positive, low)
        }
        if (low > high) [low, high] = [0, 1]
        if (!isLog) {
            // Beyond that, differences are not finite any more.
            this.low = Math.min(Math.max(low, -1e300), 1e300)
            this.high = Math.min(Math.max(high, -1e300), 1e300)
            this.#placeMarks(Math.max(count, 2), fixed !== null)
            return
        }
        // Smaller ones have no power of ten below them.
        positive = Math.max(positive, 1e-300)
        if (low > 0) low = Math.max(low, 1e-300)
        if (low <= 0) {
            this.floor = power((Number.isFinite(positive) ? Math.floor(Math.log10(positive)) : 0) - 1)
            low = this.floor
        }
        high = Math.max(high, low)
        this.low = Math.log10(low)
        this.high = Math.log10(high)
        if (fixed === null || this.high - this.low < 1e-9) {
            this.low = Math.floor(this.low)
            this.high = Math.max(Math.ceil(this.high), this.low + 1)
        }
        const step = Math.max(1, Math.ceil((this.high - this.low) / Math.max(count - 1, 1)))
        for (let mark = Math.ceil(this.low); mark <= this.high + 1e-9 && this.marks.length < 64; mark += step) {
            this.marks.push(power(mark))
        }
    }

    #placeMarks(count, isFixed) {
        // A step of less would not be a number that can be divided by.
        if (this.high - this.low <= Math.max(Math.abs(this.low), Math.abs(this.high), 1e-290) * 1e-9) {
            const room = Math.max(Math.abs(this.high) * 0.05, 0.5)
            this.low -= room
            this.high += room
        }
        const rough = (this.high - this.low) / Math.max(count - 1, 1)
        const exponent = Math.floor(Math.log10(rough))
        const unit = power(exponent)
        const factor = [1, 2, 5, 10].find(each => each * unit >= rough * 0.999) ?? 10
        const step = factor * unit
        this.#decimals = Math.max(0, Math.min(9, -(factor === 10 ? exponent + 1 : exponent)))
        if (!isFixed) {
            this.low = Math.floor(this.low / step) * step
            this.high = Math.ceil(this.high / step) * step
        }
        const first = Math.ceil(this.low / step - 1e-9)
        for (let number = 0; number < 64; number += 1) {
            const mark = (first + number) * step
            if (mark > this.high + step * 1e-9) break
            this.marks.push(mark)
        }
    }

    /** Where a value is: 0 at the bottom to 1 at the top; less or more outside, at most by 1. */
    place(value) {
        const scaled = this.isLog ? Math.log10(Math.max(value, this.floor ?? power(this.low - 1))) : value
        const place = (scaled - this.low) / (this.high - this.low)
        return Number.isFinite(place) ? Math.min(Math.max(place, -1), 2) : scaled > this.high ? 2 : -1
    }

    /** What is written at a mark. */
    label(mark) {
        if (this.isLog) {
            const isFloor = this.floor !== null && Math.abs(this.floor - mark) < this.floor * 1e-6
            return (isFloor ? "≤" : "") + short(mark)
        }
        const isLarge = Math.max(Math.abs(this.low), Math.abs(this.high)) >= 1e6
        return isLarge ? short(mark) : fixedText(mark, this.#decimals)
    }
}
