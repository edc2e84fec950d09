// What stands around every screen: which ones there are, whose feed this is and what time it is there, how its sources are
// doing, what is wrong, and which keys do what.

import { element, setAttribute, setClass, setText, svg, visible } from "./dom.mjs"
import { age, clock, countdown, length, span } from "./format.mjs"
import { marks, troubleText } from "./standing.mjs"

/** As many sources as anybody looks at; those behind them are counted. Those that fail are always seen, and take lines. */
const mostSources = 24
const mostFailing = 6

const icons = {
    pause: ["M5.5 3v10M10.5 3v10"],
    resume: ["M5 3l8 5-8 5z"],
    poll: ["M13 8a5 5 0 1 1-1.6-3.7", "M13.5 2v3h-3"],
    theme: ["M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11", "M8 2.5v11M8 5h3.8M8 8h5.4M8 11h3.8"],
    wall: ["M2 3h12v8H2zM5.5 14h5"],
    save: ["M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10"],
    help: ["M5.8 6a2.2 2.2 0 1 1 3.2 2c-.8.4-1 .9-1 1.6", "M8 12.2v.1"],
}

function icon(name) {
    return svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, ...icons[name].map(d => svg("path", { d })))
}

export function createHeader(context) {
    const id = name => document.getElementById(name)
    const host = id("host")
    const time = id("now")
    const status = id("status")
    const trouble = id("trouble")
    const hints = id("hints")
    const links = [...document.querySelectorAll("nav.screens a")]

    const tool = (name, text, run) => element("button", { type: "button", class: "tool " + name, title: text, "aria-label": text, onclick: run }, icon(name))
    const pause = tool("pause", "Pause (space)", () => context.press(" "))
    const wall = tool("wall", "Readable from afar (w)", () => context.press("w"))
    pause.append(icon("resume"))
    pause.hidden = context.isSnapshot
    const zone = element("button", { type: "button", class: "zone", onclick: () => context.press("u") })
    time.after(zone)
    id("tools").append(...[
        pause,
        context.isSnapshot ? null : tool("poll", "Ask the sources now (r)", () => context.press("r")),
        tool("theme", "Light, dark, or as the system has it (d)", () => context.press("d")),
        wall,
        context.isSnapshot ? null
            : element("a", { class: "tool save", href: "snapshot", download: true, title: "Save this page with its lines as one file", "aria-label": "Save this page with its lines as one file" }, icon("save")),
        tool("help", "Keys and settings (?)", () => context.press("?")),
    ].filter(Boolean))

    // How things are going

    const state = element("p", { class: "paused", hidden: true })
    const playback = element("p", { class: "playback warning", hidden: true })
    const alerts = element("button", {
        type: "button", class: "plain alerts", hidden: true, title: "Only what fires (!)",
        onclick: () => context.screen === "list" ? context.press("!") : context.navigate("#/?firing=only"),
    })
    const failures = element("p", { class: "failures bad", hidden: true })
    const failing = createChips("Failing sources", "chips troubled")
    const chips = createChips("Sources", "chips")
    const missed = element("p", { class: "missed warning", hidden: true })
    const filter = element("input", {
        type: "search", class: "filter", id: "filter", placeholder: "filter", "aria-label": "Filter by parts of the name, with | between them", maxlength: 100, autocomplete: "off",
        spellcheck: "false", oninput: () => context.choose({ filter: filter.value }),
        onkeydown: event => {
            // What ends a composition is no word to the page.
            if (event.isComposing) return
            if (event.key === "Escape") {
                context.choose({ filter: "" })
                filter.value = ""
            }
            if (event.key === "Escape" || event.key === "Enter") {
                event.preventDefault()
                event.stopPropagation()
                context.focusScreen()
            }
        },
    })
    const sort = element("select", { class: "sorts", "aria-label": "Sort by", onchange: () => context.choose({ sort: sort.value }) },
        ...["source", "name", "value", "change", "age"].map(key => element("option", { value: key }, "by " + key)))
    const windows = element("p", { class: "windows faint" })
    status.append(state, playback, alerts, failures, failing.element, chips.element, missed, windows, sort, filter)

    new ResizeObserver(reach).observe(chips.element)

    let hintsKey = ""

    function drawChips(board, now) {
        const listed = board.sourceOrder.filter(source => source.isListed)
        const ill = listed.filter(isFailing)
        const textOf = source => chip(source, now)
        const isOld = failing.draw(ill, mostFailing, textOf)
        if (chips.draw(listed.filter(source => !isFailing(source)), mostSources, textOf) || isOld) reach()
        failing.element.hidden = failures.hidden = ill.length === 0
        // The agent's own measurements are no source to a person.
        setText(failures, `${ill.length} of ${listed.filter(source => source.type !== "memory").length} failing`)
    }

    /** What does not fit is scrolled to, by keys as well. */
    function reach() {
        const { element } = chips
        setAttribute(element, "tabindex", element.scrollWidth > element.clientWidth ? 0 : null)
    }

    function chip(source, now) {
        const state = context.stateOf(source)
        const text = { mark: marks[state], state, name: visible(source.name), says: "" }
        const { progress } = source
        if (progress && progress.total !== null && progress.done < progress.total) text.says = `${progress.done}/${progress.total}`
        else if (progress && progress.total === null && source.newest === null) text.says = `${progress.done} so far`
        else if (source.answered !== null) text.says = age(now - source.answered)
        // For as long as somebody may wonder where the red line went.
        if (source.state === "ok" && source.outage && now - source.outage.end <= 60e6) text.says += ` back after ${length(source.outage.down)}`
        return text
    }

    /** What went wrong and when it is tried again; null when all is well. */
    function wrong(board, now) {
        const { connection } = context
        const local = Date.now()
        if (connection.kind === "lost") {
            const since = `agent lost ${age((local - connection.since) * 1000)} ago`
            const known = board.clock === null ? "" : ` · values as of ${clock(board.clock, context.utcOffset(now))}`
            return `✕ ${since}${known} · next try ${soon(connection.retryAt - local)} · ${visible(connection.reason)}`
        }
        if (context.isAwayBehind(now)) return `✕ nothing from the attached agent for ${age(now - board.clock)}`
        // The list has a row for each.
        const failing = context.screen === "list" ? [] : board.sources.filter(isFailing)
        if (failing.length === 0) return null
        const first = failing.reduce((newest, each) => each.since > newest.since ? each : newest)
        return `✕ ${visible(first.name)}: ${visible(troubleText(first, now, context.width, context.utcOffset(now)))}`
    }

    function update(board, now) {
        const name = board.hello?.host?.name ?? ""
        setText(host, visible(name))
        const offset = context.utcOffset(now)
        setText(time, context.isKnown ? clock(now, offset) : "")
        if (context.isKnown) setAttribute(time, "datetime", new Date(now / 1000).toISOString())
        zone.hidden = !context.isKnown
        setText(zone, offsetText(offset, context.settings.utc))
        setAttribute(zone, "title", context.settings.utc ? "Times in UTC: show local time (u)" : "Local times: show UTC (u)")
        const { screen } = context
        for (const link of links) {
            setAttribute(link, "aria-current", link.dataset.screen === screen ? "page" : null)
            setAttribute(link, "href", context.addressOf(link.dataset.screen))
        }
        const text = wrong(board, now)
        trouble.hidden = text === null
        setText(trouble, text ?? "")
        setClass(document.body, "lost", context.isLost)
        setClass(document.body, "is-paused", context.isPaused)
        setAttribute(pause, "aria-pressed", context.isPaused ? "true" : "false")
        setAttribute(wall, "aria-pressed", context.isWall ? "true" : "false")
        state.hidden = !context.isPaused
        if (context.isPaused) setText(state, context.newSince === null ? "paused · much is new" : `paused · ${context.newSince} new`)
        playback.hidden = context.playback === ""
        setText(playback, `replay ${visible(context.playback)}`)
        drawChips(board, now)
        const firing = context.alerts.summary(board)
        alerts.hidden = firing === null
        setText(alerts, firing?.text ?? "")
        setAttribute(alerts, "data-severity", firing?.severity ?? null)
        setAttribute(alerts, "aria-pressed", String(context.firingOnly))
        missed.hidden = board.missed === 0
        if (board.missed > 0) setText(missed, `${board.missed} ${board.missed === 1 ? "line" : "lines"} missed`)
        sort.hidden = screen !== "list"
        if (sort.value !== context.sort) sort.value = context.sort
        filter.hidden = screen !== "list" && screen !== "feed"
        if (document.activeElement !== filter && filter.value !== context.filter) filter.value = context.filter
        windows.hidden = board.hello === null || (screen !== "list" && screen !== "detail")
        const shown = context.extent(screen === "detail" ? context.series : null)
        setText(windows, `${span(shown.width)} windows, ${span(shown.span)}`)
        const ill = board.sources.filter(isFailing).length
        const title = `${context.isLost ? "✕ lost · " : firing !== null ? `${firing.text} · ` : ill > 0 ? `✕ ${ill} · ` : ""}${context.title(board)} · catwatch${name ? " · " + visible(name) : ""}`
        if (document.title !== title) document.title = title
    }

    function drawHints(keys) {
        const key = JSON.stringify(keys)
        if (key === hintsKey) return
        hintsKey = key
        hints.replaceChildren(...keys.map(([names, text]) => element("span", {}, element("kbd", {}, names), " ", text)))
    }

    return { update, drawHints, filter }
}

const isFailing = source => source.state === "failing" && source.isListed

/** A list of sources: `element`, and `draw(sources, most, textOf)`, which says whether anything is new. */
function createChips(label, name) {
    const list = element("ul", { class: name, "aria-label": label })
    const nodes = []
    let key = ""

    function draw(all, most, textOf) {
        const texts = all.slice(0, most).map(textOf)
        const rest = all.length > most ? `and ${all.length - most} more` : ""
        const newKey = JSON.stringify([texts, rest])
        if (newKey === key) return false
        key = newKey
        while (nodes.length < texts.length) {
            const node = { mark: element("span", { class: "mark", role: "img" }), name: element("span", { class: "name" }), says: element("span", { class: "says" }) }
            node.element = element("li", {}, node.mark, node.name, node.says)
            nodes.push(node)
            list.append(node.element)
        }
        for (const node of nodes.splice(texts.length)) node.element.remove()
        texts.forEach((text, place) => {
            const node = nodes[place]
            setText(node.mark, text.mark)
            setAttribute(node.mark, "aria-label", text.state)
            setAttribute(node.mark, "class", "mark " + text.state)
            setText(node.name, text.name)
            setText(node.says, text.says)
            setAttribute(node.element, "class", text.state)
        })
        setAttribute(list, "data-rest", rest || null)
        return true
    }

    return { element: list, draw }
}

/** How far shown times are ahead of UTC: `UTC`, `+02:00`. */
function offsetText(offset, isUTC) {
    if (isUTC) return "UTC"
    const minutes = Math.round(Math.abs(offset) / 60)
    return `${offset < 0 ? "−" : "+"}${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`
}

const soon = milliseconds => milliseconds <= 0 ? "now" : `in ${countdown(milliseconds * 1000)}`
