// What holds for every file of the page: the rules at the head of main.mjs, and that the program has it inside.

import assert from "node:assert"
import { readFileSync, readdirSync } from "node:fs"
import test from "node:test"
import { pageFolder } from "./files.mjs"

const names = readdirSync(pageFolder)
const files = names.map(name => ({ name, text: readFileSync(new URL(name, pageFolder), "utf8") }))
const modules = files.filter(({ name }) => name.endsWith(".mjs"))

/** The code of a module without its comments. */
const code = text => text.replace(/\/\*[^]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1")

// Upstream text becomes text and nothing else; the page's policy forbids the rest.
const forbidden = [
    /\binnerHTML\b/, /\bouterHTML\b/, /\binsertAdjacentHTML\b/, /\bdocument\s*\.\s*write/, /\beval\s*\(/, /\bnew\s+Function\b/,
    /\bsetHTMLUnsafe\b/, /\bparseHTMLUnsafe\b/, /\bDOMParser\b/, /\bcreateContextualFragment\b/, /\bsrcdoc\b/,
    /\bimport\s*\(/, /\bjavascript:/, /\bset(?:Timeout|Interval)\s*\(\s*["'`]/,
]

for (const { name, text } of files) {
    test(`${name} makes no markup of text`, () => {
        for (const pattern of forbidden) assert.doesNotMatch(name.endsWith(".mjs") ? code(text) : text, pattern)
    })

    if (!name.endsWith(".css")) test(`${name} sets styles by classes and properties`, () => {
        assert.doesNotMatch(code(text), /\sstyle\s*=\s*["'`{]|setAttribute\(\s*["'`]style["'`]|\{[^}\n]*\bstyle:/)
    })

    test(`${name} asks nobody else`, () => {
        const rest = name.endsWith(".mjs") ? code(text) : text
        // Names of formats are no addresses; what a fact may link to is looked at, not asked.
        const known = /http:\/\/www\.w3\.org\/(?:2000\/svg|1999\/xlink)|\^?https?:\/\/(?=["'`]|\\\/)/g
        assert.doesNotMatch(rest.replace(known, ""), /https?:\/\/|["'`(=]\/\/|url\(\s*["']?\/|(?:src|href|action)=["']?\//)
    })
}

for (const { name, text } of modules) {
    test(`${name} imports its neighbours alone, each on one line`, () => {
        for (const line of code(text).split("\n")) {
            if (!/^\s*(?:import\b(?!\.meta)|export\b.*\bfrom\s*["'`]|\}\s*from\b)/.test(line)) continue
            const from = /^(?:import|export) [^"'`]*\bfrom "\.\/([a-z0-9-]+\.mjs)"$/.exec(line.trimEnd())
            assert.ok(from, line)
            assert.ok(names.includes(from[1]), line)
        }
    })
}

for (const { name, text } of modules) {
    // A snapshot replaces it wherever it stands.
    test(`${name} says "./ where it imports and nowhere else`, () => {
        assert.doesNotMatch(code(text).replace(/\bfrom "\.\/[a-z0-9-]+\.mjs"/g, ""), /"\.\//)
    })
}

test("every file of the page is in the program", () => {
    const table = readFileSync(new URL("../page.c", pageFolder), "utf8")
    const embedded = [...table.matchAll(/^#embed "Files\/([^"]+)"$/gm)].map(([, name]) => name)
    const listed = [...table.matchAll(/^ {4}ENTRY\("([^"]+)", \w+\),$/gm)].map(([, name]) => name)
    assert.deepStrictEqual(embedded.sort(), [...names].sort())
    assert.deepStrictEqual(listed.sort(), [...names].sort())
})
