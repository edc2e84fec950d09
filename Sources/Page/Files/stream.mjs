// The feed as this browser has it: one EventSource, one bounded log of the lines as they came, and a cursor for every tab.
//
// It runs in the SharedWorker that all tabs of an origin have together, or in a tab itself where there is none. A tab is a
// port. To a tab go
//
//     {start: true, text}   a new board: a greeting and the oldest lines there are
//     {text}                further lines, one "\n" between two
//     {state}               {kind: "waiting" | "open" | "lost", since, reason, retryAt, needsToken}: times are Date.now()'s
//     {beat, rate, playback} the agent's time, as it says it, by how much that is faster than time, and how a recording is
//                           played back: "10x", "max" or "paused"; "" of any other feed
//
// or several of these at once, and from a tab come "next" when it has taken in what was sent (nothing else is sent before, so
// that a tab that is busy or frozen holds nothing but its cursor), "start" for a new start, "retry" to try at once, "broken" for a line
// that is no JSON, and "leave".

// Bound: lines that the page's stream holds for its tabs | 8 Mi characters (a byte each; two in a line with one beyond
//   U+00FF), and the history | oldest dropped; a tab that needed them begins again
const mostCharacters = 8 << 20
// Bound: newest lines of series that the page's stream dropped | 8 Mi characters | oldest dropped
const mostKept = 8 << 20
// A message to a tab: 128 Ki characters and one line; the rest in the next message.
/** A message shall not keep a tab busy for long. */
const messageCharacters = 128 << 10
/** The agent beats every 10 s; a connection that says nothing for so long is none. */
const longestSilence = 25_000
const shortestPause = 500
const longestPause = 10_000

export class Stream {
    #tabs = new Set()
    #source = null
    #isOpen = false
    #state = { kind: "waiting", since: Date.now() }
    #pause = shortestPause
    #retry = 0
    #watch = 0
    #heard = 0
    /** Counts connections: what a question about an old one comes to is passed over. */
    #attempt = 0

    /** Lines in their order; the first of them is the one with the number `#first` since this began. */
    #lines = []
    #head = 0
    #first = 0
    #characters = 0
    /** Whether lines of this run are gone: a greeting that is newer than them is then needed by who begins. */
    #isCut = false
    #run = ""
    #last = 0
    #history = 120_000
    #interval = 10
    /** By series: the number of its newest line. */
    #newest = new Map()
    /** By series: its newest line once it is no longer in `#lines`; the oldest first. */
    #kept = new Map()
    #keptCharacters = 0
    #hello = ""
    #stats = ""
    #ending = ""

    /** A tab begins: it gets everything there is. */
    subscribe(port) {
        const tab = { port, cursor: -1, state: null, isBusy: false, isAsking: false, owed: [] }
        this.#tabs.add(tab)
        const leave = () => {
            this.#tabs.delete(tab)
            port.onmessage = null
            port.onclose = null
            // Nobody looks: the agent need not send.
            if (this.#tabs.size === 0) this.close()
        }
        // A tab that crashed does not say so.
        port.onclose = leave
        port.onmessage = event => {
            switch (event.data) {
            case "next":
                tab.isBusy = false
                this.#deliver(tab)
                break
            case "start":
                tab.cursor = -1
                this.#deliver(tab)
                break
            case "retry":
                if (this.#retry !== 0) this.#connect()
                break
            case "broken":
                // It stands for a while, for a person to read. Then all begins anew, without that line if it was damaged.
                if (!this.#isOpen) break
                this.#pause = longestPause
                this.#run = ""
                this.#fail("what came is no line of a feed")
                break
            case "leave":
                leave()
                break
            }
        }
        if (this.#source === null && this.#retry === 0) this.#connect()
        this.#deliver(tab)
    }

    /** Goes on behind the last line there is, if it is closed. */
    open() {
        if (this.#source === null) this.#connect()
    }

    /** Takes no more lines until `open`; what there is stays. */
    close() {
        this.#disconnect()
        this.#pause = shortestPause
    }

    #connect() {
        this.#disconnect()
        const attempt = ++this.#attempt
        const query = this.#run === "" ? "" : `?since=${this.#last}&run=${this.#run}`
        const source = new EventSource("events" + query)
        this.#source = source
        this.#heard = Date.now()
        this.#watch = setInterval(() => {
            const silence = Date.now() - this.#heard
            if (silence > longestSilence) this.#fail(`nothing came for ${Math.round(silence / 1000)} s`, this.#heard)
        }, 5_000)
        source.onmessage = event => this.#take(event.data)
        source.addEventListener("beat", event => {
            this.#heard = Date.now()
            try {
                const { time, rate = 1, playback = "" } = JSON.parse(event.data)
                // For who has something to do it would come late, and tell a wrong time.
                for (const tab of this.#tabs) if (!tab.isBusy) this.#send(tab, { beat: time, rate, playback })
            } catch {
                // Not one of ours: it only tells that somebody is there.
            }
        })
        // EventSource comes back by itself only from some failures, and never says what they were.
        source.onerror = () => {
            if (this.#isOpen) return this.#fail(this.#ending || "the connection broke")
            this.#fail(this.#ending || "nothing answers")
            this.#ask().catch(({ message, needsToken }) => {
                if (attempt === this.#attempt && this.#state.kind === "lost") this.#change({ ...this.#state, reason: message, needsToken })
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
        const since = this.#state.kind === "lost" ? this.#state.since : lostAt
        // Not all pages of a wall at once.
        const pause = this.#pause * (0.8 + Math.random() * 0.4)
        this.#pause = Math.min(this.#pause * 2, longestPause)
        this.#retry = setTimeout(() => this.#connect(), pause)
        this.#change({ kind: "lost", reason, since, retryAt: Date.now() + pause })
    }

    #change(state) {
        this.#state = state
        for (const tab of this.#tabs) this.#deliver(tab)
    }

    /** Asks for a new greeting: its two lines; otherwise why there is none. */
    async #ask() {
        const control = new AbortController()
        const timer = setTimeout(() => control.abort(), 5_000)
        try {
            let response
            try {
                response = await fetch("feed?replay=false", { cache: "no-store", redirect: "manual", signal: control.signal })
            } catch {
                throw new Error("nothing answers")
            }
            if (response.status === 401) throw Object.assign(new Error("the token is missing or wrong (status 401)"), { needsToken: true })
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
                if (lines.length > 2) return lines.slice(0, 2)
            }
        } finally {
            clearTimeout(timer)
            control.abort()
        }
    }

    // The lines

    #take(line) {
        this.#heard = Date.now()
        if (line.startsWith('{"seq":')) {
            this.#last = parseInt(line.slice(7, 24), 10)
            const series = seriesOf(line)
            if (series !== undefined) {
                this.#newest.set(series, this.#last)
                this.#forget(series)
            }
            // Nothing is kept of series that are gone from their source's answers.
            for (const name of goneIn(line)) {
                this.#newest.set(name, this.#last)
                this.#forget(name)
            }
        } else if (line.startsWith('{"type":"hello"')) {
            this.#greet(line)
        } else if (line.startsWith('{"type":"stats"')) {
            this.#stats = line
        } else if (line.startsWith('{"type":"gap"')) {
            this.#last = Math.max(this.#last, JSON.parse(line).to)
        } else if (line.startsWith('{"type":"kept"')) {
            // One of a fleet's agent may come at any time, and is its series' newest.
            const kept = keptIn(line)
            if (kept.startsWith('{"seq":0,')) this.#newest.delete(seriesOf(kept))
        } else if (line.startsWith('{"type":"bye"')) {
            this.#ending = `the agent has ended: ${JSON.parse(line).reason}`
        } else if (line.startsWith('{"type":"error"')) {
            const { code, message } = JSON.parse(line)
            // What an older run has lost ends nothing.
            if (code !== "disk") this.#ending = message
        }
        this.#lines.push(line)
        this.#characters += line.length
        this.#cut()
        for (const tab of this.#tabs) this.#deliver(tab)
    }

    #greet(line) {
        const hello = JSON.parse(line)
        if (hello.run !== this.#run) {
            // Nothing of the old run is kept, and who has not read it yet need not.
            this.#first += this.#lines.length - this.#head
            this.#lines = []
            this.#head = 0
            this.#characters = 0
            this.#isCut = false
            this.#newest.clear()
            this.#kept.clear()
            this.#keptCharacters = 0
            this.#last = 0
            this.#run = hello.run
            for (const tab of this.#tabs) if (tab.cursor >= 0) tab.cursor = this.#first
        }
        this.#hello = line
        this.#history = Math.max(hello.history_s, hello.interval_s) * 1000
        this.#interval = hello.interval_s
        this.#ending = ""
        this.#isOpen = true
        this.#pause = shortestPause
        this.#state = { kind: "open", since: Date.now() }
    }

    /** Lets go of what is too much or too old. */
    #cut() {
        const count = this.#lines.length
        const isSecond = count % 64 === 0
        const oldest = isSecond ? time(this.#lines[count - 1]) - this.#history : 0
        while (this.#head < count - 1
            && (this.#characters > mostCharacters || (isSecond && time(this.#lines[this.#head]) < oldest))) {
            this.#keep(this.#lines[this.#head])
            this.#characters -= this.#lines[this.#head].length
            this.#lines[this.#head] = ""
            this.#head += 1
            this.#first += 1
            this.#isCut = true
        }
        if (this.#head > 1_024 && this.#head * 2 > count) {
            this.#lines.splice(0, this.#head)
            this.#head = 0
        }
    }

    /** Keeps a line that goes if it is its series' newest. */
    #keep(line) {
        if (line.startsWith('{"type":"kept"')) line = keptIn(line)
        const number = parseInt(line.slice(7, 24), 10)
        // All that those have said that are gone has gone before.
        for (const name of goneIn(line)) if (this.#newest.get(name) === number) this.#newest.delete(name)
        if (head.exec(line)?.[1] === "window") return this.#keepWindows(JSON.parse(line))
        const series = seriesOf(line)
        if (series === undefined || this.#newest.get(series) > number) return
        this.#put(series, line)
    }

    /** Keeps the windows of a source with a longer rhythm than the agent's windows. */
    #keepWindows({ seq, time, source, series, seconds, rows, start, last, min, max, count, mean }) {
        if (!(seconds > this.#interval)) return
        const key = "window" + series
        if (this.#newest.get(key) > seq) return
        const old = JSON.parse(this.#kept.get(key) ?? null)
        const all = new Map(old?.seconds === seconds ? old.rows.map(row => [row[0], row]) : [])
        for (const row of rows ?? [[Date.parse(start) / 1000, last, min, max, count, mean]]) all.set(row[0], row)
        rows = [...all.values()].sort((one, other) => one[0] - other[0]).slice(-Math.min(Math.max(Math.floor(this.#history / this.#interval / 1000), 1), 120))
        this.#put(key, JSON.stringify({ seq, time, type: "window", source, series, seconds, rows }))
    }

    #put(series, line) {
        this.#forget(series)
        this.#kept.set(series, line)
        this.#keptCharacters += line.length
        while (this.#keptCharacters > mostKept) {
            const [oldest] = this.#kept.keys()
            this.#forget(oldest)
            this.#newest.delete(oldest)
        }
    }

    #forget(series) {
        this.#keptCharacters -= this.#kept.get(series)?.length ?? 0
        this.#kept.delete(series)
    }

    /** Sends a tab what it has not got, if it is ready for more. */
    #deliver(tab) {
        if (tab.isBusy) return
        if (tab.cursor >= this.#first) {
            const text = this.#text(tab)
            if (text !== "") this.#send(tab, { text })
        } else if (this.#lines.length > this.#head && !tab.isAsking) {
            // What it should get next is gone, or it is new: it begins with the oldest there is.
            if (this.#isCut) this.#greetLate(tab)
            else this.#begin(tab, [])
        }
        if (!tab.isBusy && tab.state !== this.#state) this.#send(tab, {})
    }

    #send(tab, message) {
        tab.isBusy = true
        if (tab.state !== this.#state) message.state = tab.state = this.#state
        tab.port.postMessage(message)
    }

    #begin(tab, greeting) {
        tab.cursor = this.#first
        const kept = line => `{"type":"kept","time":"${timeText(greeting[0])}","run":"${this.#run}","line":${line}}`
        tab.owed = greeting.length > 0 ? [...greeting, ...[...this.#kept.values()].map(kept)] : []
        this.#send(tab, { start: true, text: this.#text(tab) })
    }

    /** Begins with a greeting that knows of the lines that are gone. */
    #greetLate(tab) {
        const begin = greeting => {
            tab.isAsking = false
            // Who is busy by now would get an old one: it asks again.
            if (!tab.isBusy) this.#begin(tab, greeting)
        }
        tab.isAsking = true
        const known = [this.#hello, this.#stats]
        this.#ask().then(
            // Another run's is behind the corner, and begins by itself.
            lines => begin(lines[0].includes(`"run":"${this.#run}"`) ? lines : known),
            // An older one counts too little, which is better than nothing.
            () => begin(known))
    }

    #text(tab) {
        let characters = 0
        let owed = 0
        while (owed < tab.owed.length && characters < messageCharacters) characters += tab.owed[owed++].length
        const before = tab.owed.splice(0, owed)
        let place = tab.cursor - this.#first + this.#head
        const start = place
        while (place < this.#lines.length && characters < messageCharacters) characters += this.#lines[place++].length
        tab.cursor += place - start
        return [...before, ...this.#lines.slice(start, place)].join("\n")
    }
}

const head = /"type":"((?:[^"\\]|\\.)*)","source":"((?:[^"\\]|\\.)*)"(,"series":"(?:[^"\\]|\\.)*"(?:,"value")?)?/

/** What `#newest` calls the lines of those that a progress line says are gone: of values, of texts and of windows. */
function goneIn(line) {
    const [, type, source] = line.includes('"gone":[') ? head.exec(line) ?? [] : []
    if (type !== "progress") return []
    const [keys] = /(?<="gone":\[)(?:"(?:[^"\\]|\\.)*",?)*(?=\])/.exec(line) ?? [""]
    return [...keys.matchAll(/"((?:[^"\\]|\\.)*)"/g)].flatMap(([, key]) => {
        const series = `"${source}/${key}"`
        return [`,"series":${series}`, `,"series":${series},"value"`, "window" + JSON.parse(series)]
    })
}

/** The line in a `kept` line. */
function keptIn(line) {
    return line.slice(line.indexOf(',"line":') + 8, -1)
}

/** The series whose newest line this may be; undefined for none. Lines with a value and without are apart, as the agent has them. */
function seriesOf(line) {
    const [, type, source, series] = head.exec(line) ?? []
    if (type === "latency" || type === "memory" || (type === "progress" && line.includes('"items":'))) return type + source
    return type === "window" ? undefined : series
}

/** A line's time as it is written. */
function timeText(line) {
    const start = line.indexOf('"time":"') + 8
    return line.slice(start, start + 27)
}

/** A line's time in milliseconds; not a number where it says none. */
function time(line) {
    return Date.parse(timeText(line))
}
