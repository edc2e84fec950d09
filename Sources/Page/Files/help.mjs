// Keys and settings: all that keys do can be done here by pointer and touch as well, and what is chosen is remembered.

import { element, setText } from "./dom.mjs"

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

    function open(keys) {
        for (const select of dialog.querySelectorAll("select")) select.value = JSON.stringify(context.settings[select.dataset.name])
        list.replaceChildren(...keys.map(([names, text, key]) => element("button", {
            type: "button", class: "key-row", onclick: () => {
                dialog.close()
                context.press(key)
            },
        }, element("kbd", {}, names), element("span", {}, text))))
        const { version: number } = context.config
        setText(version, number ? `catwatch ${number}` : "")
        dialog.showModal()
    }

    return { open, get isOpen() { return dialog.open }, close: () => dialog.close() }
}
