// Queues of fixed size: once one is full, the oldest makes room for the next. Rings may share a room, `{ left }`: one then
// grows only while there is room for it, and else drops its own oldest. The first four elements of a ring are always there.

/** How large a full ring becomes: its own size if it cannot grow. */
function grown(size, capacity, room) {
    const larger = Math.min(Math.max(4, size * 2), capacity)
    if (larger === size || (size > 0 && larger - size > room.left)) return size
    room.left -= larger - size
    return larger
}

export class Ring {
    #items = []
    #size = 0

    constructor(capacity) {
        this.capacity = capacity
    }

    get count() {
        return this.#items.length
    }

    /** The element at `place`, 0 being the oldest; undefined outside. */
    at(place) {
        return this.#items[place]
    }

    get first() {
        return this.#items[0]
    }

    get last() {
        return this.#items.at(-1)
    }

    append(element, room = { left: Infinity }) {
        if (this.count === this.#size) this.#size = grown(this.#size, this.capacity, room)
        this.#items.push(element)
        if (this.count > this.#size) this.removeFirst()
    }

    removeFirst() {
        this.#items.shift()
    }

    [Symbol.iterator]() {
        return this.#items.values()
    }
}

/** A ring of values at times, in an array of numbers: three a point instead of an object. Its memory doubles as it fills. */
export class PointRing {
    #numbers = new Float64Array(0)
    #head = 0
    count = 0

    constructor(capacity) {
        this.capacity = capacity
    }

    /** In microseconds since the epoch; of the point at `place`, 0 being the oldest. */
    time(place) {
        return this.#numbers[this.#index(place)]
    }

    value(place) {
        return this.#numbers[this.#index(place) + 1]
    }

    sequence(place) {
        return this.#numbers[this.#index(place) + 2]
    }

    /** Returns whether the oldest was dropped. */
    append({ time, value, sequence }, room = { left: Infinity }) {
        const size = this.#numbers.length / 3
        const wanted = this.count === size ? grown(size, this.capacity, room) : size
        const isFull = this.count === wanted
        if (isFull) this.removeFirst()
        if (wanted > size) {
            const larger = new Float64Array(wanted * 3)
            larger.set(this.#numbers.subarray(this.#head * 3))
            larger.set(this.#numbers.subarray(0, this.#head * 3), (this.count - this.#head) * 3)
            this.#numbers = larger
            this.#head = 0
        }
        this.#numbers.set([time, value, sequence], this.#index(this.count))
        this.count += 1
        return isFull
    }

    removeFirst() {
        this.#head = this.#index(1) / 3
        this.count -= 1
    }

    #index(place) {
        return ((this.#head + place) * 3) % this.#numbers.length
    }
}
