// What Fibonacci sources said in this run: the twin of Sources/Terminal/View/FibonacciRuns.swift, held to
// Tests/Vectors/fibonacci.

import { readFields } from "./fields.mjs"
import { own, utf8Length, wholeNumber } from "./text.mjs"

const mostSources = 16
const mostSums = 1_000
const longestData = 64 << 10
// Digits of all pairs of a source, and what else a pair takes.
const mostBytes = 1 << 20
const pairBytes = 32

/**
 * The pairs of each source's newest calculation, and how long every one took.
 *
 * A board keeps the newest event of a series only; this keeps those that make up a table, bounded: what is over is dropped
 * from the start and counted.
 */
export class FibonacciRuns {
    #run = null
    /** By source's name: `{pairs: [{n, f}], droppedPairs, total, sums: [{n, ms}], droppedSums}`, `f` being digits. */
    sources = new Map()

    /** Takes what `readLine` read; most lines are none of its business. */
    take(line) {
        if (line.kind === "hello" && line.body.run !== this.#run) {
            this.#run = line.body.run
            this.sources.clear()
        }
        // Looked at closely only if it can be one.
        if (line.kind !== "data" || !line.body.data?.startsWith('{"n":')) return
        const { data } = line.body
        if (data.length >= longestData || utf8Length(data) >= longestData) return
        const fields = new Map()
        for (const { path, value } of readFields(data)) if (!fields.has(path)) fields.set(path, value)
        const n = wholeNumber(fields.get("n"))
        if (n === null || n < 0 || (!this.sources.has(line.source) && this.sources.size >= mostSources)) return
        const f = fields.get("f")
        const ms = milliseconds(fields.get("ms"))
        if (f !== undefined && /^[0-9]*$/.test(f)) this.#source(line.source).add({ n: Number(n), f: own(f) })
        else if (ms !== null) this.#source(line.source).end({ n: Number(n), ms })
    }

    #source(name) {
        if (!this.sources.has(name)) this.sources.set(name, new FibonacciSource())
        return this.sources.get(name)
    }
}

function milliseconds(text) {
    const ms = /^[0-9][-+.0-9eE]*$/.test(text) ? Number(text) : NaN
    return Number.isFinite(ms) ? ms : null
}

class FibonacciSource {
    pairs = []
    /** How many pairs of the newest calculation were dropped. */
    droppedPairs = 0
    /** The newest calculation's time in milliseconds; null while it is under way. */
    total = null
    /** The oldest first. */
    sums = []
    droppedSums = 0
    #bytes = 0

    add(pair) {
        // A calculation begins with F(0), or after the sum of the one before.
        if (pair.n === 0 || this.total !== null) {
            this.#empty()
            this.total = null
        }
        this.pairs.push(pair)
        this.#bytes += pair.f.length + pairBytes
        if (this.#bytes <= mostBytes) return
        // Half of it at once, lest every further pair move all of them.
        let gone = 0
        while (gone < this.pairs.length && this.#bytes > mostBytes / 2) {
            this.#bytes -= this.pairs[gone].f.length + pairBytes
            gone += 1
        }
        this.pairs.splice(0, gone)
        this.droppedPairs += gone
    }

    end(sum) {
        // A calculation that emits no pairs leaves those of an older one behind.
        if (this.pairs.length > 0 && this.pairs.at(-1).n !== sum.n) this.#empty()
        this.total = sum.ms
        this.sums.push(sum)
        if (this.sums.length <= mostSums) return
        this.sums.splice(0, 100)
        this.droppedSums += 100
    }

    #empty() {
        this.pairs = []
        this.#bytes = 0
        this.droppedPairs = 0
    }
}
