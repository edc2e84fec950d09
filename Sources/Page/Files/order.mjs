// Which series the list shows, in which order: the twin of Sources/Terminal/View/ListOrder.swift and NaturalOrder.swift, held to
// Tests/Vectors/order.

import { newestTime } from "./board.mjs"
import { lowercased } from "./text.mjs"

const isDigit = unit => unit >= 0x30 && unit <= 0x39

// Units of UTF-16 in the order of the code points they stand for: halves of pairs come last.
const rank = unit => unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800

/**
 * Below 0 when `left` comes before `right` as a person counts, `dogs/2` before `dogs/10`; 0 only for the same text.
 *
 * By code points, digits that stand together as one number; what differs in leading zeros only is ordered as plain text.
 */
export function naturalOrder(left, right) {
    let one = 0
    let other = 0
    while (one < left.length && other < right.length) {
        const [unit, counterpart] = [left.charCodeAt(one), right.charCodeAt(other)]
        if (!isDigit(unit) || !isDigit(counterpart)) {
            if (unit !== counterpart) return rank(unit) - rank(counterpart)
            one += 1
            other += 1
            continue
        }
        const [start, begin] = [digitsStart(left, one), digitsStart(right, other)]
        one = digitsEnd(left, start)
        other = digitsEnd(right, begin)
        if (one - start !== other - begin) return one - start - (other - begin)
        const [number, another] = [left.slice(start, one), right.slice(begin, other)]
        if (number !== another) return number < another ? -1 : 1
    }
    const rest = left.length - one - (right.length - other)
    if (rest !== 0) return rest
    return left < right ? -1 : left > right ? 1 : 0
}

function digitsStart(text, place) {
    while (text.charCodeAt(place) === 0x30) place += 1
    return place
}

function digitsEnd(text, place) {
    while (isDigit(text.charCodeAt(place))) place += 1
    return place
}

/** How far the newest value of a series is from the last one of the window before its own; null where there is none. */
export function change({ newest, windows }) {
    if (newest === null) return null
    for (let place = windows.length - 1; place >= 0; place -= 1) {
        const window = windows[place]
        if (window.start > newest.time - window.width) continue
        const change = newest.value - window.last
        return Number.isFinite(change) ? change : null
    }
    return null
}

/** What rows are sorted by, each with the number that it goes down by. */
export const orders = {
    name: () => 0,
    value: series => series.newest?.value ?? -Infinity,
    change: series => {
        const amount = change(series)
        return amount === null ? -1 : Math.abs(amount)
    },
    age: series => newestTime(series) ?? -Infinity,
}

const kinds = ["data", "latency", "memory"]

/** Kept from frame to frame: the order by name is extended by what is new, the others are sorted when there are new lines. */
export class ListOrder {
    #byName = []
    #filtered = []
    #board = null
    #runChanges = -1
    #filter = ""
    #key = "name"
    #lastSequence = -1
    /** Indices of series, the topmost first. */
    rows = []

    /** Takes in what happened since the last call; `key` is one of `orders`. */
    update(board, key, filter) {
        // Another board may have as many series, and of other names.
        const isOther = this.#board !== board || this.#runChanges !== board.runChanges
        const isOtherRun = isOther || this.#byName.length > board.series.length
        if (isOtherRun) this.#byName = []
        const isGrown = this.#byName.length < board.series.length
        if (isGrown) this.#extend(board)
        const isFilteredAnew = isGrown || isOtherRun || filter !== this.#filter
        if (isFilteredAnew) this.#select(board, filter)
        const isNewer = key !== "name" && this.#lastSequence !== board.lastSequence
        const isSortedAnew = isFilteredAnew || key !== this.#key || isNewer
        this.#board = board
        this.#runChanges = board.runChanges
        this.#key = key
        if (!isSortedAnew) return
        this.#lastSequence = board.lastSequence
        this.#sort(board)
    }

    #extend({ series }) {
        const compare = (one, other) => kinds.indexOf(series[one].kind) - kinds.indexOf(series[other].kind)
            || naturalOrder(series[one].name, series[other].name)
        const old = this.#byName
        const added = series.slice(old.length).map((_, place) => old.length + place).sort(compare)
        const merged = []
        let place = 0
        for (const index of added) {
            while (place < old.length && compare(old[place], index) < 0) merged.push(old[place++])
            merged.push(index)
        }
        while (place < old.length) merged.push(old[place++])
        this.#byName = merged
    }

    #select({ series }, filter) {
        this.#filter = filter
        const wanted = lowercased(filter)
        this.#filtered =
            filter === "" ? this.#byName : this.#byName.filter(index => lowercased(series[index].name).includes(wanted))
    }

    #sort({ series }) {
        if (this.#key === "name") {
            this.rows = this.#filtered
            return
        }
        // From the largest down, so ages are turned round; ties by name. Latencies and memory are not compared with values of
        // other kinds: they stay last.
        const number = orders[this.#key]
        this.rows = this.#filtered
            .map((index, place) => ({ index, place, number: number(series[index]), kind: kinds.indexOf(series[index].kind) }))
            .sort((one, other) => {
                if (one.kind !== other.kind) return one.kind - other.kind
                return one.number === other.number ? one.place - other.place : one.number > other.number ? -1 : 1
            })
            .map(({ index }) => index)
    }
}
