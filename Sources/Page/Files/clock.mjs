// What the agent's clock shows, told from when its lines come and what time they say: the twin of
// Sources/Terminal/View/AgentClock.swift, held to Tests/Vectors/clock. Times are in microseconds.

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
