// Colours of bands as lines: as near to what was configured as can still be told from what is behind them.

import { badgeText, contrast } from "./bands.mjs"
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

// What badges are on: the ends of what the themes' surfaces are, and the edge that either has (page.css).
const grounds = { light: ["#ffffff", "#eef1f5"], dark: ["#0e1116", "#1d232c"] }
const edges = { light: "#858e9b", dark: "#6b7684" }

/** What a badge of a colour has around it in the theme `light` or `dark`: that colour, or the edge where it could not be seen. */
export function rimOn(theme, color) {
    return grounds[theme].some(ground => contrast(color, ground) < 1.5) ? edges[theme] : color
}

/** Gives a badge its band's colour (`#rrggbb`, or "" for none), with a rim where its shape would not be seen. */
export function setBadgeColor(node, color) {
    setStyle(node, "--band", color)
    setStyle(node, "--rim-light", color && rimOn("light", color))
    setStyle(node, "--rim-dark", color && rimOn("dark", color))
    setStyle(node, "color", color && badgeText(color))
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
