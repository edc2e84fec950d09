// What values mean: the twin of Sources/Feed/Event/BandScale.swift, held to Tests/Vectors/bands.

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
