// What stands around every screen: which ones there are, whose feed this is and what time it is there, how its sources are
// doing, what is wrong, and which keys do what.

import { element, setAttribute, setClass, setText, svg, visible } from "./dom.mjs"
import { age, clock, fixed, length, span } from "./format.mjs"

/** As many sources as anybody looks at; those behind them are counted. */
const mostSources = 24

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
    const chips = element("ul", { class: "chips", "aria-label": "Sources" })
    const missed = element("p", { class: "missed warning", hidden: true })
    const filter = element("input", {
        type: "search", class: "filter", id: "filter", placeholder: "filter", "aria-label": "Filter by a part of the name", maxlength: 100, autocomplete: "off",
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
    const types = element("select", { class: "types", "aria-label": "Type of line", onchange: () => context.choose({ type: types.value }) })
    const sort = element("select", { class: "sorts", "aria-label": "Sort by", onchange: () => context.choose({ sort: sort.value }) },
        ...["name", "value", "change", "age"].map(key => element("option", { value: key }, "by " + key)))
    const windows = element("p", { class: "windows faint" })
    status.append(state, playback, chips, missed, sort, types, filter, windows)

    new ResizeObserver(reach).observe(chips)

    const chipNodes = []
    let chipsKey = ""
    let typesKey = ""
    let hintsKey = ""

    function drawChips(board, now) {
        const listed = board.sources.filter(source => source.isListed)
        const shown = listed.slice(0, mostSources)
        const texts = shown.map(source => chip(source, now))
        const rest = listed.length > shown.length ? `and ${listed.length - shown.length} more` : ""
        const key = JSON.stringify([texts, rest])
        if (key === chipsKey) return
        chipsKey = key
        while (chipNodes.length < texts.length) {
            const node = { mark: element("span", { class: "mark" }), name: element("span", { class: "name" }), says: element("span", { class: "says" }) }
            node.element = element("li", {}, node.mark, node.name, node.says)
            chipNodes.push(node)
            chips.append(node.element)
        }
        chipNodes.forEach((node, place) => {
            const text = texts[place]
            node.element.hidden = text === undefined
            if (text === undefined) return
            setText(node.mark, text.mark)
            setAttribute(node.mark, "aria-label", text.state)
            setAttribute(node.mark, "role", "img")
            setText(node.name, text.name)
            setText(node.says, text.says)
            setAttribute(node.element, "class", text.state)
        })
        setAttribute(chips, "data-rest", rest || null)
        reach()
    }

    /** What does not fit is scrolled to, by keys as well. */
    function reach() {
        setAttribute(chips, "tabindex", chips.scrollWidth > chips.clientWidth ? 0 : null)
    }

    function chip(source, now) {
        const { answered } = source
        const isOld = answered !== null && context.isStaleAt(answered, source.name)
        // Not green while nothing comes.
        const state = source.state !== "ok" ? source.state : isOld || context.isLost ? "late" : "well"
        const text = { mark: { starting: "○", failing: "✕", late: "◐", well: "●" }[state], state, name: visible(source.name), says: "" }
        const { progress } = source
        if (progress && progress.total !== null && progress.done < progress.total) text.says = `${progress.done}/${progress.total}`
        else if (progress && progress.total === null && source.newest === null) text.says = `${progress.done} so far`
        else if (answered !== null) text.says = age(now - answered)
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
            return `✕ ${since}${known} · next try ${countdown(connection.retryAt - local)} · ${visible(connection.reason)}`
        }
        if (context.isAwayBehind(now)) return `✕ nothing from the attached agent for ${age(now - board.clock)}`
        const failing = board.sources.filter(source => source.state === "failing" && source.isListed)
        if (failing.length === 0) return null
        const first = failing.reduce((newest, each) => each.since > newest.since ? each : newest)
        let text = `✕ ${visible(first.name)}: `
        // What a person needs first when the line is cut.
        const { code, message, attempt, retryAt } = first.failure ?? {}
        if (retryAt && (retryAt > now || attempt)) text += `next try ${countdown((retryAt - now) / 1000)} · `
        text += [code, message].filter(part => part).map(visible).join(", ")
        if (attempt > 1) text += ` · attempt ${attempt}`
        return failing.length > 1 ? `${failing.length} sources failing · ${text}` : text
    }

    function drawTypes(board) {
        const found = context.lineTypes(board)
        const key = found.join(" ") + " " + context.feedType
        if (key === typesKey) return
        typesKey = key
        const all = context.feedType === "" || found.includes(context.feedType) ? found : [...found, context.feedType]
        types.replaceChildren(element("option", { value: "" }, "all types"), ...all.map(type => element("option", { value: type }, visible(type))))
        types.value = context.feedType
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
        missed.hidden = board.missed === 0
        if (board.missed > 0) setText(missed, `${board.missed} ${board.missed === 1 ? "line" : "lines"} missed`)
        sort.hidden = screen !== "list"
        if (sort.value !== context.sort) sort.value = context.sort
        types.hidden = screen !== "feed"
        if (screen === "feed") drawTypes(board)
        filter.hidden = screen !== "list" && screen !== "feed"
        if (document.activeElement !== filter && filter.value !== context.filter) filter.value = context.filter
        windows.hidden = board.hello === null || (screen !== "list" && screen !== "detail")
        const shown = context.extent(screen === "detail" ? context.selected : null)
        setText(windows, `${span(shown.width)} windows, ${span(shown.span)}`)
        const title = `${context.isLost ? "✕ lost · " : ""}${context.title(board)} · catwatch${name ? " · " + visible(name) : ""}`
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

/** How far shown times are ahead of UTC: `UTC`, `+02:00`. */
function offsetText(offset, isUTC) {
    if (isUTC) return "UTC"
    const minutes = Math.round(Math.abs(offset) / 60)
    return `${offset < 0 ? "−" : "+"}${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`
}

/** `now`, `in 3 s`, from milliseconds. */
function countdown(milliseconds) {
    return milliseconds <= 0 ? "now" : `in ${fixed(Math.ceil(milliseconds / 1000), 0)} s`
}
