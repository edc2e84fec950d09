// The feed: one EventSource, which comes back behind its last line.

import { readLine } from "./line.mjs"

/** The agent beats every 10 s; a connection that says nothing for so long is none. */
const longestSilence = 25_000
const shortestPause = 500
const longestPause = 10_000

/**
 * Calls `take(line, length)` with what `readLine` made of each line, `beat({time, rate, playback})` with each beat, and `change(state)` with
 * {kind: "waiting" | "open" | "lost", since, reason, retryAt}, whose times are Date.now()'s.
 */
export class Stream {
    #listener
    #source = null
    #isOpen = false
    #pause = shortestPause
    #retry = 0
    #watch = 0
    #heard = 0
    #run = ""
    #last = 0
    #ending = ""
    state = { kind: "waiting", since: Date.now() }

    constructor(listener) {
        this.#listener = listener
    }

    /** Goes on behind the last line, if it is closed. */
    open() {
        if (this.#source === null) this.#connect()
    }

    /** Takes no more lines until `open`. */
    close() {
        this.#disconnect()
        this.#pause = shortestPause
    }

    /** Begins anew, with all lines that the agent has. */
    restart() {
        this.#run = ""
        this.#connect()
    }

    /** Tries at once what it waits to try. */
    retry() {
        if (this.#retry !== 0) this.#connect()
    }

    #connect() {
        this.#disconnect()
        const source = new EventSource("events" + (this.#run === "" ? "" : `?since=${this.#last}&run=${this.#run}`))
        this.#source = source
        this.#heard = Date.now()
        this.#watch = setInterval(() => {
            const silence = Date.now() - this.#heard
            if (silence > longestSilence) this.#fail(`nothing came for ${Math.round(silence / 1000)} s`, this.#heard)
        }, 5_000)
        source.onmessage = event => this.#take(event.data)
        source.addEventListener("beat", event => {
            this.#heard = Date.now()
            this.#listener.beat(JSON.parse(event.data))
        })
        // EventSource comes back by itself only from some failures, and never says what they were.
        source.onerror = () => {
            const wasOpen = this.#isOpen
            this.#fail(this.#ending || (wasOpen ? "the connection broke" : "nothing answers"))
            if (wasOpen) return
            const { state } = this
            fetchGreeting().catch(({ message }) => {
                if (this.state === state) this.#change({ ...state, reason: message })
            })
        }
    }

    #disconnect() {
        this.#source?.close()
        this.#source = null
        this.#isOpen = false
        clearInterval(this.#watch)
        clearTimeout(this.#retry)
        this.#retry = 0
    }

    /** `lostAt`: since when there is nothing, in milliseconds. */
    #fail(reason, lostAt = Date.now()) {
        this.#disconnect()
        this.#ending = ""
        const since = this.state.kind === "lost" ? this.state.since : lostAt
        // Not all pages of a wall at once.
        const pause = this.#pause * (0.8 + Math.random() * 0.4)
        this.#pause = Math.min(this.#pause * 2, longestPause)
        this.#retry = setTimeout(() => this.#connect(), pause)
        this.#change({ kind: "lost", reason, since, retryAt: Date.now() + pause })
    }

    #change(state) {
        this.state = state
        this.#listener.change(state)
    }

    #take(text) {
        this.#heard = Date.now()
        const line = readLine(text)
        if (line === null) {
            // It stands for a while, for a person to read.
            this.#pause = longestPause
            return this.#fail("what came is no line of a feed")
        }
        const { kind, body, seq } = line
        if (seq !== null) this.#last = seq
        else if (kind === "gap") this.#last = Math.max(this.#last, body.to)
        else if (kind === "bye") this.#ending = `the agent has ended: ${body.reason}`
        // What an older run has lost ends nothing.
        else if (kind === "refusal" && body.code !== "disk") this.#ending = body.message
        else if (kind === "hello") {
            if (body.run !== this.#run) this.#last = 0
            this.#run = body.run
            this.#ending = ""
            this.#isOpen = true
            this.#pause = shortestPause
        }
        this.#listener.take(line, text.length)
        if (kind === "hello") this.#change({ kind: "open", since: Date.now() })
    }
}

/** Asks for a greeting: its two lines, as `readLine` reads them; otherwise why there is none. */
export async function fetchGreeting() {
    const control = new AbortController()
    const timer = setTimeout(() => control.abort(), 5_000)
    try {
        let response
        try {
            response = await fetch("feed?replay=false", { cache: "no-store", redirect: "manual", signal: control.signal })
        } catch {
            throw new Error("nothing answers")
        }
        if (response.status === 401) throw new Error("the token is missing or wrong (status 401)")
        const isFeed = response.headers.get("content-type")?.startsWith("application/x-ndjson")
        if (response.type === "opaqueredirect" || (response.ok && !isFeed)) throw new Error("something else answers there")
        if (!response.ok) {
            const text = (await response.text()).trim().split("\n")[0].slice(0, 200)
            throw new Error(`${text || "refused"} (status ${response.status})`)
        }
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
        let text = ""
        for (;;) {
            const { value, done } = await reader.read()
            if (done) throw new Error("the connection broke")
            text += value
            const lines = text.split("\n")
            if (lines.length > 2) return lines.slice(0, 2).map(readLine)
        }
    } finally {
        clearTimeout(timer)
        control.abort()
    }
}
