// How the durations of an endpoint are spread: the twin of Sources/Feed/Store/LatencyHistogram.swift, to the last bit.

const bits = new DataView(new ArrayBuffer(8))
// The exponent and the first six bits of a positive double's fraction, read as one integer, number the buckets: those are
// the topmost 18 bits.
const shift = 14
const shortest = 0.001
const longest = 3_600_000
const mostCounted = 0xffffffff
const origin = number(shortest)

function number(milliseconds) {
    bits.setFloat64(0, milliseconds)
    return bits.getUint32(0) >>> shift
}

// A value that two buckets share is in the lower one.
function bucketOf(milliseconds) {
    const bucket = number(Math.min(Math.max(milliseconds, shortest), longest)) - origin
    const isShared = bits.getUint32(4) === 0 && bits.getUint32(0) << (32 - shift) === 0
    return isShared ? bucket - 1 : bucket
}

function midpoint(bucket) {
    bits.setUint32(0, ((bucket + origin) << shift) | (1 << (shift - 1)))
    bits.setUint32(4, 0)
    return bits.getFloat64(0)
}

/** What the sum is multiplied by, so that it is always a number. */
const scale = 2 ** -16

/** Milliseconds; 64 buckets of equal width to each power of two, from 1 µs to 1 hour. */
export class LatencyHistogram {
    count = 0
    errors = 0
    scaledSum = 0
    minimum = 0
    maximum = 0
    last = 0
    #first = 0
    #counts = new Uint32Array(0)

    get mean() {
        return this.count === 0 ? 0 : Math.min(Math.max(this.scaledSum / this.count / scale, this.minimum), this.maximum)
    }

    /** Counts a duration, `times` times; refuses one that is negative or not finite. */
    record(milliseconds, times = 1) {
        if (!(milliseconds >= 0 && milliseconds < Infinity)) return false
        if (times <= 0) return true
        this.minimum = this.count === 0 ? milliseconds : Math.min(this.minimum, milliseconds)
        this.maximum = this.count === 0 ? milliseconds : Math.max(this.maximum, milliseconds)
        this.last = milliseconds
        this.count += times
        this.scaledSum = Math.min(this.scaledSum + milliseconds * scale * times, Number.MAX_VALUE)
        this.#add(times, bucketOf(milliseconds))
        return true
    }

    recordErrors(count = 1) {
        this.errors += Math.max(count, 0)
    }

    /** What `percent` percent of all durations do not exceed: nearest rank, the midpoint of its bucket; 0 while empty. */
    percentile(percent) {
        if (this.count === 0) return 0
        const rank = (percent * this.count) / 100
        if (rank <= 1) return this.minimum
        if (rank > this.count - 1) return this.maximum
        let seen = 0
        for (let offset = 0; offset < this.#counts.length; offset += 1) {
            seen += this.#counts[offset]
            if (seen >= rank) return Math.min(Math.max(midpoint(this.#first + offset), this.minimum), this.maximum)
        }
        return this.maximum
    }

    /** A percentile as people are told it; null while there are too few durations for it to be more than the longest. */
    tellingPercentile(percent) {
        return this.count >= (percent >= 99 ? 100 : percent >= 95 ? 20 : 1) ? this.percentile(percent) : null
    }

    /**
     * A histogram that stands for what a stats line says: all of it comes out again, percentiles within a bucket. What is
     * between those is spread evenly over the buckets there, so that later percentiles are estimates.
     */
    static of(summary) {
        const histogram = new LatencyHistogram()
        histogram.recordErrors(summary.errors)
        const { count, last, mean, minimum, p50, p90, p95, p99, maximum } = summary
        const known = [minimum, p50, p90, p95, p99, maximum, mean, last]
        if (count <= 0 || !known.every(value => value >= 0 && value < Infinity)) return histogram
        histogram.record(minimum)
        let [placed, lower] = [1, minimum]
        for (const [percent, value] of [[50, p50], [90, p90], [95, p95], [99, p99], [100, maximum]]) {
            const remainder = count % 100
            const rank = ((count - remainder) / 100) * percent + Math.floor((remainder * percent + 99) / 100)
            histogram.#spread(rank - placed, lower, value)
            placed = rank
            lower = value
        }
        histogram.scaledSum = mean * count * scale
        histogram.last = last
        return histogram
    }

    // The last of them is `upper` itself.
    #spread(times, lower, upper) {
        if (times <= 0) return
        this.record(upper)
        this.count += times - 1
        const end = bucketOf(upper)
        const width = Math.max(end - bucketOf(lower), 1)
        const remainder = (times - 1) % width
        const quotient = (times - 1 - remainder) / width
        for (let step = 1; step <= width; step += 1) {
            const more = Math.floor((remainder * step) / width) - Math.floor((remainder * (step - 1)) / width)
            this.#add(quotient + more, end - width + step)
        }
    }

    #add(times, bucket) {
        this.#reach(bucket)
        const place = bucket - this.#first
        this.#counts[place] = Math.min(this.#counts[place] + times, mostCounted)
    }

    #reach(bucket) {
        const size = this.#counts.length
        const first = size === 0 ? bucket : Math.min(bucket, this.#first)
        const end = size === 0 ? bucket + 1 : Math.max(bucket + 1, this.#first + size)
        if (end - first === size) return
        const larger = new Uint32Array(end - first)
        larger.set(this.#counts, size === 0 ? 0 : this.#first - first)
        this.#first = first
        this.#counts = larger
    }
}
