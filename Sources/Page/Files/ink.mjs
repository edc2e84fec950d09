// Colours of bands as lines: as near to what was configured as can still be told from what is behind them.

import { setClass, setStyle } from "./dom.mjs"

// What lines are drawn on: the darkest of the light theme's surfaces and the lightest of the dark one's (page.css).
const surfaces = { light: [0xee, 0xf1, 0xf5], dark: [0x1d, 0x23, 0x2c] }

function luminance(color) {
    const [red, green, blue] = color.map(value => {
        const share = value / 255
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The contrast of two colours (`[red, green, blue]`, 0 to 255 each), from 1 to 21: WCAG 2.2, relative luminance. */
export function contrast(one, other) {
    const [a, b] = [luminance(one), luminance(other)]
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
}

/** A colour (`#rrggbb`) made darker or lighter until it has a contrast of 3 (WCAG 1.4.11) in the theme `light` or `dark`. */
export function inkOn(theme, color) {
    const number = parseInt(color.slice(1), 16)
    const from = [number >> 16, (number >> 8) & 255, number & 255]
    const end = theme === "light" ? 0 : 255
    for (let step = 0; ; step++) {
        const mixed = from.map(value => Math.round(value + (end - value) * step / 20))
        // Black and white, which are the last ones, always have it.
        if (step === 20 || contrast(mixed, surfaces[theme]) >= 3) {
            return "#" + mixed.map(value => value.toString(16).padStart(2, "0")).join("")
        }
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
