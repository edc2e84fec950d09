import assert from "node:assert"
import test from "node:test"
import { pageFolder } from "./files.mjs"

const { visible } = await import(new URL("dom.mjs", pageFolder))

for (const [name, text, shown] of [
    ["plain text", "Cats sleep 16 hours – ä 猫 😀 👩🚀", null],
    ["what joins emoji", "👨\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 👩🏽\u200d🚀", null],
    ["what joins nothing", "a\u200db👩\u200d \u200d👩 👩\u200d\u200d👩 👩\u200d© 👩\u200d", "a\\u{200d}b👩\\u{200d} \\u{200d}👩 👩\\u{200d}\\u{200d}👩 👩\\u{200d}© 👩\\u{200d}"],
    ["an escape", "\u001b[31m", "␛[31m"],
    ["a line end and a tab", "a\r\n\tb", "a␍␊␉b"], ["NUL, the last control and DEL", "\0\x1f\x7f", "␀␟␡"], ["C1", "\u009b1m", "\\u{9b}1m"],
    ["an override", "abc\u202efed", "abc\\u{202e}fed"], ["isolates", "\u2066a\u2069", "\\u{2066}a\\u{2069}"],
    ["marks of direction", "\u200e\u200f\u061c", "\\u{200e}\\u{200f}\\u{61c}"],
    ["no width", "a\u200bb\ufeffc\u00ad", "a\\u{200b}b\\u{feff}c\\u{ad}"], ["separators", "\u2028\u2029", "\\u{2028}\\u{2029}"],
    ["tags", "\u{e0041}", "\\u{e0041}"], ["what looks like nothing", "\u3164\uffa0\u115f", "\\u{3164}\\u{ffa0}\\u{115f}"],
    ["markup, which text is", "<img onerror=alert(1)>", null],
]) {
    test(`shows ${name}`, () => assert.equal(visible(text), shown ?? text))
}
