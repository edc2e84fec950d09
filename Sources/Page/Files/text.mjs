// Text as the agent counts it: bytes of UTF-8 and code points, where JavaScript counts units of UTF-16.

/** How many bytes of UTF-8 a text has. */
export function utf8Length(text) {
    let bytes = text.length
    for (let place = 0; place < text.length; place += 1) {
        const unit = text.charCodeAt(place)
        if (unit < 0x80) continue
        bytes += unit < 0x800 ? 1 : 2
        // A pair has four bytes, and its second half is gone over here.
        if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(place + 1))) place += 1
    }
    return bytes
}

const isLow = unit => unit >= 0xdc00 && unit < 0xe000

/** At most `limit` bytes of UTF-8 from the start, cut between code points. */
export function cutBytes(text, limit) {
    if (text.length * 3 <= limit) return text
    let bytes = 0
    let place = 0
    while (place < text.length) {
        const code = text.codePointAt(place)
        bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
        if (bytes > limit) return own(text.slice(0, place))
        place += code < 0x10000 ? 1 : 2
    }
    return text
}

/** At most `limit` code points from the start. */
export function cutPoints(text, limit) {
    if (text.length <= limit) return text
    let place = 0
    for (let count = 0; count < limit && place < text.length; count += 1) {
        place += text.codePointAt(place) < 0x10000 ? 1 : 2
    }
    return place < text.length ? own(text.slice(0, place)) : text
}

/** The same text in memory of its own: a part of a string keeps all of that string alive. */
export function own(part) {
    return part.length < 13 ? part : (" " + part).slice(1)
}

/** Every half of a surrogate pair that is alone replaced by U+FFFD. */
export function wellFormed(text) {
    return text.replace(/\p{Surrogate}/gu, "\ufffd")
}

/** In lower case, each character by itself. */
export function lowercased(text) {
    // Only a sigma is written in another way at the end of a word.
    return text.includes("\u03a3") ? text.replaceAll("\u03a3", "\u03c3").toLowerCase() : text.toLowerCase()
}

/** The integer (a BigInt) that a text is: digits, with a sign or without, in 64 bits; null for anything else. */
export function wholeNumber(text) {
    if (!/^[+-]?[0-9]{1,100}$/.test(text)) return null
    const number = BigInt(text.replace("+", ""))
    return BigInt.asIntN(64, number) === number ? number : null
}

let segmenter = null

/** What a person takes for the first character of a text, of however many code points. */
export function firstCharacter(text) {
    if (text.length < 2) return text
    segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" })
    const [first] = segmenter.segment(text)
    return first.segment
}
