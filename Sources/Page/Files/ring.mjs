// Queues of fixed size: once one is full, the oldest makes room for the next.

export class Ring {
    #items = []

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

    append(element) {
        this.#items.push(element)
        if (this.count > this.capacity) this.removeFirst()
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

    append({ time, value, sequence }) {
        if (this.count === this.capacity) this.removeFirst()
        if (this.count * 3 === this.#numbers.length) {
            const larger = new Float64Array(Math.min(Math.max(4, this.count * 2), this.capacity) * 3)
            larger.set(this.#numbers.subarray(this.#head * 3))
            larger.set(this.#numbers.subarray(0, this.#head * 3), (this.count - this.#head) * 3)
            this.#numbers = larger
            this.#head = 0
        }
        this.#numbers.set([time, value, sequence], this.#index(this.count))
        this.count += 1
    }

    removeFirst() {
        this.#head = this.#index(1) / 3
        this.count -= 1
    }

    #index(place) {
        return ((this.#head + place) * 3) % this.#numbers.length
    }
}
