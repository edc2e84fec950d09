// A screen whose module is fetched when it is first shown, or when there is time: the list does not wait for it.

import { element, setText } from "./dom.mjs"

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
