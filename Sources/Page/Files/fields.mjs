// What an event's `data` says, as rows of a table: the twin of Sources/Terminal/View/EventFields.swift, held to
// Tests/Vectors/fields.

import { partsOf, stringOf } from "./line.mjs"
import { utf8Length, wholeNumber } from "./text.mjs"

const longestPath = 200
const mostFields = 200
const mostElements = 50
const deepest = 8

/** The fields of a document in its order, `{path, value}` each; none of null. */
export function readFields(data) {
    const fields = []
    if (data !== null) collect(withoutSpace(data), "", 0, fields)
    return fields
}

const withoutSpace = json => json.replace(/("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\r\n]+/g, "$1")

const isContainer = text => text[0] === "{" || text[0] === "["

function collect(text, path, depth, fields) {
    if (fields.length >= mostFields) return
    const step = name => (path === "" ? name : `${path}.${name}`)
    const isOpen = isContainer(text) && depth < deepest && utf8Length(path) < longestPath
    if (isOpen && text[0] === "{") {
        for (const member of partsOf(text)) collect(member.text, step(member.name), depth + 1, fields)
    } else if (isOpen) {
        const elements = partsOf(text).map(part => part.text)
        if (!elements.some(isContainer)) {
            if (elements.length > 0) fields.push({ path, value: elements.slice(0, mostElements).map(shown).join(", ") })
            return
        }
        // One element needs no number.
        const name = place => (elements.length === 1 ? path : step(String(place + 1)))
        for (const [place, element] of elements.entries()) collect(element, name(place), depth + 1, fields)
    } else {
        fields.push({ path, value: shown(text) })
    }
}

const shown = text => (text[0] === '"' ? stringOf(text) : text)

// MARK: For people

// By rank.
const known = new Map([
    ["name", "name"], ["breed", "breed"], ["country", "country"], ["origin", "origin"], ["coat", "coat"],
    ["pattern", "pattern"], ["life_span", "life span"], ["temperament", "temperament"], ["bred_for", "purpose"],
    ["breed_group", "group"], ["url", "picture"],
])
const ranks = [...known.keys()]

const steps = path => path.split(".").filter(step => step !== "")

/**
 * The rows to show, `{label, value, link}` each: what is known to matter first, nothing that `text` says already, nothing empty.
 * A link is the value itself where that is an address, else null.
 */
export function rowsOf(data, text) {
    const rows = []
    for (const { path, value } of readFields(data)) {
        if (value === text || value === "" || value === "null") continue
        const name = steps(path).at(-1) ?? path
        const rank = known.has(name) ? ranks.indexOf(name) : ranks.length
        const link = value.startsWith("https://") || value.startsWith("http://") ? value : null
        rows.push({ rank, row: { label: label(path), value, link } })
    }
    return rows.sort((one, other) => one.rank - other.rank).map(({ row }) => row)
}

function label(path) {
    const parts = steps(path)
    const last = parts.pop()
    if (last === undefined) return "value"
    const parent = parts.at(-1)
    if (known.has(last)) {
        // Of several, each needs its number.
        const number = parent === undefined ? null : wholeNumber(parent)
        return number === null ? known.get(last) : `${number} ${known.get(last)}`
    }
    const words = parent === undefined ? last : `${parent} ${last}`
    return words.split("_").filter(word => word !== "").join(" ")
}
