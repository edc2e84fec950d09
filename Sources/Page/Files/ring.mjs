// Bounded queues: the twins of Sources/Feed/Board/{BoardRing,BoardHistories,BoardBudget}.swift.

/** Elements enter at its end; once it is full the oldest makes room for each. Its memory doubles as it fills and halves as it empties. */
export class Ring {
    #slots = []
    #head = 0
    count = 0

    constructor(capacity) {
        this.capacity = capacity
    }

    /** The element at `place`, 0 being the oldest; undefined outside. */
    at(place) {
        return place >= 0 && place < this.count ? this.#slots[this.#place(place)] : undefined
    }

    get first() {
        return this.at(0)
    }

    get last() {
        return this.at(this.count - 1)
    }

    append(element) {
        if (this.count === this.capacity) this.removeFirst()
        if (this.count === this.#slots.length) this.#resize(grown(this.#slots.length, this.capacity))
        this.#slots[this.#place(this.count)] = element
        this.count += 1
    }

    removeFirst() {
        if (this.count === 0) return undefined
        const element = this.#slots[this.#head]
        this.#slots[this.#head] = undefined
        this.#head = this.#place(1)
        this.count -= 1
        if (isWasteful(this.count, this.#slots.length)) this.#resize(this.#slots.length / 2)
        return element
    }

    removeAll() {
        this.#slots = []
        this.#head = 0
        this.count = 0
    }

    *[Symbol.iterator]() {
        for (let place = 0; place < this.count; place += 1) yield this.#slots[this.#place(place)]
    }

    #place(offset) {
        const place = this.#head + offset
        return place < this.#slots.length ? place : place - this.#slots.length
    }

    /** The number of elements that there is room for. */
    get room() {
        return this.#slots.length
    }

    #resize(size) {
        const resized = new Array(Math.floor(size)).fill(undefined)
        for (let place = 0; place < this.count; place += 1) resized[place] = this.#slots[this.#place(place)]
        this.#slots = resized
        this.#head = 0
    }
}

const grown = (size, capacity) => Math.min(Math.max(4, size * 2), capacity)
const isWasteful = (count, size) => size > 64 && count < size / 4

/** A ring of values at times, in arrays of numbers: three numbers a point instead of an object. */
export class PointRing {
    #numbers = [new Float64Array(0), new Float64Array(0), new Float64Array(0)]
    #head = 0
    count = 0

    constructor(capacity) {
        this.capacity = capacity
    }

    /** In microseconds since the epoch; of the point at `place`, 0 being the oldest. */
    time(place) {
        return this.#numbers[0][this.#place(place)]
    }

    value(place) {
        return this.#numbers[1][this.#place(place)]
    }

    sequence(place) {
        return this.#numbers[2][this.#place(place)]
    }

    /** When the oldest was; none is later than Infinity. */
    get firstTime() {
        return this.count > 0 ? this.time(0) : Infinity
    }

    append({ time, value, sequence }) {
        if (this.count === this.capacity) this.removeFirst()
        if (this.count === this.room) this.#resize(grown(this.room, this.capacity))
        const place = this.#place(this.count)
        this.#numbers[0][place] = time
        this.#numbers[1][place] = value
        this.#numbers[2][place] = sequence
        this.count += 1
    }

    removeFirst() {
        this.#head = this.#place(1)
        this.count -= 1
        if (isWasteful(this.count, this.room)) this.#resize(this.room / 2)
    }

    /** The number of points that there is room for. */
    get room() {
        return this.#numbers[0].length
    }

    #resize(size) {
        const [head, end] = [this.#head, this.#head + this.count]
        const room = this.room
        this.#numbers = this.#numbers.map(old => {
            const resized = new Float64Array(Math.floor(size))
            resized.set(old.subarray(head, Math.min(end, room)))
            if (end > room) resized.set(old.subarray(0, end - room), room - head)
            return resized
        })
        this.#head = 0
    }

    #place(offset) {
        const place = this.#head + offset
        return place < this.#numbers[0].length ? place : place - this.#numbers[0].length
    }
}

// How many entries of what is gone are put up with at the least before they are cleared out.
const slack = 64

/** A ring of objects with a `time`. */
export class MomentRing extends Ring {
    get firstTime() {
        return this.count > 0 ? this.first.time : Infinity
    }
}

/**
 * The newest moments of every owner (a series, a source) in the order they arrived, bounded for each and for all together.
 *
 * Over an owner's bound its own oldest goes; over the bound of all, the one that arrived first of all. Both are remembered in
 * `isTrimmed`. One that is past the history goes when a newer one of its owner arrives, without being remembered.
 */
export class Histories {
    #makeRing
    #rings = []
    #trimmed = []
    // The owner of every moment by arrival, and of moments that are gone: as many of an owner's first entries as `gone` says.
    #order
    #gone = []
    #empty
    count = 0

    constructor(limitPerOwner, limit, RingOfThese) {
        this.limit = limit
        this.#makeRing = () => new RingOfThese(limitPerOwner)
        this.#empty = this.#makeRing()
        this.#order = new Ring(limit * 2 + 1)
    }

    of(owner) {
        return this.#rings[owner] ?? this.#empty
    }

    isTrimmed(owner) {
        return this.#trimmed[owner] === true
    }

    /** Adds a moment, after letting go of the owner's up to `expiry`, in microseconds. */
    append(moment, owner, expiry) {
        while (this.#rings.length <= owner) {
            this.#rings.push(this.#makeRing())
            this.#trimmed.push(false)
            this.#gone.push(0)
        }
        const ring = this.#rings[owner]
        while (ring.firstTime <= expiry) this.#removeFirst(owner)
        if (ring.count === ring.capacity) {
            this.#removeFirst(owner)
            this.#trimmed[owner] = true
        }
        ring.append(moment)
        this.count += 1
        // Long before it is full, lest memory grow for as long as there is room.
        if (this.#order.count >= this.count * 1.25 + slack || this.#order.count === this.#order.capacity) this.#forgetGone()
        this.#order.append(owner)
        while (this.count > this.limit) {
            const oldest = this.#order.removeFirst()
            if (this.#gone[oldest] > 0) {
                this.#gone[oldest] -= 1
            } else {
                this.#rings[oldest].removeFirst()
                this.#trimmed[oldest] = true
                this.count -= 1
            }
        }
    }

    #removeFirst(owner) {
        this.#rings[owner].removeFirst()
        this.#gone[owner] += 1
        this.count -= 1
    }

    #forgetGone() {
        const rest = new Ring(this.#order.capacity)
        for (const owner of this.#order) {
            if (this.#gone[owner] > 0) this.#gone[owner] -= 1
            else rest.append(owner)
        }
        this.#order = rest
    }
}

/** Which owners have something of their newest line kept, in the order of the lines' numbers, and how many bytes in all. */
export class Budget {
    // An owner's newest entry counts; one before it is stale.
    #order
    #newest = []
    #live = 0
    #last = 0
    bytes = 0

    constructor(owners) {
        this.#order = new Ring(Math.max(owners, 1) * 2 + 1)
    }

    /** Replaces what is kept for an owner by `count` bytes; null for nothing. */
    replace(owner, old, count) {
        while (this.#newest.length <= owner) this.#newest.push(0)
        this.bytes -= old
        if (this.#newest[owner] !== 0) this.#live -= 1
        this.#newest[owner] = 0
        if (count === null) return
        this.bytes += count
        this.#newest[owner] = this.#last += 1
        this.#live += 1
        if (this.#order.count >= this.#live * 2 + slack || this.#order.count === this.#order.capacity) this.#forgetStale()
        this.#order.append({ owner, number: this.#last, count })
    }

    /** Forgets the owners whose kept bytes came first while there are more than `limit`, and tells `drop` of each. */
    trim(limit, drop) {
        while (this.bytes > limit) {
            const entry = this.#order.removeFirst()
            if (this.#newest[entry.owner] !== entry.number) continue
            this.#newest[entry.owner] = 0
            this.#live -= 1
            this.bytes -= entry.count
            drop(entry.owner)
        }
    }

    #forgetStale() {
        const rest = new Ring(this.#order.capacity)
        for (const entry of this.#order) if (this.#newest[entry.owner] === entry.number) rest.append(entry)
        this.#order = rest
    }
}
