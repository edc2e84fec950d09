// The look's colours: what can be read on what (WCAG 2.2, 1.4.3 and 1.4.11), in both themes.
import assert from "node:assert"
import { readFileSync } from "node:fs"
import test from "node:test"
import { pageFolder } from "./files.mjs"

const { contrast, rimOn } = await import(new URL("bands.mjs", pageFolder))
const css = readFileSync(new URL("page.css", pageFolder), "utf8")
const tokens = [...css.matchAll(/--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)]
const themes = {
    light: Object.fromEntries(tokens.map(([, name, light]) => [name, light])),
    dark: Object.fromEntries(tokens.map(([, name, , dark]) => [name, dark])),
}

function mixed(one, other, share) {
    const parts = color => [1, 3, 5].map(place => parseInt(color.slice(place, place + 2), 16))
    const [left, right] = [parts(one), parts(other)]
    return "#" + left.map((part, place) => Math.round(part * share + right[place] * (1 - share)).toString(16).padStart(2, "0")).join("")
}

for (const [theme, color] of Object.entries(themes)) {
    test(`text can be read on every surface: ${theme}`, () => {
        for (const text of ["text", "muted", "faint", "accent", "good", "warning", "bad"]) {
            for (const surface of ["ground", "surface", "raised"]) {
                const found = contrast(color[text], color[surface])
                assert.ok(found >= 4.5, `${text} on ${surface}: ${found}`)
            }
        }
        assert.ok(contrast(color.bad, color["bad-ground"]) >= 4.5)
        assert.ok(contrast(color.surface, color.warning) >= 4.5, "what says that it is paused")
        for (const edge of ["edge", "focus"]) assert.ok(contrast(color[edge], color.ground) >= 3, edge)
    })

    test(`the letter of a band that is old can be read, whatever its colour: ${theme}`, () => {
        const rule = /\.badge \{ background-image: .*var\(--ground\) (\d+)%, transparent.*; color: var\(--text\)/.exec(css)
        for (const band of ["#000000", "#ffffff", "#ffff00", "#ff0000", "#0000ff", "#00ff00", "#92d050", "#c00000"]) {
            const veiled = mixed(color.ground, band, Number(rule[1]) / 100)
            const found = contrast(color.text, veiled)
            assert.ok(found >= 4.5, `${band}: ${found} on ${veiled}`)
            // It is still told from the others.
            if (!["#000000", "#ffffff"].includes(band)) assert.notEqual(new Set(veiled.slice(1).match(/../g)).size, 1, veiled)
        }
    })
}

test("a badge that could not be seen on what is around it has a rim that can", () => {
    for (const [theme, color] of Object.entries(themes)) {
        for (const band of ["#ffffff", "#f0f0f0", "#eef1f5", "#000000", "#1d232c", "#92d050", "#c00000"]) {
            for (const ground of ["ground", "surface", "raised"]) {
                assert.ok(contrast(rimOn(theme, band), color[ground]) >= 1.5, `${band} on ${ground}: ${theme}`)
            }
        }
        for (const band of ["#92d050", "#c00000"]) assert.equal(rimOn(theme, band), band)
    }
})
