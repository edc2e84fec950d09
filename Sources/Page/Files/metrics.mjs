// How it is going: the agents of a fleet, endpoints and their latencies, the machine, its memory, and the agent.

import { agentLook, agentTexts, isSkewed, refusedText, shownAgents } from "./agents.mjs"
import { alertsByAgent } from "./alerts.mjs"
import { element, setAttribute, setClass, setText, svg, visible } from "./dom.mjs"
import { clock, length, milliseconds, processorTime, quantity, uptime } from "./format.mjs"
import { createSparkline } from "./sparkline.mjs"
import { fetchGreeting } from "./stream.mjs"

const phases = ["dns", "connect", "tls", "wait", "receive"]

/** What tables say of an endpoint's `summary`; percentiles of few calls tell nothing. */
export const columns = [
    { name: "n", title: "calls", read: ({ count }) => count },
    { name: "err", title: "errors", read: ({ errors }) => errors },
    { name: "last", read: ({ last }) => last },
    { name: "mean", read: ({ mean }) => mean },
    { name: "p50", read: ({ p50 }) => p50 },
    { name: "p95", read: ({ p95, count }) => count < 20 ? null : p95 },
    { name: "p99", read: ({ p99, count }) => count < 100 ? null : p99 },
    { name: "max", read: ({ maximum }) => maximum },
]

/** What a column says of an endpoint: times as milliseconds, `–` where there is none to tell. */
export function columnText({ name, read }, summary) {
    const value = summary && read(summary)
    if (name === "n" || name === "err") return value === null ? "–" : String(value)
    return value === null || summary.count === 0 ? "–" : milliseconds(value)
}

/** Endpoints in an order: by name, by a column from the greatest on, or (`worst`) by how ill they are. */
export function sorted(endpoints, order, isFailing) {
    const column = columns.find(each => each.name === order)
    const ranks = ({ summary, source }) => {
        if (order === "name") return []
        if (column) return [summary?.count > 0 || (order === "err" && summary) ? column.read(summary) ?? -1 : -1]
        const { count, errors, p95, maximum } = summary ?? { count: 0, errors: 0, maximum: -1 }
        return [isFailing(source) ? 1 : 0, errors > 0 ? errors / (count + errors) : 0, count < 20 ? maximum : p95]
    }
    const text = ({ name, source }) => `${name} ${source}`
    return endpoints.map(endpoint => ({ endpoint, ranks: ranks(endpoint) })).sort((a, b) => {
        const place = a.ranks.findIndex((rank, index) => rank !== b.ranks[index])
        return place < 0 ? (text(a.endpoint) < text(b.endpoint) ? -1 : 1) : b.ranks[place] - a.ranks[place]
    }).map(({ endpoint }) => endpoint)
}

/** Where the parts of a request lie on a bar, `{name, ms, start, share}` from 0 to 1; those that took no time are left out. */
export function phaseParts(sample) {
    const total = phases.reduce((sum, name) => sum + Math.max(sample[name], 0), 0)
    let start = 0
    return phases.filter(name => sample[name] > 0).map(name => {
        const part = { name, ms: sample[name], start, share: sample[name] / total }
        start += part.share
        return part
    })
}

const agentColumns = [
    { name: "state" }, { name: "age", title: "since something came last" }, { name: "alerts", title: "that fire" },
    { name: "rate", title: "lines a second" },
    { name: "skew", title: "how far its clock is ahead, less than 0 behind" }, { name: "lost", title: "lines that are lost" },
    { name: "host" }, { name: "system" }, { name: "version" },
]

/** How often the agent is asked, in milliseconds. */
const pace = 2_000

// Endpoints and agents in the page's tables: 200, and 200 more by a button; counted on the button.
const pageSize = 200

export function create(context) {
    // MARK: Agents

    const agentHead = element("thead", { role: "rowgroup" }, element("tr", { role: "row" },
        element("th", { scope: "col", role: "columnheader" }, "agent"),
        ...agentColumns.map(({ name, title }) =>
            element("th", { scope: "col", role: "columnheader", class: "of-" + name, title: title ?? null }, name === "rate" ? "lines/s" : name))))
    const agentBody = element("tbody", { role: "rowgroup" })
    const agentTable = element("table", { role: "table", class: "agents", "aria-labelledby": "agents-title" }, agentHead, agentBody)
    const agentCount = element("span", { class: "muted" })
    const agentFilter = element("input", {
        id: "agent-filter", type: "search", class: "filter", placeholder: "name or host", maxlength: 100,
        oninput: () => { mostAgents = pageSize; sort() },
    })
    const noAgents = element("p", { class: "muted" }, "none is called so, nor on a machine called so")
    const moreAgents = element("button", { type: "button", hidden: true, onclick: () => { mostAgents += pageSize; sort() } })
    const refusedAgents = element("p", { class: "muted" })
    const fleet = element("section", { class: "panel wide", hidden: true },
        element("header", { class: "panel-head" },
            element("h3", { id: "agents-title" }, "Agents ", agentCount),
            element("label", { for: "agent-filter" }, "filter"), agentFilter),
        agentTable, noAgents, moreAgents, refusedAgents)

    // MARK: Endpoints

    const titles = columns.map(column =>
        element("th", { scope: "col", role: "columnheader", title: column.title ?? null }, column.name))
    const head = element("thead", { role: "rowgroup" }, element("tr", { role: "row" },
        element("th", { scope: "col", role: "columnheader" }, "endpoint"), ...titles,
        element("th", { scope: "col", role: "columnheader", class: "spark" }, "latency")))
    const table = element("table", { role: "table", class: "endpoints", "aria-labelledby": "endpoints-title" }, head)
    const orders = [["worst", "worst first"], ["name", "name"], ...columns.map(({ name, title }) => [name, title ?? name])]
    const order = element("select", { id: "endpoint-order", onchange: () => sort() },
        ...orders.map(([value, text]) => element("option", { value }, text)))
    const legend = element("p", { class: "legend" }, "newest call: ", ...phases.flatMap(name =>
        [element("span", { class: "phase" }, element("i", { class: "swatch phase-" + name }), name), " "]))
    const noEndpoints = element("p", { class: "muted" }, "none was called yet")
    const moreButton = element("button", { type: "button", hidden: true, onclick: () => { most += pageSize; sort() } })
    const left = element("p", { class: "muted" })
    const endpoints = element("section", { class: "panel wide" },
        element("header", { class: "panel-head" },
            element("h3", { id: "endpoints-title" }, "Endpoints", element("span", { class: "muted" }, " in ms")), legend,
            element("label", { for: "endpoint-order" }, "order"), order),
        table, noEndpoints, moreButton, left)

    // MARK: The rest

    const panel = (title, ...content) => element("section", { class: "panel" }, element("h3", {}, title), ...content)
    const machine = facts(["host", "device", "system", "kernel", "program", "up"])
    const memory = element("div", { class: "memories" })
    const agent = facts(["events", "series", "readers", "gaps", "late", "refused", "loop lag", "cpu"])
    const untold = element("p", { class: "muted" }, "not told yet")
    const outputs = element("ul", { class: "outputs" })
    const gapTitle = element("p")
    const gaps = element("ul")
    const gapPanel = panel("Missed here", gapTitle, gaps)
    const outages = element("ul")
    const outagePanel = panel("Outages that are over", outages)
    const root = element("section", { class: "metrics", "aria-labelledby": "metrics-title" },
        element("h2", { id: "metrics-title", class: "visually-hidden" }, "Metrics"), fleet, endpoints,
        element("div", { class: "panels" }, panel("Machine", machine.element), panel("Memory", memory),
            panel("Agent", agent.element, untold, outputs), gapPanel, outagePanel))

    let most = pageSize
    let mostAgents = pageSize
    /** What is shown of agents, by their names in their order. */
    let agentRows = new Map()
    let agentsSortedAt = -Infinity
    /** The board's endpoints, by source and name. */
    let known = { list: null, count: 0, byKey: new Map() }
    /** What is shown of them, in its order. */
    let rows = new Map()
    let sortedAt = -Infinity
    let askedAt = -Infinity
    let memories = []
    const keys = {}

    function isNew(part, value) {
        if (keys[part] === value) return false
        keys[part] = value
        return true
    }

    function sort() {
        sortedAt = -Infinity
        agentsSortedAt = -Infinity
        context.invalidate()
    }

    function update(board, now) {
        drawAgents(board, now)
        drawEndpoints(board, now)
        drawMachine(board, now)
        drawMemory(board)
        drawAgent(board)
        drawGaps(board, now)
        drawOutages(board, now)
    }

    function drawAgents(board, now) {
        const { agents } = board
        fleet.hidden = agents.length === 0 && board.refusedAgents === 0
        if (fleet.hidden) return
        setText(refusedAgents, refusedText(board.refusedAgents))
        const isHeld = agentTable.matches(":hover") && agentsSortedAt !== -Infinity
        if (!isHeld && Math.abs(now - agentsSortedAt) >= 1e6) {
            agentsSortedAt = now
            arrangeAgents(agents)
        }
        // A name that is forgotten and comes back is another agent of the board.
        const known = new Map(agents.map(agent => [agent.name, agent]))
        const alerts = alertsByAgent(board)
        setClass(agentTable, "alerted", alerts.size > 0)
        for (const [name, row] of agentRows) {
            const agent = known.get(name)
            if (agent !== undefined) row.update(board, agent, now, alerts.get(name) ?? 0)
        }
    }

    function arrangeAgents(agents) {
        const all = shownAgents(agents, agentFilter.value)
        const shown = all.slice(0, mostAgents)
        const old = agentRows
        agentRows = new Map(shown.map(({ name }) => [name, old.get(name) ?? makeAgentRow(name)]))
        for (const [name, row] of old) if (!agentRows.has(name)) row.element.remove()
        let next = agentBody.firstElementChild
        for (const { element } of agentRows.values()) {
            if (next === element) next = next.nextElementSibling
            else agentBody.insertBefore(element, next)
        }
        setText(agentCount, all.length === agents.length ? String(all.length) : `${all.length} of ${agents.length}`)
        agentTable.hidden = all.length === 0
        noAgents.hidden = all.length > 0 || agents.length === 0
        moreAgents.hidden = all.length <= mostAgents
        setText(moreAgents, `show more: ${all.length - mostAgents} agents are left`)
    }

    function makeAgentRow(name) {
        const title = element("th", { scope: "row", role: "rowheader" }, visible(name))
        const cells = agentColumns.map(({ name }) => element("td", { role: "cell", class: "of-" + name, "data-label": name }))
        const row = element("tr", { role: "row" }, title, ...cells)
        const place = Object.fromEntries(agentColumns.map(({ name }, index) => [name, cells[index]]))

        function update(board, agent, now, alerts) {
            const texts = { ...agentTexts(agent, now), alerts: alerts > 0 ? `✕ ${alerts}` : "0" }
            for (const { name } of agentColumns) setText(place[name], visible(texts[name]))
            setAttribute(row, "class", "is-" + agentLook(agent))
            setClass(place.skew, "warning", isSkewed(agent, board.interval))
            setClass(place.lost, "bad", agent.lost > 0)
            setClass(place.alerts, "bad", alerts > 0)
            const message = board.describedSource(agent.name + ".catwatch")?.failure?.message
            setAttribute(row, "title", agentLook(agent) === "bad" && message ? visible(message) : null)
        }
        return { element: row, update }
    }

    const keyOf = ({ source, name }) => `${source.length} ${source}${name}`

    /** The agent counts requests and says how long they took, when it is asked. */
    async function ask(board) {
        if (context.isSnapshot || context.isPaused || performance.now() - askedAt < pace) return
        askedAt = performance.now()
        try {
            const [, stats] = await fetchGreeting()
            board.summarize(stats.body.endpoints)
            context.invalidate()
        } catch {
            // What is known stands until the agent answers.
        }
    }

    function drawEndpoints(board, now) {
        ask(board)
        // A board has another array after each summary, and one that only grows until then.
        const isSame = known.list === board.endpoints && known.count === board.endpoints.length
        if (!isSame) {
            const { endpoints } = board
            known = { list: endpoints, count: endpoints.length, byKey: new Map(endpoints.map(each => [keyOf(each), each])) }
        }
        // Rows that are looked at, or come again and again to the same place, stay where they are for a while.
        const isHeld = table.matches(":hover, :focus-within") && sortedAt !== -Infinity
        if (!isSame || (!isHeld && Math.abs(now - sortedAt) >= 5e6)) {
            sortedAt = now
            arrange(board)
        }
        for (const [key, row] of rows) row.update(board, known.byKey.get(key))
        table.hidden = board.endpoints.length === 0
        noEndpoints.hidden = board.endpoints.length > 0 || board.moreEndpoints > 0
        moreButton.hidden = board.endpoints.length <= most
        setText(moreButton, `show more: ${board.endpoints.length - most} endpoints are left`)
        const count = board.moreEndpoints
        setText(left, count === 0 ? ""
            : `${count} more ${count === 1 ? "endpoint" : "endpoints"}, for which the agent's summary had no room`)
    }

    function arrange(board) {
        const isFailing = source => board.describedSource(source)?.state === "failing"
        const shown = sorted(board.endpoints, order.value, isFailing).slice(0, most)
        const old = rows
        rows = new Map(shown.map(endpoint => {
            const key = keyOf(endpoint)
            return [key, old.get(key) ?? makeRow(endpoint)]
        }))
        for (const [key, row] of old) if (!rows.has(key)) row.element.remove()
        let previous = head
        for (const { element } of rows.values()) {
            if (previous.nextElementSibling !== element) previous.after(element)
            previous = element
        }
        columns.forEach(({ name }, place) => setAttribute(titles[place], "aria-sort", name === order.value ? "descending" : null))
        setAttribute(head.querySelector("th"), "aria-sort", order.value === "name" ? "ascending" : null)
    }

    function makeRow({ name, source }) {
        const scheme = /^(\S+ )?(http|ws)s?:\/\//.exec(name)?.[0] ?? ""
        const prefix = element("span", { class: "muted" })
        const title = element("th", { scope: "row", role: "rowheader", title: visible(name) },
            prefix, visible(name.slice(scheme.length)))
        const cells = columns.map(column => element("td", { role: "cell", "data-label": column.name }))
        const spark = createSparkline()
        const sparkCell = element("td", { role: "cell", class: "spark" }, spark.element)
        const bar = svg("svg", { class: "phases", viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" })
        const words = element("span", { class: "phase-words" })
        const body = element("tbody", { role: "rowgroup" },
            element("tr", { role: "row" }, title, ...cells, sparkCell),
            element("tr", { role: "row", class: "phase-row" },
                element("td", { role: "cell", colspan: columns.length + 2 }, bar, words)))
        let key
        let sparkKey
        let phaseKey

        function update(board, endpoint) {
            const { summary, newest } = endpoint
            // Which agent it is of may be known later than the endpoint.
            const agent = board.agentOfSource(source)
            setText(prefix, visible(agent === null ? scheme : `${agent} ${scheme}`))
            if (summary !== key) {
                key = summary
                columns.forEach((column, place) => setText(cells[place], columnText(column, summary)))
                setClass(cells[1], "bad", summary?.errors > 0)
            }
            const index = board.seriesNamed("latency:" + source)
            const series = board.series[index]
            const newSparkKey = series ? `${Object.values(context.extent(index))} ${series.newest?.sequence}` : ""
            if (newSparkKey !== sparkKey) {
                sparkKey = newSparkKey
                setClass(sparkCell, "none", !series)
                drawSpark(spark, index)
            }
            if (newest === phaseKey) return
            phaseKey = newest
            drawPhases(bar, words, newest)
        }
        return { element: body, update }
    }

    function drawSpark(spark, index) {
        const { width, lastWindow, windowCount } = context.extent(index)
        spark.update(index === undefined ? [] : context.windows(index), { width, last: lastWindow, count: windowCount, scale: null })
    }

    function drawPhases(bar, words, sample) {
        bar.parentElement.parentElement.hidden = !sample
        if (!sample) return
        const parts = phaseParts(sample)
        bar.replaceChildren(...parts.map(({ name, start, share }) =>
            svg("rect", { class: "phase-" + name, x: start * 100, y: 0, width: share * 100, height: 1 })))
        words.replaceChildren(...parts.flatMap(({ name, ms }) =>
            [element("span", { class: "phase" }, element("i", { class: "swatch phase-" + name }), name + " ", element("b", {}, milliseconds(ms))), " "]),
        element("span", { class: sample.status >= 400 ? "bad" : "muted" },
            `${sample.status}, ${sample.reused ? "reused" : "new connection"}`))
    }

    /** Labels and values, of which a missing one is `–`. */
    function facts(labels) {
        const values = labels.map(() => element("dd", {}, "–"))
        const list = element("dl", { class: "facts" }, ...labels.flatMap((label, place) => [element("dt", {}, label), values[place]]))
        function set(label, text, look = "") {
            const value = values[labels.indexOf(label)]
            setText(value, text === "" ? "–" : text)
            setAttribute(value, "class", look || null)
        }
        return { element: list, set }
    }

    function drawMachine(board, now) {
        const { host, app } = board.hello ?? {}
        const join = (separator, ...parts) => visible(parts.filter(part => part).join(separator))
        machine.set("host", join("", host?.name))
        machine.set("device", join("", host?.device))
        machine.set("system", join("", host?.os))
        machine.set("kernel", join(", ", host?.kernel, host?.arch))
        machine.set("program", join(" ", app?.name, app?.version))
        machine.set("up", app?.started == null ? "" : uptime(Math.max(0, now - app.started)))
    }

    const bytes = count => {
        const { text, unit } = quantity(count, "memory", null)
        return `${text} ${unit}`
    }

    function drawMemory(board) {
        // One line for each process that says how much it holds; the newest of each.
        if (!isNew("memory", `${board.runChanges} ${board.memory.last?.time} ${Object.values(context.extent())}`)) return
        const newest = new Map()
        for (let place = board.memory.count - 1; place >= 0 && newest.size < 8; place--) {
            const sample = board.memory.at(place)
            if (!newest.has(sample.source)) newest.set(sample.source, sample)
        }
        if (memories.map(each => each.source).join("\n") !== [...newest.keys()].join("\n") || memories.length === 0) {
            memories = [...newest.keys()].map(makeMemory)
            memory.replaceChildren(...memories.map(each => each.element))
            if (memories.length === 0) memory.append(element("p", { class: "muted" }, "not told yet"))
        }
        for (const each of memories) {
            const sample = newest.get(each.source)
            setText(each.resident, bytes(sample.resident))
            setText(each.rest, `peak ${bytes(sample.peak)} · private ${bytes(sample.privateBytes)}`)
            drawSpark(each.spark, board.seriesNamed("memory:" + each.source))
        }
    }

    function makeMemory(source) {
        const resident = element("strong")
        const rest = element("span", { class: "muted" })
        const spark = createSparkline()
        const line = element("div", { class: "memory" },
            element("p", {}, element("span", { class: "muted" }, visible(source) + " "), resident, " ", rest), spark.element)
        return { source, element: line, resident, rest, spark }
    }

    function drawAgent(board) {
        const told = board.agent
        untold.hidden = told !== null
        agent.element.hidden = told === null
        if (told === null) outputs.replaceChildren()
        if (told === null || !isNew("agent", told)) return
        const count = (label, number) => agent.set(label, String(number), number > 0 ? "warning" : "")
        for (const name of ["events", "series", "readers"]) agent.set(name, String(told[name]))
        count("gaps", told.gaps)
        count("late", told.late)
        count("refused", told.refusedSeries + told.refusedEndpoints)
        agent.set("loop lag", `${milliseconds(told.loopLag)} ms`)
        agent.set("cpu", processorTime(told.cpu))
        // The page's outputs: 50; first shown.
        outputs.replaceChildren(...told.outputs.slice(0, 50).map(({ output, state, behind }) =>
            element("li", {}, element("span", { class: "muted" }, "output "), visible(output) + " ",
                element("span", { class: state === "ok" ? null : "warning" },
                    visible(state) + (behind > 0 ? `, ${behind} behind` : "")))))
    }

    function drawGaps(board, now) {
        gapPanel.hidden = board.gapCount === 0
        if (!isNew("gaps", `${board.runChanges} ${board.gapCount} ${context.utcOffset(now)}`)) return
        setText(gapTitle, `${board.missed} ${board.missed === 1 ? "line" : "lines"} in ${board.gapCount} ${board.gapCount === 1 ? "gap" : "gaps"}`)
        // The page's gaps: 20; newest shown.
        const newest = [...board.gaps].slice(-20).reverse()
        gaps.replaceChildren(...newest.map(({ from, to, reason, time }) => element("li", {},
            element("span", { class: "muted" }, clock(time, context.utcOffset(now)) + " "),
            `${from === to ? from : `${from} to ${to}`} `, element("span", { class: "warning" }, visible(reason)))))
    }

    function drawOutages(board, now) {
        // The page's outages: 50; newest shown.
        const over = board.sources.filter(source => source.outage).sort((a, b) => b.outage.end - a.outage.end).slice(0, 50)
        outagePanel.hidden = over.length === 0
        if (!isNew("outages", over.map(({ name, outage }) => `${name} ${outage.end}`).join("\n") + context.utcOffset(now))) return
        outages.replaceChildren(...over.map(({ name, outage }) => element("li", {},
            element("span", { class: "muted" }, visible(name) + " "),
            `back at ${clock(outage.end, context.utcOffset(now))} after ${length(outage.down)}, `
                + `${outage.attempts} failed ${outage.attempts === 1 ? "attempt" : "attempts"}`)))
    }

    return {
        element: root,
        update,
        show() { sort() },
        hide() {},
        keys: {
            s: {
                text: "the order of endpoints",
                run() {
                    order.selectedIndex = (order.selectedIndex + 1) % order.options.length
                    sort()
                },
            },
        },
    }
}
