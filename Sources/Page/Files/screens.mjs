// Screens: which one an address names, and how one comes whose module is fetched when it is first shown, or when there is time, as
// the list does not wait for it.
//
// The address bar holds what is shown: `#/`, `#/series/aqi/Delhi`, `#/metrics`, `#/feed?type=error`. An address nobody
// made is the list's.

import { element, setText } from "./dom.mjs"

/** The address of a series: its name, every part of it escaped, slashes as they are. */
export function seriesAddress(name) {
    return "#/series/" + encodeURIComponent(name.replace(/\p{Surrogate}/gu, "\ufffd")).replaceAll("%2F", "/")
}

/** The address of a screen with what is chosen on it; what is empty is left out. */
export function address(path, choices = {}) {
    const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value)).toString()
    return query === "" ? "#" + path : `#${path}?${query}`
}

/** Which screen an address names: {screen: "list" | "detail" | "metrics" | "feed", params}. */
export function route(hash) {
    const text = hash.startsWith("#") ? hash.slice(1) : hash
    if (text.startsWith("/series/")) return { screen: "detail", params: { name: decode(text.slice(8)) } }
    const cut = text.indexOf("?")
    const path = cut < 0 ? text : text.slice(0, cut)
    const params = cut < 0 ? {} : Object.fromEntries(new URLSearchParams(text.slice(cut + 1)))
    switch (path) {
    case "/metrics": return { screen: "metrics", params }
    case "/feed": return { screen: "feed", params }
    default: return { screen: "list", params }
    }
}

function decode(text) {
    try {
        return decodeURIComponent(text)
    } catch {
        // A lone percent sign: somebody typed it.
        return text
    }
}

// MARK: Screens that come later

/** So long nothing is said, in milliseconds: it is there at once, mostly. */
const grace = 300
/** After so long it is tried again, in milliseconds. */
const pause = 3_000

/**
 * A screen in the place of a module's: `load` imports the module, and `fetch` of what this returns has it do so before the
 * screen is shown.
 */
export function createLater(context, load) {
    const said = element("p", { role: "status" })
    const button = element("button", { type: "button", hidden: true, onclick: begin }, "Try again")
    const waiting = element("section", { class: "empty" }, said, button)
    let module = null
    let screen = null
    /** What the screen shows; null while it is not shown. */
    let params = null
    let isLoading = false
    let hasFailed = false
    let since = 0

    async function begin() {
        if (isLoading) return
        isLoading = true
        since = Date.now()
        hasFailed = !await fetch()
        since = Date.now()
        isLoading = false
        if (params === null) return
        if (hasFailed) return context.invalidate()
        // Who was sent here before there was anything goes on with what there is now.
        const hadFocus = waiting.contains(document.activeElement)
        make()
        screen.show(params)
        if (hadFocus) context.focusScreen()
        context.invalidate()
    }

    /** Resolves to whether the module is there. A failed import is none for ever: the next one asks again. */
    async function fetch() {
        try {
            module ??= await load()
        } catch {
            // Whoever waits for it is told.
        }
        return module !== null
    }

    function make() {
        if (screen !== null) return
        screen = module.create(context)
        screen.element.tabIndex = waiting.tabIndex
        waiting.replaceWith(screen.element)
    }

    return {
        get element() { return screen?.element ?? waiting },
        get keys() { return screen?.keys ?? {} },
        address: () => screen?.address?.(),
        fetch,
        update(board, now) {
            if (screen !== null) return screen.update(board, now)
            const waited = Date.now() - since
            if (hasFailed && !isLoading && waited >= pause) begin()
            button.hidden = !hasFailed
            if (hasFailed) setText(said, "this screen could not be fetched from the agent")
            else setText(said, waited < grace ? "" : "fetching this screen")
        },
        show(newParams) {
            params = newParams
            if (module === null) return begin()
            make()
            screen.show(params)
        },
        hide() {
            params = null
            screen?.hide()
        },
    }
}
