// What every screen shows: a fold over the lines of a feed, the twin of Sources/Feed/Board/Board.swift, whose comment says the
// rules by their numbers. Both are held to Tests/Vectors/board: a rule changes there, here and in Swift at once.
//
// Times, widths and durations are whole microseconds (since the epoch), in a Number: exact from 1685 to 2255.

import { readLine } from "./line.mjs"
import { PointRing, Ring } from "./ring.mjs"
import { cutBytes, cutPoints, own, utf8Length } from "./text.mjs"
import { windowsOver } from "./windows.mjs"

/** How much a board holds at the most. */
export const limits = Object.freeze({
    series: 10_000,
    pointsPerSeries: 4096,
    points: 1_000_000,
    windowsPerSeries: 512,
    windows: 131_072,
    endpoints: 4096,
    sources: 10_000,
    memory: 4096,
    lines: 500,
    gaps: 100,
    dataPerEvent: 4 << 10,
    outputs: 64,
    errorsPerSource: 256,
    errors: 16_384,
    agents: 10_000,
    alerts: 10_000,
})

const longestText = 1000
const longestName = 2048
const longestCode = 64
const longestWord = 64
const longestAgentText = 256
const stretchLength = 10_000_000
const day = 86_400_000_000
const defaultInterval = 10_000_000
const defaultHistory = 120_000_000

/** What the values of the series of this name are: `data`, `latency` (milliseconds), `memory` (bytes) or `count` (items). */
const seriesKind = name => /^(latency|memory|count):/.exec(name)?.[1] ?? "data"

/** Whether something that came from a source (null for none) at `time` is older than it should be at `now`. */
export function isStale(source, time, now, window) {
    const expected = Math.max(window, source?.rhythm.period ?? 0)
    if (source?.rhythm.kind === "once" && source.state === "ok") return false
    return (now - Math.max(time, source?.confirmed ?? time)) * 2 > expected * 5
}

/**
 * How long a polled source that is well has not answered, `{silence, expected}`; null unless that is late, which is after two and a
 * half times the longer of its period and `window`. A stream may be silent.
 */
export function lateness({ state, rhythm, answered }, now, window) {
    if (state !== "ok" || rhythm.kind !== "every" || answered === null) return null
    const [silence, expected] = [now - answered, Math.max(rhythm.period, window)]
    return silence * 2 > expected * 5 ? { silence, expected } : null
}

/** When the newest event of a series was; null when there was none. */
export function newestTime(series) {
    if (series.event === null) return series.newest?.time ?? null
    return series.newest === null ? series.event.time : Math.max(series.newest.time, series.event.time)
}

const isLater = (one, other) => one.time > other.time || (one.time === other.time && one.sequence > other.sequence)

export class Board {
    #state
    /** How much all rings of points and of errors may still grow. */
    #room
    #windowCount

    constructor(given = {}) {
        this.limits = { ...limits, ...given }
        /** How many times the run changed. */
        this.runChanges = 0
        this.#begin()
    }

    #begin() {
        const { limits } = this
        this.#room = { points: { left: limits.points }, errors: { left: limits.errors } }
        this.#windowCount = 0
        /** The hello of the newest connection. */
        this.hello = null
        /** Why the agent said goodbye; null while it has not, or is back. */
        this.bye = null
        /** The number of the newest line applied or named as missed. */
        this.lastSequence = 0
        /** The agent's time, as the newest line tells. */
        this.clock = null
        /** In the order of their first line; `lastWord` is what the newest value stands for, also while newer events have no value. */
        this.series = []
        this.dataLeftOut = 0
        this.refusedSeries = 0
        this.endpoints = []
        this.refusedEndpoints = 0
        this.moreEndpoints = 0
        this.moreSources = 0
        this.sources = []
        /** Those of the newest stats line in its order, then the others. */
        this.sourceOrder = []
        this.refusedSources = 0
        /** The agents of a fleet, in the order of the first line about each. */
        this.agents = []
        this.refusedAgents = 0
        this.alerts = new Alerts(limits)
        this.memory = new Ring(limits.memory)
        /** The newest agent line's body. */
        this.agent = null
        /** The newest numbered lines, the oldest first. */
        this.lines = new Ring(limits.lines)
        this.gaps = new Ring(limits.gaps)
        this.gapCount = 0
        this.missed = 0
        this.#state = {
            seriesByName: new Map(),
            endpointsByName: new Map(),
            sourcesByName: new Map(),
            agentsByName: new Map(),
            // Before when none of them has been unheard of for a day.
            agentsKeptUntil: -Infinity,
            statsAsOf: 0,
            isRunning: false,
        }
    }

    // MARK: What is known

    /** The index of the series of a name; undefined when there is none. */
    seriesNamed(name) {
        return this.#state.seriesByName.get(name)
    }

    sourceNamed(name) {
        return this.#state.sourcesByName.get(name)
    }

    /** The source of a name; null when there is none. */
    describedSource(name) {
        return this.sources[this.#state.sourcesByName.get(name)] ?? null
    }

    /** The agent of a fleet whose source it is; null for one of the feed's own. */
    agentOfSource(source) {
        const dot = source.indexOf(".")
        return dot > 0 && this.#state.agentsByName.has(source.slice(0, dot)) ? source.slice(0, dot) : null
    }

    /** The points of a series, the oldest first: `count`, and `time(k)`, `value(k)` and `sequence(k)` of each. */
    points(series) {
        return this.series[series].points
    }

    /** The errors of a source within the history, the oldest first: `{time, sequence, code}`. */
    errors(source) {
        return this.sources[source].errorMarks
    }

    /** The windows of a series at any width, ascending; those that overlap the time from `from` to `to`. */
    windows(series, width, from = -Infinity, to = Infinity) {
        const lines = this.series[series]?.windows
        return lines === undefined ? [] : windowsOver(this.points(series), lines, Math.max(width, 1), from, to)
    }

    /** How wide the agent's windows are. */
    get interval() {
        return this.hello?.interval || defaultInterval
    }

    /** How far back is looked. */
    get history() {
        return this.hello?.history || defaultHistory
    }

    // MARK: The fold

    /** Folds one line in, a string without its newline; false when it is none. */
    apply(text) {
        const line = readLine(text)
        if (line !== null) this.fold(line)
        return line !== null
    }

    /** Folds in what `readLine` read. */
    fold(line) {
        if (line.kind === "hello") this.#hello(line.body)
        else if (line.kind === "stats") this.#list(line.body, line.time)
        else if (line.kind === "gap") this.#miss(line.body, line.time)
        else if (line.kind === "bye") this.bye = line.body
        if (line.seq === null) {
            this.clock = line.time
            if (line.kind === "kept") this.#recall(line.body)
            return
        }
        if (!this.#advance(line.seq, line.time)) return
        this.clock = line.kind === "data" || line.agent !== null ? Math.max(this.clock ?? line.time, line.time) : line.time
        if (line.agent !== null) this.#noteAgent(line, line.agent)
        this.alerts.greeted = null
        this.#chart(line, line.source ?? "")
        this.#body(line, line.source ?? "")
        this.lines.append(boardLine(line))
    }

    /** Rules 4 and 10: what a line says of its series, or of an alert. */
    #chart({ seq, time, kind, body, agent, isForwarded }, source) {
        if (kind === "data") this.#plot(body.value, time, seq, this.#take(body, source, time, seq))
        if (kind === "latency") this.#plot(body.ms, time, seq, this.#seriesIndex(`latency:${source}`, source))
        if (kind === "progress" && body.items !== null) this.#plot(body.items, time, seq, this.#seriesIndex(`count:${source}`, source))
        if (kind === "memory") this.#plot(body.resident, time, seq, this.#seriesIndex(`memory:${source}`, source))
        if (kind === "alert") this.alerts.take(body, isForwarded ? agent : null, seq)
    }

    #body({ seq, time, kind, body, agent }, source) {
        let from
        switch (kind) {
            case "data":
                from = this.#source(source, time)
                if (from === null) return
                this.#answer(from, time, seq)
                from.hasNewData = true
                from.events += 1
                from.newest = time
                if (seq > this.#state.statsAsOf) from.valuePointer = body.valuePointer ?? from.valuePointer
                break
            case "latency":
                this.#time(body, source, time)
                from = this.#source(source, time)
                if (from === null) return
                if (body.status === 304) from.confirmed = time
                if (body.status === 304 || from.hasNewData) this.#answer(from, time, seq)
                from.hasNewData = false
                break
            case "memory":
                from = this.describedSource(source)
                if (from?.state === "starting") this.#enter("ok", from, time, seq)
                if (agent !== null) return
                this.memory.append({ time, source: cutPoints(source, longestCode), ...body })
                break
            case "window":
                this.#keep(body, source)
                break
            case "error":
                this.#fail(body, source, time, seq)
                break
            case "progress":
                for (const key of body.gone) {
                    const gone = this.series[this.seriesNamed(`${source}/${key}`)]
                    if (gone !== undefined) gone.goneAt = time
                }
                from = this.#source(source, time)
                if (from === null) return
                this.#answer(from, time, seq)
                from.progress = { ...body, gone: null }
                break
            case "recovered":
                from = this.#source(source, time)
                if (from === null) return
                this.#enter("ok", from, time, seq)
                from.outage = { end: time, ...body }
                break
            case "agent":
                body = { ...body, outputs: body.outputs.slice(0, this.limits.outputs) }
                from = agent === null ? this : this.#source(source, time)
                if (from !== null) from.agent = body
                break
            case "peer":
                if (agent !== null && body.state === "forgotten") this.alerts.removeAll(agent)
                break
            default:
        }
    }

    /** Rule 9: a line from before those that the reader gets. */
    #recall({ run, line }) {
        if (run !== this.hello?.run || line.seq === null || line.seq >= this.hello.nextSeq) return
        this.#chart(line, line.source ?? "")
        if (line.kind === "rows") for (const window of line.body) this.#keep(window, line.source ?? "")
        const known = line.kind === "data" ? this.describedSource(line.source) : null
        if (known !== null) known.newest = Math.max(known.newest ?? line.time, line.time)
    }

    /** Rule 1: a connection begins. */
    #hello(hello) {
        if (this.hello !== null && this.hello.run !== hello.run) {
            this.runChanges += 1
            this.#begin()
        }
        this.hello = hello
        this.bye = null
        this.alerts.greeted = this.alerts.changes
    }

    /** Rule 2: whether a numbered line is new; if so its number is the last one now. */
    #advance(sequence, time) {
        if (sequence <= this.lastSequence) return false
        if (this.#state.isRunning && this.hello?.filtered !== true && sequence > this.lastSequence + 1) {
            this.#note(this.lastSequence + 1, sequence - 1, "hole", time)
        }
        this.#state.isRunning = true
        this.lastSequence = sequence
        return true
    }

    /** Rule 2: a gap line. */
    #miss({ from, to, reason }, time) {
        if (to <= this.lastSequence) return
        this.#note(Math.max(from, this.lastSequence + 1), to, reason ?? "", time)
        this.lastSequence = to
        this.#state.isRunning = true
    }

    #note(from, to, reason, time) {
        this.gaps.append({ from, to, reason: cutPoints(reason, longestText), time })
        this.gapCount += 1
        this.alerts.doubt()
        this.missed += to - from + 1
    }

    /** Rule 4: an event of a series; gives the series' index, null when it is refused one. */
    #take(data, source, time, sequence) {
        const index = this.#seriesIndex(data.series, source)
        if (index === null) return null
        const series = this.series[index]
        series.events += 1
        series.goneAt = null
        const old = series.event
        const text = data.text === null ? null : cutPoints(data.text, longestText)
        const event = { time, sequence, value: data.value, word: data.word, since: data.since, text, data: null, isCut: data.truncated }
        if (old !== null && isLater(old, event)) return index
        if (data.data !== null) {
            if (data.data.length <= this.limits.dataPerEvent && utf8Length(data.data) <= this.limits.dataPerEvent) {
                event.data = own(data.data)
            } else {
                event.isCut = true
                this.dataLeftOut += 1
            }
        }
        series.event = event
        // A word that nobody knows is a text without a value: the one before holds until there is a number.
        if (event.value !== null) series.lastWord = event.word
        return index
    }

    /** Rule 4: a value of a series, if there are both. */
    #plot(value, time, sequence, index) {
        if (value === null || index === null) return
        const point = { time, value, sequence }
        const series = this.series[index]
        series.count += 1
        if (series.newest === null || isLater(point, series.newest)) series.newest = point
        const expiry = this.#expiry(time, series.span)
        if (time <= expiry) return
        const { points } = series
        while (points.count > 0 && points.time(0) <= expiry) points.removeFirst()
        if (points.append(point, this.#room.points)) series.isTrimmed = true
    }

    /** What is not later than this is past a history; `time` is the line's, for want of a clock. */
    #expiry(time, { history }) {
        return (this.clock ?? time) - history
    }

    /** Rule 5: a window of a series. */
    #keep(line, source) {
        const index = this.#seriesIndex(line.series, source)
        if (index === null) return
        const { start, width, last, count, minimum, maximum, mean, isKept } = line
        const band = line.band && cutBytes(line.band, longestWord)
        const trend = line.trend && cutBytes(line.trend, longestWord)
        const window = { start, width, last, count, minimum, maximum, mean, band, trend }
        const series = this.series[index]
        if (series.windows.length > 0 && series.windows[0].width !== width) {
            // A kept one says nothing new.
            if (isKept) return
            this.#windowCount -= series.windows.length
            series.windows = []
        }
        const { windows } = series
        let place = windows.length
        while (place > 0 && windows[place - 1].start > start) place -= 1
        if (place > 0 && windows[place - 1].start === start) {
            if (!isKept) windows[place - 1] = window
            return
        }
        windows.splice(place, 0, window)
        const before = windows.length - 1
        const past = this.#expiry(start, series.span)
        while (windows.length > 1 && windows[0].start + windows[0].width <= past) windows.shift()
        const all = this.#windowCount + windows.length - before
        if (windows.length > this.limits.windowsPerSeries || (windows.length > 1 && all > this.limits.windows)) windows.shift()
        this.#windowCount += windows.length - before
    }

    /** Rules 6 and 7: the base of endpoints and sources, unless it is older than what is here. */
    #list(stats, time) {
        if (stats.asOf < this.lastSequence) return
        this.#rebase(stats.asOf, stats.endpoints)
        this.moreEndpoints = stats.moreEndpoints
        this.moreSources = stats.moreSources
        for (const source of this.sources) describe(source, undescribed, false)
        const order = []
        for (const status of stats.sources) {
            const known = this.sources.length
            const source = this.#source(status.source, status.since ?? time)
            if (source === null) continue
            if (source.index >= known || !source.isListed) order.push(source)
            describe(source, status)
            this.#enter(status.state, source, status.since ?? time, Infinity)
            source.since = status.since ?? source.since
            source.answered = status.answered ?? source.answered
            if (status.failure !== null) this.#because(status.failure, source)
            if (isWhole(status)) source.asOf = stats.asOf
        }
        this.sourceOrder = [...order, ...this.sources.filter(source => !source.isListed)]
        for (const series of this.series) series.span = this.#span(series.source)
    }

    /** Rule 5: how wide the windows of a source's series are, and for how long they and the points are kept: see WindowSpan. */
    #span(source) {
        const { interval } = this
        const history = this.hello?.history ?? defaultHistory
        const period = this.describedSource(source)?.rhythm.period ?? 0
        if (period <= interval) return { width: interval, history }
        const width = Math.ceil(Math.min(period, day) / 1e6) * 1e6
        return { width, history: width * Math.min(Math.max(Math.floor(history / interval), 1), 120) }
    }

    /** Rule 6: the base of all endpoints. */
    #rebase(asOf, said) {
        const known = this.endpoints
        const places = this.#state.endpointsByName
        this.endpoints = []
        this.#state.endpointsByName = new Map()
        this.#state.statsAsOf = asOf
        for (const { endpoint: name, source, summary } of said) {
            if (this.#state.endpointsByName.has(endpointKey(name, source))) continue
            const index = this.#endpointIndex(name, source)
            if (index === null) continue
            const endpoint = this.endpoints[index]
            const old = known[places.get(endpointKey(name, source))]
            endpoint.newest = old?.newest ?? null
            endpoint.newestTime = old?.newestTime ?? null
            endpoint.summary = summary
        }
    }

    /** Takes over newer counts and times of endpoints than those of the stream's `stats` line. */
    summarize(said) {
        for (const { endpoint, source, summary } of said) {
            const known = this.endpoints[this.#state.endpointsByName.get(endpointKey(endpoint, source))]
            if (known !== undefined) known.summary = summary
        }
    }

    /** Rule 6: the newest request; the agent counts them. */
    #time(sample, source, time) {
        const index = this.#endpointIndex(sample.endpoint, source)
        if (index === null) return
        const endpoint = this.endpoints[index]
        endpoint.newest = sample
        endpoint.newestTime = time
    }

    /** Rules 6 and 7: an error. */
    #fail(failure, name, time, sequence) {
        if (sequence > this.#state.statsAsOf && failure.endpoint !== null) this.#endpointIndex(failure.endpoint, name)
        const source = this.#source(name, time)
        if (source === null) return
        this.#enter("failing", source, time, sequence)
        source.errors += 1
        const expiry = this.#expiry(time, this.#span(name))
        if (time > expiry) {
            while (source.errorMarks.first?.time <= expiry) source.errorMarks.removeFirst()
            source.errorMarks.append({ time, sequence, code: cutPoints(failure.code, longestCode) }, this.#room.errors)
        }
        const retryAt = failure.retryIn === null ? null : time + failure.retryIn
        if (sequence > source.asOf) this.#because({ ...failure, retryAt }, source)
    }

    /** Rule 7: a source's good answer. */
    #answer(source, time, sequence) {
        this.#enter("ok", source, time, sequence)
        if (sequence > source.asOf) source.answered = this.clock
    }

    /** Rule 7: why a source fails. */
    #because(failure, source) {
        const code = cutPoints(failure.code, longestText)
        const message = failure.message && cutPoints(failure.message, longestText)
        source.failure = { ...failure, code, message }
    }

    /** Rule 7: a source comes into a state by a line that its state does not include. */
    #enter(state, source, time, sequence) {
        if (sequence <= source.asOf) return
        if (source.state !== state) {
            source.state = state
            source.since = time
        }
        if (state !== "failing") source.failure = null
    }

    /** Rule 8: a line about an agent. */
    #noteAgent({ kind, body, isForwarded }, name) {
        if (kind === "peer" && body.state === "forgotten") {
            this.#removeAgents(agent => agent.name === name)
            return
        }
        const agent = this.#agent(name)
        if (agent === null) {
            this.refusedAgents += 1
            return
        }
        agent.told = this.clock
        if (isForwarded) agent.hear(this.clock)
        if (kind === "peer") agent.take(body)
        else if (kind === "lost") agent.lost += body.to - body.from + 1
    }

    #agent(name) {
        const { agentsByName } = this.#state
        const known = agentsByName.get(name)
        if (known !== undefined) return known
        if (!isAgentName(name)) return null
        if (this.agents.length >= this.limits.agents && this.clock >= this.#state.agentsKeptUntil) {
            this.#removeAgents(({ told }) => this.clock - told >= day)
            this.#state.agentsKeptUntil = this.agents.reduce((least, { told }) => Math.min(least, told), Infinity) + day
        }
        if (this.agents.length >= this.limits.agents) return null
        const agent = new ShownAgent(name)
        this.agents.push(agent)
        agentsByName.set(name, agent)
        return agent
    }

    #removeAgents(isGone) {
        for (const agent of this.agents) if (isGone(agent)) this.#state.agentsByName.delete(agent.name)
        this.agents = this.agents.filter(agent => !isGone(agent))
    }

    // MARK: Names

    #seriesIndex(name, source) {
        const index = this.#state.seriesByName.get(name)
        if (index !== undefined) return index
        if (this.series.length >= this.limits.series || !areNames(name, source)) {
            this.refusedSeries += 1
            return null
        }
        const kind = seriesKind(name)
        this.series.push({
            name, source, kind, newest: null, event: null, lastWord: null, goneAt: null, events: 0, count: 0, windows: [],
            points: new PointRing(this.limits.pointsPerSeries), isTrimmed: false, span: this.#span(source),
        })
        this.#state.seriesByName.set(name, this.series.length - 1)
        return this.series.length - 1
    }

    #endpointIndex(name, source) {
        const key = endpointKey(name, source)
        const index = this.#state.endpointsByName.get(key)
        if (index !== undefined) return index
        if (this.endpoints.length >= this.limits.endpoints || !areNames(name, source)) {
            this.refusedEndpoints += 1
            return null
        }
        this.endpoints.push({ name, source, summary: null, newest: null, newestTime: null })
        this.#state.endpointsByName.set(key, this.endpoints.length - 1)
        return this.endpoints.length - 1
    }

    /** The source of a name, a new one if need be; null when it is refused. */
    #source(name, time) {
        const known = this.describedSource(name)
        if (known !== null) return known
        if (this.sources.length >= this.limits.sources || !areNames(name)) {
            this.refusedSources += 1
            return null
        }
        const index = this.sources.length
        const source = { name, index, state: "starting", since: time, failure: null, progress: null, events: 0, errors: 0 }
        Object.assign(source, { newest: null, confirmed: null, answered: null, hasNewData: false, agent: null, outage: null, errorMarks: new Ring(this.limits.errorsPerSource) })
        describe(source, undescribed)
        this.sources.push(source)
        this.sourceOrder.push(source)
        this.#state.sourcesByName.set(name, index)
        return source
    }
}

const areNames = (...names) => names.every(name => utf8Length(name) <= longestName)

/** What fires: rule 10. */
class Alerts {
    #limits
    #byKey = new Map()
    #bySubject = new Map()
    /** What changed up to here may be over. */
    #doubted = 0
    /** What had changed when the newest connection began; null behind its first numbered line. */
    greeted = null
    changes = 0
    refused = 0

    constructor(limits) {
        this.#limits = limits
    }

    /** In the order in which they began; an alert is the same object until it is over. */
    get all() {
        return this.#byKey.values()
    }

    get count() {
        return this.#byKey.size
    }

    /** The alerts about a series, source or agent, in their order. */
    about(subject) {
        return this.#bySubject.get(subject) ?? []
    }

    /** Whether lines are missing behind an alert's newest one. */
    isDoubtful({ change }) {
        return change <= this.#doubted
    }

    take({ state, ...said }, agent, sequence) {
        const { condition, about, evidence } = said
        const key = JSON.stringify([agent, condition, about])
        const known = this.#byKey.get(key)
        if (sequence > 0 && sequence < known?.sequence) return
        if (!firingStates.has(state)) {
            if (known !== undefined) this.#remove(known)
            return
        }
        const cut = { run: cutPoints(evidence.run, longestWord) }
        for (const part of ["severity", "id"]) cut[part] = said[part] && cutPoints(said[part], longestWord)
        for (const part of ["text", "test", "note"]) cut[part] = said[part] && cutPoints(said[part], longestText)
        const alert = { ...said, ...cut, key, agent, sequence, evidence: { ...evidence, run: cut.run } }
        const isFull = known === undefined && this.count >= this.#limits.alerts
        if (isFull || !areNames(condition, about) || (agent !== null && !isAgentName(agent))) {
            this.refused += 1
            return
        }
        this.changes += 1
        alert.change = this.changes
        if (known !== undefined) {
            Object.assign(known, alert)
            return
        }
        // As this feed names it: series and sources of an agent of a fleet have that agent's name.
        alert.subject = agent === null ? about : about.replace(/^(latency:|memory:|count:|)/, `$1${agent}.`)
        this.#byKey.set(key, alert)
        this.#bySubject.set(alert.subject, [...this.about(alert.subject), alert])
    }

    doubt() {
        this.#doubted = this.greeted ?? this.changes
        this.changes += 1
    }

    removeAll(agent) {
        for (const alert of this.all) if (alert.agent === agent) this.#remove(alert)
    }

    #remove(alert) {
        this.changes += 1
        this.#byKey.delete(alert.key)
        const rest = this.about(alert.subject).filter(each => each !== alert)
        if (rest.length > 0) this.#bySubject.set(alert.subject, rest)
        else this.#bySubject.delete(alert.subject)
    }
}

/** The states of an alert that fires. */
const firingStates = new Set(["firing", "reminder", "clearing"])

const isAgentName = name => /^[A-Za-z0-9_-]{1,63}$/.test(name)

/** One agent of a fleet. */
class ShownAgent {
    /** The stretch of 10 s in which its newest line came, with how many, and how many came in the one before. */
    #stretch = -Infinity
    #count = 0
    #before = 0

    constructor(name) {
        Object.assign(this, { name, state: null, since: null, heard: null, run: null, version: null, skew: null, lost: 0 })
        this.host = { name: "", device: "", os: "", kernel: "", arch: "" }
        this.told = null
    }

    /** A line came of it. */
    hear(clock) {
        this.heard = Math.max(this.heard ?? clock, clock)
        const now = Math.floor(clock / stretchLength)
        if (now === this.#stretch) {
            this.#count += 1
            return
        }
        this.#before = now === this.#stretch + 1 ? this.#count : 0
        this.#stretch = now
        this.#count = 1
    }

    /** What a `peer` line says. */
    take({ state, since, heard, run, host, app, skew, lost }) {
        const cut = text => cutBytes(text, longestAgentText)
        this.state = cut(state)
        this.since = since
        this.heard = heard ?? this.heard
        this.run = run
        this.host = Object.fromEntries(Object.entries(host).map(([key, text]) => [key, cut(text)]))
        this.version = app.version === null ? null : cut(app.version)
        this.skew = skew
        this.lost = lost
    }

    /** How many lines a second came of it in the last ten, as if those of a stretch had come evenly. */
    rate(now) {
        if (this.#stretch === -Infinity) return 0
        const passed = (now - this.#stretch * stretchLength) / stretchLength
        if (passed >= 2) return 0
        if (passed >= 1) return (this.#count * (2 - passed)) / 10
        return (this.#before * (1 - Math.max(passed, 0)) + this.#count) / 10
    }
}

/** Sources that ask the same endpoint have it counted for each. */
const endpointKey = (name, source) => `${source.length} ${source}${name}`

/** Whether a stats line gives a source's state with its reason, so that older lines have nothing to add. */
const isWhole = ({ state, failure, answered }) => (state === "failing" ? failure : answered) !== null

const undescribed = { type: null, unit: null, bands: null, valuePointer: null, rhythm: { kind: "stream", period: 0 } }

/** Takes over how a stats line says that a source is to be read. */
function describe(source, { type, unit, bands, valuePointer, rhythm }, isListed = true) {
    Object.assign(source, { type: type && cutPoints(type, longestText), unit, bands, valuePointer, rhythm, isListed, asOf: 0 })
}

/** One line as the feed's screen shows it; texts have at most 1,000 code points. */
function boardLine({ seq, time, type, source, kind, body }) {
    const line = {
        sequence: seq, time, type, source: source ?? "", series: null, kind: "data", value: null, word: null, text: null, code: null,
    }
    switch (kind) {
        case "data":
            line.series = body.series
            line.value = body.value
            line.word = body.word
            line.text = body.text
            break
        case "latency":
            line.kind = "latency"
            line.value = body.ms
            line.text = body.endpoint
            break
        case "memory":
            line.kind = "memory"
            line.value = body.resident
            break
        case "window":
            line.series = body.series
            line.value = body.last
            break
        case "error":
            line.text = body.message
            line.code = body.code
            break
        case "progress":
            line.value = body.done
            break
        case "recovered":
            line.value = (body.down * 1000) / 1e9
            break
        case "lost":
            line.value = body.to - body.from + 1
            break
        case "peer":
            line.text = body.state
            break
        case "alert":
            line.value = body.value
            line.text = body.condition
            line.code = body.state
            break
        case "clock":
            line.value = body.step
            break
        case "restart":
            line.value = body.lastSequence
            line.text = body.lastRun
            line.code = body.ended
            break
        default:
    }
    if (line.series !== null) line.kind = seriesKind(line.series)
    for (const key of ["type", "source", "series", "text", "code"]) line[key] &&= cutPoints(line[key], longestText)
    return line
}
