// Keys and settings: all that keys do can be done here by pointer and touch as well, and what is chosen is remembered.

import { element, setText } from "./dom.mjs"

const names = { " ": "space", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", PageUp: "PgUp", PageDown: "PgDn" }
/** Those that are told together with the one before them. */
const together = { ArrowUp: "↑ ↓", ArrowLeft: "← →", PageUp: "PgUp PgDn", Home: "Home End" }

export function createHelp(context) {
    const list = element("div", { class: "keys" })
    const choice = (name, text, values) => element("label", {}, text,
        element("select", { onchange: event => context.change({ [name]: JSON.parse(event.target.value) }), "data-name": name },
            ...values.map(([value, label]) => element("option", { value: JSON.stringify(value) }, label))))
    const version = element("p", { class: "faint version" })
    const dialog = element("dialog", { class: "sheet", "aria-labelledby": "help-title", onclick: event => { if (event.target === dialog) dialog.close() } },
        element("header", {},
            element("h2", { id: "help-title" }, "Keys and settings"),
            element("button", { type: "button", class: "plain close", "aria-label": "Close", onclick: () => dialog.close() }, "✕")),
        element("div", { class: "choices" },
            choice("theme", "Colours", [["auto", "as the system"], ["light", "light"], ["dark", "dark"]]),
            choice("utc", "Times", [[false, "local"], [true, "UTC"]]),
            choice("keys", "Letter keys", [[true, "on"], [false, "off"]])),
        list, version)
    document.body.append(dialog)
    dialog.addEventListener("close", () => context.focusScreen())

    /** Shows those of a screen's and the page's keys that have a text and are of use now. */
    function open(keys, isUseful) {
        for (const select of dialog.querySelectorAll("select")) select.value = JSON.stringify(context.settings[select.dataset.name])
        list.replaceChildren(...told(keys, isUseful).map(([key, text]) => element("button", {
            type: "button", class: "key-row", onclick: () => {
                dialog.close()
                context.press(key)
            },
        }, element("kbd", {}, together[key] ?? names[key] ?? key), element("span", {}, text))))
        const { version: number } = context.config
        setText(version, number ? `catwatch ${number}` : "")
        dialog.showModal()
    }

    /** What the line at the bottom tells of the keys of a screen: [how they are called, what they do]. */
    function hints(screen, isUseful) {
        const wanted = {
            list: ["ArrowUp", "Enter", "s", "/", "!", " ", "+", "[", "r", "w"], detail: ["Escape", "ArrowLeft", "ArrowUp", "@", "+", "[", "L", "y", " "],
            metrics: [" ", "r"], feed: ["f", "F", "/", "Enter", " "],
        }[screen]
        const short = {
            ArrowUp: ["↑↓", screen === "detail" ? "series" : "choose"], Enter: ["Enter", screen === "feed" ? "newest" : "open"],
            s: ["s", "sort"], "/": ["/", "filter"], "!": ["!", "alerts"], " ": ["space", "pause"], "+": ["+ −", "width"], "[": ["[ ]", "history"], r: ["r", "refresh"],
            w: ["w", "wall"], Escape: ["Esc", "back"], ArrowLeft: ["←→", "read"], L: ["L", "log"], y: ["y", "fix"], f: ["f", "type"], F: ["F", "source"],
            "@": ["@", "time"], "?": ["?", "help"],
        }
        // Letters that are switched off would be a promise that is not kept.
        return [...wanted, "?"].filter(key => isUseful(key) && (key.length > 1 || context.settings.keys)).map(key => short[key])
    }

    function told(keys, isUseful) {
        const screens = ["List", "Detail", "Metrics", "Feed"].map((name, place) => [String(place + 1), name])
        const others = Object.entries(keys).filter(([key, { text }]) => text !== undefined && isUseful(key))
        return [...screens, ...others.map(([key, { text }]) => [key, text])]
    }

    return { open, hints, get isOpen() { return dialog.open }, close: () => dialog.close() }
}
