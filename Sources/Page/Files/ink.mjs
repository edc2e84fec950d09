// Colours of bands as lines: as near to what was configured as can still be told from what is behind them.

import { contrast } from "./bands.mjs"
import { setClass, setStyle } from "./dom.mjs"

// What lines are drawn on: the darkest of the light theme's surfaces and the lightest of the dark one's (page.css).
const surfaces = { light: "#eef1f5", dark: "#1d232c" }

/** A colour (`#rrggbb`) made darker or lighter until it has a contrast of 3 (WCAG 1.4.11) in the theme `light` or `dark`. */
export function inkOn(theme, color) {
    const number = parseInt(color.slice(1), 16)
    const end = theme === "light" ? 0 : 255
    for (let step = 0; ; step++) {
        const mixed = [number >> 16, (number >> 8) & 255, number & 255].map(value => Math.round(value + (end - value) * step / 20))
        const ink = "#" + mixed.map(value => value.toString(16).padStart(2, "0")).join("")
        // Black and white, which are the last ones, always have it.
        if (step === 20 || contrast(ink, surfaces[theme]) >= 3) return ink
    }
}

const known = new Map()

/** Gives a node the ink of a colour in both themes, as `--ink-light` and `--ink-dark`; null takes it away. */
export function setInk(node, color) {
    setClass(node, "inked", color !== null)
    if (color === null) return
    let inks = known.get(color)
    if (!inks) {
        inks = [inkOn("light", color), inkOn("dark", color)]
        // A feed that invents colours shall not fill the memory.
        if (known.size < 1000) known.set(color, inks)
    }
    setStyle(node, "--ink-light", inks[0])
    setStyle(node, "--ink-dark", inks[1])
}
