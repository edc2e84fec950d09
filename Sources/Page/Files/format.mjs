// Numbers, amounts and times as short text for people: the twin of Sources/Terminal/Screens/NumberText.swift, Quantity.swift
// and ValueAxis.swift, held to Tests/Vectors/format. Durations and times are in microseconds.

/** With exactly `decimals` (0 to 9) digits behind the point; `1.20e20` where that has too many digits before it. */
export function fixed(value, decimals) {
    if (Number.isNaN(value)) return "–"
    if (!Number.isFinite(value)) return value < 0 ? "-∞" : "∞"
    const places = Math.min(Math.max(decimals, 0), 9)
    const scale = 10 ** places
    const scaled = Math.round(Math.abs(value) * scale)
    if (scaled >= 9e15) return scientific(value)
    const sign = value < 0 && scaled > 0 ? "-" : ""
    if (places === 0) return sign + scaled
    const fraction = scaled % scale
    return `${sign}${(scaled - fraction) / scale}.${String(fraction).padStart(places, "0")}`
}

/** With about four digits that count: `106`, `12345`, `1.234`, `0.0012`, `12.35M`, `3.74e20`. */
export function short(value) {
    const size = Math.abs(value)
    if (size >= 1e15 || (size < 1e-4 && size > 0)) return Number.isFinite(value) ? scientific(value) : fixed(value, 0)
    if (size >= 1e6) {
        const [unit, letter] = size >= 1e12 ? [1e12, "T"] : size >= 1e9 ? [1e9, "G"] : [1e6, "M"]
        return fixed(value / unit, size / unit >= 100 ? 1 : 2) + letter
    }
    if (Number.isInteger(value) || !(size < 10_000)) return fixed(value, 0)
    if (size >= 100) return trimmed(value, 1)
    if (size >= 10) return trimmed(value, 2)
    if (size >= 0.1) return trimmed(value, 3)
    return trimmed(value, 5)
}

/** A duration in milliseconds: `0.31`, `9.87`, `41.0`, `132`, always in milliseconds. */
export function milliseconds(value) {
    const size = Math.abs(value)
    return fixed(value, size < 10 ? 2 : size < 100 ? 1 : 0)
}

/** An amount of memory and its unit: `{text: "14.1", unit: "MiB"}`. */
export function bytes(value) {
    const size = Math.abs(value)
    const [divisor, unit] =
        size >= 2 ** 30 ? [2 ** 30, "GiB"] : size >= 2 ** 20 ? [2 ** 20, "MiB"] : size >= 1024 ? [1024, "KiB"] : [1, "B"]
    const amount = value / divisor
    return { text: fixed(amount, divisor === 1 || Math.abs(amount) >= 100 ? 0 : 1), unit }
}

/** How long ago something was, in at most six columns: `3s`, `1m41s`, `5h07m`, `3d12h`, `100d`; never negative. */
export function age(duration) {
    const seconds = Math.max(0, Math.trunc(duration / 1e6))
    const text = ([large, one], [small, other]) =>
        Math.trunc(seconds / large) + one + String(Math.trunc((seconds % large) / small)).padStart(2, "0") + other
    if (seconds < 60) return `${seconds}s`
    if (seconds < 3_600) return text([60, "m"], [1, "s"])
    if (seconds < 86_400) return text([3_600, "h"], [60, "m"])
    return seconds < 8_640_000 ? text([86_400, "d"], [3_600, "h"]) : `${Math.trunc(seconds / 86_400)}d`
}

/** A span as keys choose it and axes show it: `10 s`, `2 m`, `6 h`, `7 d`, `1.5 s`. */
export function span(duration) {
    const seconds = duration / 1e6
    for (const [unit, letter] of [[86_400, "d"], [3_600, "h"]]) {
        if (seconds >= 2 * unit && seconds % unit === 0) return `${seconds / unit} ${letter}`
    }
    if (seconds >= 120 && seconds % 60 === 0) return `${seconds / 60} m`
    return `${trimmed(seconds, 2)} s`
}

const two = number => String(number).padStart(2, "0")

/** For how long something has been running: `41 s`, `2 m 03 s`, `5 h 12 m`, `3 d 4 h`. */
export function uptime(duration) {
    const seconds = Math.max(0, Math.trunc(duration / 1e6))
    if (seconds < 60) return `${seconds} s`
    if (seconds < 3_600) return `${Math.trunc(seconds / 60)} m ${two(seconds % 60)} s`
    if (seconds < 172_800) return `${Math.trunc(seconds / 3_600)} h ${two(Math.trunc((seconds % 3_600) / 60))} m`
    return `${Math.trunc(seconds / 86_400)} d ${Math.trunc((seconds % 86_400) / 3_600)} h`
}

/** How long something was: `250 ms`, `2.3 s`, `2 m 03 s`. */
export function length(duration) {
    if (duration >= 60e6) return uptime(duration)
    const isSeconds = duration >= 1e6
    return isSeconds ? `${trimmed(duration / 1e6, 1)} s` : `${trimmed(duration / 1e3, 2)} ms`
}

/** Processor time, in milliseconds: `41 ms`, `3.2 s`, `2 m 03 s`. */
export function processorTime(ms) {
    if (ms < 1_000) return `${fixed(ms, 0)} ms`
    if (ms < 60_000) return `${fixed(ms / 1_000, 1)} s`
    return uptime(Math.trunc(ms) * 1e3)
}

const day = 86_400_000_000

/** The time of day, `offset` seconds ahead of UTC, with up to three digits of the second's fraction. */
export function clock(time, offset, decimals = 0) {
    const micros = (((time + offset * 1e6) % day) + day) % day
    const seconds = Math.floor(micros / 1e6)
    const text = `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
    return decimals > 0 ? `${text}.${String(micros % 1e6).padStart(6, "0").slice(0, decimals)}` : text
}

/** A time as a person names it: `14:03`, or `11-21 14:03` when that is a day ago or more. */
export function moment(time, now, offset) {
    const minute = clock(time, offset).slice(0, 5)
    return now - time < day ? minute : `${new Date((time + offset * 1e6) / 1e3).toISOString().slice(5, 10)} ${minute}`
}

/** The time until something happens: `3 s`, `1m41s`, in whole seconds that have begun. */
export function countdown(rest) {
    const seconds = Math.ceil(rest / 1e6)
    return seconds < 60 ? `${seconds} s` : age(seconds * 1e6)
}

/** `1st`, `2nd`, `3rd`, `4th`, `11th`, `21st` */
export function ordinal(number) {
    const isTeen = Math.floor(number / 10) % 10 === 1
    return number + (isTeen ? "th" : ["th", "st", "nd", "rd"][number % 10] ?? "th")
}

/** Like `fixed`, without zeros at the end. */
export function trimmed(value, decimals) {
    const text = fixed(value, decimals)
    return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text
}

function scientific(value) {
    let exponent = 0
    let mantissa = Math.abs(value)
    while (mantissa >= 10) {
        mantissa /= 10
        exponent += 1
    }
    while (mantissa < 1 && mantissa > 0) {
        mantissa *= 10
        exponent -= 1
    }
    if (mantissa >= 9.995) {
        mantissa /= 10
        exponent += 1
    }
    return `${value < 0 ? "-" : ""}${fixed(mantissa, 2)}e${exponent}`
}

/** A value of a series with its unit: `{text, unit, whole}`; `kind` is the series', `unit` the source's or null. */
export function quantity(value, kind, unit) {
    let said = { text: kind === "latency" || unit === "ms" ? milliseconds(value) : short(value), unit: unit ?? "" }
    if (kind === "count") said = { text: short(value), unit: "" }
    if (kind === "latency") said.unit = "ms"
    if (kind === "memory") said = bytes(value)
    return { ...said, whole: said.unit === "" ? said.text : `${said.text} ${said.unit}` }
}
