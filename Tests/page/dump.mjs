// The state of a board as Tests/Vectors/board has it: the same as `Board.vectorState` in Swift.
import { isStale } from "../../Sources/Page/Files/board.mjs"

/** The bounds of a vector's `limits`, whose names are written with underscores. */
export function limitsOf(given = {}) {
    const name = (key) => key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
    return Object.fromEntries(Object.entries(given).map(([key, limit]) => [name(key), limit]))
}

const window = (w) => ({
    start: w.start, width: w.width, last: w.last, count: w.count, min: w.minimum, max: w.maximum, mean: w.mean,
    band: w.band, trend: w.trend,
})

const point = (p) => [p.time, p.value, p.sequence]

function series(board, index, width, from, to) {
    const { name, source, count, newest, events, event, goneAt, windows, isTrimmed } = board.series[index]
    const points = board.points(index)
    const all = Array.from({ length: points.count }, (_, k) => [points.time(k), points.value(k), points.sequence(k)])
    const said = event && [event.time, event.sequence, event.value, event.text, event.data, event.isCut, ...(event.word === null ? [] : [event.word, event.since])]
    return {
        name, source, count, events, newest: newest && point(newest), event: said, trimmed: isTrimmed,
        ...(goneAt !== null && { gone: goneAt }),
        points: all, window_lines: windows.map(window), windows: board.windows(index, width, from, to).map(window),
    }
}

const endpoint = ({ name, source, newest, newestTime }) => ({
    name, source, newest_ms: newest?.ms ?? null, newest_status: newest?.status ?? null, newest_time: newestTime,
})

const failure = (said) => ({
    code: said?.code ?? null, message: said?.message ?? null, attempt: said?.attempt ?? null, retry_at: said?.retryAt ?? null,
})

function source(board, index) {
    const s = board.sources[index]
    const bands = s.bands && [s.bands.bands.map((b) => [b.name, b.letter, b.color, b.upTo]), s.bands.higherIsBetter]
    return {
        name: s.name, state: s.state, since: s.since, ...failure(s.failure),
        progress: s.progress && [s.progress.done, s.progress.total, s.progress.page],
        listed: s.isListed, type: s.type, unit: s.unit, bands, events: s.events, errors: s.errors, newest: s.newest,
        ...(s.answered !== null && { answered: s.answered }),
        error_marks: [...board.errors(index)].map((e) => [e.time, e.sequence, e.code]),
        ...(s.valuePointer !== null && { value_pointer: s.valuePointer }),
        ...(s.agent && { agent_events: s.agent.events }),
        ...(s.outage && { outage: [s.outage.end, s.outage.down, s.outage.attempts] }),
        ...(s.rhythm.kind === "every" && { every_us: s.rhythm.period }),
        ...(s.rhythm.kind === "once" && { runs_once: true }),
    }
}

const dumpAgent = (agent, now) => {
    const { name, state, since, heard, run, host, version, skew, lost } = agent
    const texts = [host.name, host.device, host.os, host.kernel, host.arch]
    return { name, state, since, heard, run, host: texts, version, skew, lost, rate: agent.rate(now) }
}

const dumpAlert = (board, { agent, condition, about, subject, severity, id, since, value, text, test, limit, note, ...alert }) => {
    const { run, from, to } = alert.evidence
    return {
        agent, condition, about, subject, severity, id, since, value, text, test, limit: limit && [limit.op, limit.value, ...(limit.upper === null ? [] : [limit.upper])], note, evidence: [run, from, to],
        ...(board.alerts.isDoubtful(alert) && { doubtful: true }),
    }
}

export function dump(board, width, from, to) {
    return {
        run: board.hello?.run ?? null, run_changes: board.runChanges, last_seq: board.lastSequence, clock: board.clock,
        bye: board.bye && (board.bye.reason ?? ""),
        series: board.series.map((_, index) => series(board, index, width, from, to)),
        refused: { series: board.refusedSeries, endpoints: board.refusedEndpoints, sources: board.refusedSources },
        endpoints: board.endpoints.map(endpoint), sources: board.sources.map((_, index) => source(board, index)),
        ...(board.sourceOrder.some((each, place) => each !== board.sources[place]) && { source_order: board.sourceOrder.map((s) => s.name) }),
        data_left_out: board.dataLeftOut,
        memory: [...board.memory].map((m) => [m.time, m.source, m.resident, m.peak, m.privateBytes]),
        agent_events: board.agent?.events ?? null,
        lines: [...board.lines].map((l) => ({
            seq: l.sequence, time: l.time, type: l.type, source: l.source, series: l.series, value: l.value, text: l.text,
            code: l.code,
        })),
        gaps: [...board.gaps].map((g) => [g.from, g.to, g.reason, g.time]), gap_count: board.gapCount, missed: board.missed,
        ...(board.agents.length + board.refusedAgents > 0 && {
            agents: board.agents.map(agent => dumpAgent(agent, to)), refused_agents: board.refusedAgents,
        }),
        ...(board.alerts.count + board.alerts.refused > 0 && {
            alerts: [...board.alerts.all].map(alert => dumpAlert(board, alert)), refused_alerts: board.alerts.refused,
        }),
        ...(board.moreEndpoints + board.moreSources > 0 && { more: [board.moreEndpoints, board.moreSources] }),
    }
}

/** Of each source of which something came its name, and whether that is stale at each time. */
export function dumpStale(board, times, width) {
    return board.sources.filter((s) => s.answered !== null)
        .map((s) => [s.name, ...times.map((now) => isStale(s, s.answered, now, width))])
}
