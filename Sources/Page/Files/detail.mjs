// One series: its graph, what its newest event says, and what can be done with it.

import { alertRow, alertsAbout, linesText } from "./alerts.mjs"
import { ValueAxis } from "./axis.mjs"
import { newestTime } from "./board.mjs"
import { element, setAttribute, setClass, setText, visible } from "./dom.mjs"
import { csv, download, fileName, isoTime, json, seriesRows } from "./export.mjs"
import { rowsOf } from "./fields.mjs"
import { age, clock } from "./format.mjs"
import { createGraph, graphModel } from "./graph.mjs"
import { severityOf } from "./order.mjs"
import { setBadgeColor } from "./bands.mjs"
import { PastSeries, columnWidth, earliest, fetchPast, timeOf, windowWidth } from "./past.mjs"
import { pictureAddress, pictureOf } from "./pictures.mjs"
import { nameParts, noteOf, shapes, standing } from "./standing.mjs"

/** How long a graph stays as it is although values come, in microseconds. */
const pace = 250_000
const nothing = { form: "", content: "", at: 0 }
const second = 1e6
const hour = 3600 * second

/** `2026-11-21 ` of a time that is not today's. */
function day(time, offset) {
    const date = at => isoTime(Math.max(at + offset * second, earliest)).slice(0, 10)
    return date(time) === date(Date.now() * 1000) ? "" : date(time) + " "
}

export function create(context) {
    const prefix = element("span", { class: "prefix" })
    const rest = element("span")
    const amount = element("strong", { class: "amount" })
    const unit = element("span", { class: "unit" })
    const badge = element("span", { class: "badge none" })
    const former = element("span", { class: "badge none" })
    const to = element("span")
    const band = element("span", { class: "band-name" })
    const arrow = element("span")
    const since = element("span", { class: "age" })
    const before = element("p", { class: "detail-past", role: "status" })
    const head = element("header", { class: "detail-head" },
        element("h2", { id: "detail-title" }, prefix, rest),
        element("p", { class: "detail-value" }, amount, " ", unit, " ", former, to, badge, " ", band, " ", arrow, " ", since), before)

    const alerts = element("ul", { class: "detail-alerts", hidden: true })
    const graph = createGraph()
    const button = (text, run, more = {}) => element("button", { type: "button", onclick: run, ...more }, text)
    const tableButton = button("Table", () => toggleTable(), { "aria-pressed": "false" })
    const logButton = button("Log", () => toggleLog(), { "aria-pressed": "false", title: "Logarithmic scale" })
    const pollButton = button("Poll now", () => ask())
    const wanted = element("input", {
        class: "detail-time", size: 12, maxlength: 40, placeholder: "14:03, 1h ago", "aria-label": "Go to time", autocomplete: "off",
        spellcheck: "false", oninput: () => setAttribute(wanted, "aria-invalid", null),
        onkeydown: event => {
            if (event.key !== "Escape" || event.isComposing) return
            event.preventDefault()
            event.stopPropagation()
            context.focusScreen()
        },
    })
    const nowButton = button("Now", () => stayHere(), { hidden: true })
    const times = element("form", { class: "detail-go", "aria-label": "Time shown", onsubmit: goToTime },
        wanted, element("button", { type: "submit" }, "Go"),
        button("Hour", () => look(hour), { title: "The last hour, from the journal" }),
        button("Day", () => look(24 * hour), { title: "The last day, from the journal" }), nowButton)
    const tools = element("div", { class: "detail-tools", role: "toolbar", "aria-label": "This series" }, tableButton, logButton, pollButton, times,
        element("span", { class: "detail-export", role: "group", "aria-labelledby": "detail-save" },
            element("span", { id: "detail-save" }, "Save as"),
            button("CSV", () => save("csv")), button("JSON", () => save("json"))))

    const eventTitle = element("h3")
    const text = element("p", { class: "event-text" })
    const fields = element("dl", { class: "event-fields" })
    const event = element("section", { class: "event" }, eventTitle, text, fields)
    const picture = element("figure", { class: "picture", hidden: true })
    const below = element("div", { class: "detail-below" }, event, picture)
    const missing = element("p", { class: "empty", hidden: true })
    const waiting = element("div", { class: "empty", hidden: true })
    const root = element("section", { class: "detail", "aria-labelledby": "detail-title" },
        head, alerts, tools, graph.element, below, missing, waiting)

    /** The name of the series shown; null for none. */
    let shown = null
    let eventKey = null
    /** What the graph was made from, and when. */
    let drawn = nothing
    let hasTable = false
    /** What of before is shown: `series` is a PastSeries, `state` says how it stands with it; null for what is now. */
    let past = null

    /** The series that is shown and the windows of its graph; undefined where there is no past to be had. */
    function present() {
        const index = context.board.seriesNamed(shown)
        if (index === undefined || context.isSnapshot) return undefined
        const { width, span, lastWindow } = context.extent(index)
        return { series: context.board.series[index], width, length: Math.max(span, second), newest: (lastWindow + 1) * width }
    }

    /** Shows the span of time behind the one that is shown, or before it (-1); false where that is the page's to do. */
    function travel(direction) {
        const here = present()
        if (here === undefined || (context.view.span !== null && past === null)) return past !== null
        if (past === null) {
            if (direction > 0) return false
            goTo(here, here.newest - here.width - here.length, here.length)
            return true
        }
        const { length } = past
        const until = past.series.until + direction * length
        const isWhole = length <= here.length
        // What the board holds is shown from there; and what was the newest is so but for what came since.
        if (direction > 0 && ((here.newest - past.series.until) * 10 < length || (isWhole && until > here.newest - here.width - length / 2))) return stayHere()
        goTo(here, Math.min(until, here.newest), length)
        return true
    }

    /** Shows that much of the time up to now. */
    function look(length) {
        const here = present()
        if (here !== undefined) goTo(here, here.newest, length)
    }

    function goToTime(event) {
        event.preventDefault()
        const here = present()
        if (here === undefined) return
        const now = context.board.clock ?? here.newest
        const time = timeOf(wanted.value, now, context.utcOffset)
        setAttribute(wanted, "aria-invalid", time === null ? "true" : null)
        if (time === null || time > now) {
            return context.say(time === null ? `${visible(wanted.value)} is no time: 14:03, yesterday 08:00, 2026-11-22 08:00, 1h` : "that is yet to come")
        }
        const length = past?.length ?? here.length
        goTo(here, Math.min(time + Math.round(length / 2), here.newest), length, time)
        context.focusScreen()
    }

    /** Asks for a span of time, and has the graph's cursor stand at `time` then. */
    function goTo({ series: { name, source }, width }, end, length, time = null) {
        leavePast()
        const until = Math.max(end, earliest + length)
        const column = columnWidth(width, length)
        const series = new PastSeries({ name, source, from: until - length, until, column, board: () => context.board })
        const asked = { series, control: new AbortController(), state: "asking", length, time }
        past = asked
        const come = state => {
            if (past !== asked) return
            asked.state = state
            drawn = nothing
            context.invalidate()
        }
        fetchPast(series, asked.control).then(() => come("here"), ({ message }) => come(message))
        drawn = nothing
        context.invalidate()
    }

    function leavePast() {
        past?.control.abort()
        past = null
        drawn = nothing
    }

    function stayHere() {
        leavePast()
        graph.leave()
        context.invalidate()
        return true
    }

    function drawPast(offset) {
        nowButton.hidden = past === null
        if (past === null) return setText(before, "")
        const { series, state } = past
        const times = `${day(series.from, offset)}${clock(series.from, offset)} – ${clock(series.until, offset)}`
        let says = ""
        if (state === "asking") return setText(before, `${times} · asking`)
        if (state !== "here") says = ` · not there: ${visible(state)}`
        else if (series.windows.length === 0) says = " · nothing is kept of it"
        if (state === "here" && !series.hasJournal) says += " · the agent has no journal (--journal=FILE), only what this page holds"
        if (state === "here" && series.hasHoles) says += " · lines are missing"
        setText(before, `from ${series.hasJournal ? "the journal" : "this page"} ${times}${says}`)
    }

    function ask() {
        const series = context.board.series[context.board.seriesNamed(shown)]
        if (series && !context.isSnapshot) context.poll(series.source)
    }

    function toggleTable() {
        hasTable = !hasTable
        setAttribute(tableButton, "aria-pressed", hasTable ? "true" : "false")
        graph.showTable(hasTable)
    }

    function toggleLog() {
        context.view.isLog = !context.view.isLog
        context.invalidate()
    }

    /** Fixes the range to what the values need now; again: what they need at any time. */
    function toggleRange() {
        const { board, view } = context
        const index = board.seriesNamed(shown)
        if (view.range !== null || index === undefined) {
            view.range = null
        } else {
            const points = board.points(index)
            const { low, high } = new ValueAxis(Array.from({ length: points.count }, (_, place) => points.value(place)), { count: 5 })
            view.range = [low, high]
        }
        context.invalidate()
    }

    function update(board, now) {
        const index = shown === null ? undefined : board.seriesNamed(shown)
        const isKnown = index !== undefined
        const hasValues = isKnown && board.series[index].newest !== null
        for (const part of [head, alerts, tools, below]) part.hidden = !isKnown
        times.hidden = !hasValues || context.isSnapshot
        logButton.hidden = !hasValues || board.series[index].lastWord !== null
        for (const part of [graph.element, tableButton, tools.lastElementChild]) part.hidden = !hasValues
        waiting.hidden = board.series.length > 0
        missing.hidden = isKnown || !waiting.hidden
        if (!isKnown) {
            if (!waiting.hidden) context.drawWaiting(waiting)
            else setText(missing, shown === null ? "no series" : `no series of the name ${visible(shown)} is known`)
            return
        }
        const series = board.series[index]
        const isStale = context.isStale(index)
        const pointer = series.kind === "data" ? board.describedSource(series.source)?.valuePointer ?? null : null
        const rhythm = context.rhythmText(series)
        drawAge(series, now, isStale, (rhythm === null ? "" : ` · ${rhythm}`) + (pointer === null ? "" : ` · value: ${visible(pointer)}`))
        const { view } = context
        const { width, span, lastWindow } = context.extent(index)
        const last = series.windows.at(-1)
        const offset = context.utcOffset(now)
        const form = JSON.stringify([
            context.epoch, context.described, index, width, span, view, offset, isStale, context.isLost, past?.series.until,
        ])
        const content = [
            series.count, series.newest?.sequence, series.event?.sequence, series.event?.isCut, series.windows.length, last?.start, last?.count,
            board.describedSource(series.source)?.errors, lastWindow, Math.floor(now / 5e6),
            board.alerts.changes,
        ].join()
        const isOther = form !== drawn.form || (content !== drawn.content && Math.abs(now - drawn.at) >= pace)
        if (isOther) {
            drawn = { form, content, at: now }
            // What the newest value is and what came with it are of the same moment.
            drawHead(board, series)
            drawAlerts(board, series, now, offset)
            drawEvent(series, offset)
            drawPast(offset)
            if (hasValues) drawGraph(board, index, now, offset, isStale)
        }
        setAttribute(logButton, "aria-pressed", context.view.isLog ? "true" : "false")
        pollButton.hidden = context.isSnapshot
    }

    function drawAge(series, now, isStale, more) {
        const time = newestTime(series)
        const answered = context.board.describedSource(series.source)?.answered ?? null
        const isApart = time !== null && answered !== null && answered - time > context.width
        const note = noteOf(series, now, context.utcOffset(now))
        setText(since, time === null ? "" : `${note === null ? "" : `${note} · `}${age(now - time)} ago${isApart ? `, answered ${age(now - answered)} ago` : ""}${more}`)
        setClass(since, "warning", isStale)
        setClass(head, "old", isStale || context.isLost)
    }

    function drawHead(board, series) {
        const [before, own] = nameParts(series)
        setText(prefix, visible(before))
        setText(rest, visible(own))
        const index = board.seriesNamed(series.name)
        const stands = standing(board, series, series.newest ? context.windows(index) : [], context.extent(index).width)
        setText(amount, visible(stands.quantity?.text ?? ""))
        setClass(amount, "word", stands.word !== null)
        setText(unit, visible(stands.quantity?.unit ?? ""))
        for (const [node, shown] of [[badge, stands.band], [former, stands.former]]) {
            setAttribute(node, "class", shown ? `badge shape-${Math.max(shown.place, 0) % shapes}` : "badge none")
            setText(node, visible(shown?.letter ?? ""))
            setBadgeColor(node, shown?.color ?? "")
        }
        setText(to, stands.former === null ? "" : "→")
        setAttribute(to, "class", ("arrow " + stands.course).trim())
        setText(band, stands.band === null || stands.band.name === stands.word ? "" : visible(stands.band.name))
        setText(arrow, stands.arrow)
        setAttribute(arrow, "class", ("arrow " + stands.course).trim())
    }

    /** Alerts shown of a series; the others are counted. */
    const mostAlerts = 5

    function drawAlerts(board, { name }, now, offset) {
        const all = alertsAbout(board, name)
        alerts.hidden = all.length === 0
        const shown = all.slice(0, mostAlerts)
        alerts.replaceChildren(...shown.map((alert, place) => {
            const more = place === shown.length - 1 ? all.length - shown.length : 0
            const { sign, severity, text } = alertRow(board, alert, more, now, offset)
            const rest = [linesText(alert, board.hello), alert.note].filter(part => part !== null)
            return element("li", { "data-severity": severity }, element("span", { class: "sign", "aria-hidden": "true" }, sign), " ",
                element("strong", {}, visible(text)), ...rest.map(part => element("span", {}, " · ", visible(part))))
        }))
    }

    function drawGraph(board, index, now, offset, isStale) {
        const series = board.series[index]
        const described = board.describedSource(series.source)
        const { view } = context
        const { width, start, lastWindow } = context.extent(index)
        const looks = {
            name: series.name, kind: series.kind, unit: described?.unit ?? "", newest: series.newest.value,
            scale: series.kind === "data" ? described?.bands ?? null : null, isLog: view.isLog, range: view.range, offset,
            limits: alertsAbout(board, series.name).filter(({ limit }) => limit !== null).map(alert => ({ ...alert.limit, severity: severityOf(alert) })),
            isWord: series.lastWord !== null, isStale: isStale || context.isLost, isTrimmed: series.isTrimmed, now,
        }
        if (past === null) graph.update(graphModel(board, index, { width, start, lastWindow, span: view.span }, now), looks)
        else graph.update(past.series.model(windowWidth(width, past.length)), { ...looks, newest: null, isStale: false, isTrimmed: false, now: past.series.until })
        if (past?.state !== "here" || past.time === null) return
        graph.moveTo(past.time)
        past.time = null
    }

    function drawEvent(series, offset) {
        const said = series.event
        event.hidden = said === null
        if (said === null) {
            picture.hidden = true
            eventKey = null
            return
        }
        const title = `newest event · ${clock(said.time, offset)}` + (said.isCut ? " · more than is shown" : "")
        setText(eventTitle, title)
        // Kept parts of an event may go for others' sake.
        const key = JSON.stringify([series.name, said.sequence, said.isCut, context.config.pictures, context.config.demo])
        if (key === eventKey) return
        eventKey = key
        text.hidden = !said.text
        setText(text, visible(said.text ?? ""))
        const rows = said.data === null ? [] : rowsOf(said.data, said.text)
        fields.replaceChildren(...rows.flatMap(row => [
            element("dt", {}, visible(row.label)), element("dd", {}, value(row)),
        ]))
        drawPicture(rows, said.text)
    }

    function value(row) {
        const address = row.link ? pictureAddress(row.link, context.config) : null
        if (!address?.link) return visible(row.value)
        return element("a", { href: address.link, target: "_blank", rel: "noreferrer noopener" }, visible(row.value))
    }

    function drawPicture(rows, title) {
        const found = pictureOf(rows, context.config)
        picture.hidden = found === null
        if (found === null) {
            picture.replaceChildren()
            return
        }
        // The same picture again is not loaded again.
        const old = picture.querySelector("img")
        if (old?.getAttribute("src") === found) return
        const image = element("img", {
            src: found, alt: title ? visible(title) : "picture of the newest event", referrerpolicy: "no-referrer",
            decoding: "async", onerror: () => { picture.hidden = true },
        })
        picture.replaceChildren(image)
    }

    function save(form) {
        const { board } = context
        const index = board.seriesNamed(shown)
        if (index === undefined) return
        const series = board.series[index]
        const described = board.describedSource(series.source)
        const ring = board.points(index)
        const points = past !== null ? [] : Array.from({ length: ring.count }, (_, place) =>
            ({ time: ring.time(place), value: ring.value(place), sequence: ring.sequence(place) }))
        points.sort((a, b) => a.time - b.time)
        const units = { latency: "ms", memory: "bytes" }
        const rows = seriesRows({
            name: series.name, unit: units[series.kind] ?? described?.unit ?? null,
            scale: series.kind === "data" ? described?.bands ?? null : null,
        }, points, (past?.series ?? series).windows)
        if (form === "csv") download(csv(rows), fileName(shown, "csv"), "text/csv;charset=utf-8")
        else download(json(rows), fileName(shown, "json"), "application/json")
    }

    return {
        element: root,
        update,
        show({ name }) {
            const isOther = shown !== (name ?? null)
            shown = name ?? null
            if (!isOther) return
            leavePast()
            drawn = nothing
            eventKey = null
            graph.leave()
            root.scrollTop = 0
        },
        hide() {
            leavePast()
            graph.leave()
        },
        keys: {
            ArrowLeft: { text: "read the graph", run: () => graph.step(-1) },
            ArrowRight: { run: () => graph.step(1) },
            h: { run: () => graph.step(-1) },
            l: { run: () => graph.step(1) },
            Home: { text: "to the graph's ends", run: () => graph.step(-Infinity) },
            End: { run: () => graph.step(Infinity) },
            ArrowUp: { text: "the series before and after", run: () => context.step(-1) },
            ArrowDown: { run: () => context.step(1) },
            k: { run: () => context.step(-1) },
            j: { run: () => context.step(1) },
            "@": { text: "go to a time: the journal has what was before", run: () => !times.hidden && wanted.select() },
            "]": { text: "more of the history; when all is shown, what was before, from the journal", run: () => travel(-1) },
            "[": { text: "less of the history; from the past, back to what is now", run: () => travel(1) },
            Escape: { run: () => past === null ? false : stayHere() },
            L: { text: "logarithmic scale", run: toggleLog },
            y: { text: "fix the range of values; again: what the values need", run: toggleRange },
            t: { text: "the graph as a table", run: toggleTable },
            r: { text: "ask this source now", run: ask },
        },
    }
}
