// What values mean, and the colours of that: the twin of Sources/Feed/Event/BandScale.swift, held to Tests/Vectors/bands.

import { setClass, setStyle } from "./dom.mjs"

const mostBands = 64

/** Named ranges that touch one another and cover every number: `{name, letter, color, upTo}`, ascending. */
export class BandScale {
    constructor(bands, higherIsBetter) {
        this.bands = bands
        this.higherIsBetter = higherIsBetter
    }

    /** Null when there are none or too many, or an end is not above the one before it, or is missing or superfluous. */
    static of(bands, higherIsBetter) {
        if (bands.length === 0 || bands.length > mostBands || bands.at(-1).upTo !== null) return null
        // Nobody has looked at those of another agent's source.
        if (bands.some(({ name, letter, color }) => !name || !letter || !/^#[\da-f]{6}$/.test(color))) return null
        let previous = -Infinity
        for (const { upTo } of bands.slice(0, -1)) {
            if (upTo === null || upTo <= previous) return null
            previous = upTo
        }
        return new BandScale(bands, higherIsBetter)
    }

    /** The index of the band that a value is in; a value that is a band's end belongs to that band. */
    index(value) {
        const place = this.bands.findIndex(({ upTo }) => upTo === null || !(value > upTo))
        return place < 0 ? this.bands.length - 1 : place
    }
}

/** The relative luminance of a colour (`#rrggbb`), 0 for black to 1 for white (WCAG 2.2). */
export function luminance(color) {
    const number = parseInt(color.slice(1), 16)
    const [red, green, blue] = [number >> 16, (number >> 8) & 255, number & 255].map(value => {
        const share = value / 255
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The contrast of two colours, from 1 to 21 (WCAG 2.2). */
export function contrast(one, other) {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a)
    return (light + 0.05) / (dark + 0.05)
}

/** Black or white, whichever reads better on a colour: a contrast of at least 4.5 on any. */
export function badgeText(color) {
    return contrast(color, "#000000") >= contrast(color, "#ffffff") ? "#000000" : "#ffffff"
}

// MARK: Colours as lines and badges: as near to what was configured as can still be told from what is behind them

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
