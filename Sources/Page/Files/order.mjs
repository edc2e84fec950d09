// Which rows the list shows, in which order: the twin of Sources/Terminal/View/ListOrder.swift and NaturalOrder.swift, held to
// Tests/Vectors/order.

import { lateness, newestTime } from "./board.mjs"
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

/** How bad an alert can be, the worst first; one without a severity, or with another, is `unknown`. */
export const severities = ["critical", "unknown", "warning", "info"]
export const severityOf = ({ severity }) => severities.includes(severity) ? severity : "unknown"

export const isAlert = row => row.condition !== undefined

const kinds = ["data", "latency", "memory", "count"]
/** A group with more texts than this, or more latencies, counts and memory, starts folded. */
const mostUnfolded = 8

/** The series of one source, or the latencies, counts and memory of all (`isOthers`). */
export class Group {
    /** The board's, once it is there. */
    source = null
    /** Indices of series, in the order of their first lines; those that match the filter, by name. */
    members = []
    matched = []
    isFolded = false
    /** Whether its only series is called like the source itself, and so needs no heading above it. */
    isHeading = false
    /** Whether it is folded unless somebody chose otherwise; null while that may change. */
    startsFolded = null

    constructor(name, isOthers = false) {
        Object.assign(this, { name, isOthers })
    }

    /** Unfolded for good with a value, folded for good with many texts and none, or as many latencies, counts and memory. */
    decide({ series }) {
        // A value does not go: so few need not be looked at yet.
        if (this.startsFolded !== null || this.members.length <= mostUnfolded) return
        if (!this.isOthers && this.members.some(index => series[index].newest !== null)) this.startsFolded = false
        else if (this.isOthers || this.members.filter(index => (series[index].event?.text ?? null) !== null).length > mostUnfolded) {
            this.startsFolded = true
        }
    }
}

/** Whether a text holds any of the words of a filter, which `|` separates; any text does when there are none. */
export function filterOf(filter) {
    const words = lowercased(filter).split("|").map(word => word.replace(/^ +| +$/g, "")).filter(word => word !== "")
    return text => words.length === 0 || words.some(word => lowercased(text).includes(word))
}

/** Kept from frame to frame: names are sorted when there are new ones, by other keys when there are new lines. */
export class ListOrder {
    #byName = []
    #filtered = []
    #groups = [new Group("", true)]
    #groupOf = []
    #groupNamed = new Map()
    /** Groups in their order. */
    #ranked = []
    #sourceOrder = null
    #sourceCount = 0
    #board = null
    #runChanges = -1
    #filter = null
    #isWanted = () => true
    #key = "source"
    #folds = null
    #lastSequence = -1
    #lookedAt = -1
    #troubles = []
    #alertChanges = -1
    #firingOnly = false
    /** What fires and matches the filter, the worst first: series, and alerts that are about none. */
    firing = []
    #alertsOf = new Map()
    /**
     * The topmost first: a series by its index, a heading as its `Group`, a failing or late source and an alert about no series
     * as the board's.
     */
    rows = []
    /** The indices of the series that match the filter, in their order, folded or not. */
    series = []
    hasHeadings = false

    /**
     * Takes in what happened since the last call; `key` is `source` or one of `orders`, `folds` has by their names the groups that
     * somebody folded or unfolded, and is another Map when it changed. `lateAt` is the agent's time; null when no source is late,
     * because nothing can come. `firingOnly` shows only what fires.
     */
    update(board, key, filter, folds = null, lateAt = null, firingOnly = false) {
        // Another board may have as many series, and of other names.
        const isOther = this.#board !== board || this.#runChanges !== board.runChanges
        const isOtherRun = isOther || this.#byName.length > board.series.length
        if (isOtherRun) {
            this.#byName = []
            this.#groups = [new Group("", true)]
            this.#groupOf = []
            this.#groupNamed = new Map()
            this.#lookedAt = -1
        }
        const isGrown = this.#byName.length < board.series.length
        if (isGrown) this.#extend(board)
        const isFilteredAnew = isGrown || isOtherRun || filter !== this.#filter
        if (isFilteredAnew) this.#select(board, filter)
        const { sourceOrder } = board
        const isRankedAnew = isGrown || isOtherRun || sourceOrder !== this.#sourceOrder || sourceOrder.length !== this.#sourceCount
        if (isRankedAnew) this.#rank(board)
        const isNewer = key !== "name" && key !== "source" && this.#lastSequence !== board.lastSequence
        const isSortedAnew = isFilteredAnew || key !== this.#key || isNewer || (key === "source" && isRankedAnew)
        this.#board = board
        this.#runChanges = board.runChanges
        this.#key = key
        if (isSortedAnew) {
            this.#lastSequence = board.lastSequence
            this.#sort(board)
        }
        const isFoldedAnew = (isGrown || folds !== this.#folds || this.#lookedAt !== board.lastSequence) && this.#fold(board, folds)
        const hadHeadings = this.hasHeadings
        this.hasHeadings = key === "source" && this.#needsHeadings()
        const troubles = this.#find(board, lateAt)
        const isSame = troubles.length === this.#troubles.length && troubles.every((source, place) => source === this.#troubles[place])
        const { changes } = board.alerts
        const firesAnew = isFilteredAnew || changes !== this.#alertChanges
        if (firesAnew) this.#findFiring(board)
        if (!isSortedAnew && !isFoldedAnew && this.hasHeadings === hadHeadings && isSame && !firesAnew && firingOnly === this.#firingOnly) return
        this.#troubles = troubles
        this.#firingOnly = firingOnly
        this.#list()
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
        for (let index = this.#groupOf.length; index < series.length; index += 1) {
            const { kind, source, name } = series[index]
            const group = kind === "data" ? this.#group(source) : this.#groups[0]
            this.#groupOf.push(group)
            group.members.push(index)
            group.isHeading = group.members.length === 1 && name === group.name
        }
    }

    #group(name) {
        let group = this.#groupNamed.get(name)
        if (group === undefined) {
            group = new Group(name)
            this.#groups.push(group)
            this.#groupNamed.set(name, group)
        }
        return group
    }

    #select({ series }, filter) {
        this.#filter = filter
        this.#isWanted = filterOf(filter)
        this.#filtered = this.isFiltered ? this.#byName.filter(index => this.#isWanted(series[index].name)) : this.#byName
        for (const group of this.#groups) group.matched = []
        for (const index of this.#filtered) this.#groupOf[index].matched.push(index)
    }

    /** Sources as the board has them, those that it does not have by their first series, and the others last. */
    #rank(board) {
        this.#sourceOrder = board.sourceOrder
        this.#sourceCount = board.sourceOrder.length
        const places = new Map(board.sourceOrder.map((source, place) => [source, place]))
        const [others, ...groups] = this.#groups
        for (const group of groups) group.source ??= board.describedSource(group.name)
        // The sort is stable.
        const place = group => places.get(group.source) ?? Infinity
        this.#ranked = [...groups.sort((one, other) => place(one) < place(other) ? -1 : place(one) > place(other) ? 1 : 0), others]
    }

    #sort({ series }) {
        if (this.#key === "source") {
            this.series = this.#ranked.flatMap(group => group.matched)
            return
        }
        if (this.#key === "name") {
            this.series = this.#filtered
            return
        }
        // From the largest down, so ages are turned round; ties by name. Latencies and memory are not compared with values of
        // other kinds: they stay last.
        const number = orders[this.#key]
        this.series = this.#filtered
            .map((index, place) => ({ index, place, number: number(series[index]), kind: kinds.indexOf(series[index].kind) }))
            .sort((one, other) => {
                if (one.kind !== other.kind) return one.kind - other.kind
                return one.number === other.number ? one.place - other.place : one.number > other.number ? -1 : 1
            })
            .map(({ index }) => index)
    }

    /** Folds and unfolds groups; says whether any is as it was not. */
    #fold(board, folds) {
        const isNewer = this.#lookedAt !== board.lastSequence
        this.#lookedAt = board.lastSequence
        this.#folds = folds
        let isChanged = false
        for (const group of this.#groups) {
            if (isNewer) group.decide(board)
            const isFolded = folds?.get(group.name) ?? group.startsFolded === true
            isChanged ||= isFolded !== group.isFolded
            group.isFolded = isFolded
        }
        return isChanged
    }

    /** Of several listed sources with data, one has more than one series. */
    #needsHeadings() {
        const listed = this.#groups.filter(group => group.source?.isListed)
        return listed.length > 1 && listed.some(group => group.members.length > 1)
    }

    /** Listed sources that fail, then those that are late; with a filter, those that match it or a series of which does. */
    #find(board, lateAt) {
        // Most are well, and names cost more to look at than states.
        const find = isTrouble => board.sourceOrder.filter(source => source.isListed && isTrouble(source)
            && (this.#isWanted(source.name) || this.#groupNamed.get(source.name)?.matched.length > 0))
        return [
            ...find(source => source.state === "failing"),
            ...lateAt === null ? [] : find(source => lateness(source, lateAt, board.interval) !== null),
        ]
    }

    #findFiring(board) {
        this.#alertChanges = board.alerts.changes
        this.firing = []
        this.#alertsOf = new Map()
        const rank = alert => severities.indexOf(severityOf(alert))
        for (const alert of [...board.alerts.all].sort((one, other) => rank(one) - rank(other))) {
            const index = board.seriesNamed(alert.subject)
            const isOfNone = index === undefined
            if (!isOfNone && this.alertsOf(index)?.push(alert)) continue
            if (!this.#isWanted(alert.subject) && !(isOfNone && this.#isWanted(alert.condition))) continue
            this.firing.push(isOfNone ? alert : index)
            if (!isOfNone) this.#alertsOf.set(index, [alert])
        }
    }

    /** The alerts about a series, the worst first; undefined where none fires, or the filter leaves it out. */
    alertsOf(index) {
        return this.#alertsOf.get(index)
    }

    #list() {
        this.rows = [...this.firing]
        if (this.#firingOnly) return
        this.rows.push(...this.#troubles)
        const isCalm = index => !this.#alertsOf.has(index)
        if (!this.hasHeadings) {
            this.rows = this.rows.concat(this.series.filter(isCalm))
            return
        }
        for (const group of this.#ranked) {
            if (group.matched.length === 0) continue
            if (!group.isHeading) this.rows.push(group)
            if (!group.isFolded || group.isHeading || this.isFiltered) for (const index of group.matched) if (isCalm(index)) this.rows.push(index)
        }
    }

    /** Whether there is a word to filter by: blanks and `|` are none. */
    get isFiltered() {
        return !this.#isWanted("")
    }

    /** Those rows that are failing or late sources. */
    get troubles() {
        return this.#troubles
    }

    // MARK: Choosing

    /** Whether a series' row is its source's heading as well. */
    isHeading(index) {
        return this.hasHeadings && this.#groupOf[index].isHeading
    }

    /** Whether a series stands below the heading of its group, and not on top because it fires. */
    isBelowHeading(index) {
        return this.hasHeadings && !this.#groupOf[index].isHeading && !this.#alertsOf.has(index)
    }

    /** The place of the row that stands for a row: it itself, or its group's heading or first series; else the first, -1 for none. */
    place(row) {
        const place = this.rows.indexOf(row)
        if (place >= 0 || row === null) return place
        const group = this.#groupFor(row)
        const found = this.rows.findIndex(each => each === group || (typeof each === "number" && this.#groupOf[each] === group))
        return found < 0 ? Math.min(0, this.rows.length - 1) : found
    }

    /** The series that a row leads to: its own, or the first of its group or source, else of all; undefined when there is none. */
    firstSeries(row) {
        if (typeof row === "number") return row
        // Of a pattern too the source comes first.
        if (row !== null && isAlert(row)) return this.within(row.subject.split("/")[0])[0] ?? this.series[0]
        const group = row && this.#groupFor(row)
        return this.series.find(index => this.#groupOf[index] === group)
            ?? (row === null || row instanceof Group ? undefined : this.within(row.name)[0]) ?? this.series[0]
    }

    #groupFor(row) {
        if (typeof row === "number") return this.#groupOf[row]
        return row instanceof Group ? row : this.#groupNamed.get(row.name)
    }

    /** The series of a source that match the filter, in their order: its data, then its latency, count and memory. */
    within(source) {
        return this.series.filter(index => this.#board.series[index].source === source)
    }
}
