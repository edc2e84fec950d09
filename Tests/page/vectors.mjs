// Runs Tests/Vectors against the page's modules: in Node (vectors.test.mjs) and in a browser (vectors.html) alike.
import { Board } from "../../Sources/Page/Files/board.mjs"
import { dump, dumpStale, limitsOf } from "./dump.mjs"

/** The first place where two values differ, in words; null when they are equal. Numbers are compared as doubles. */
export function difference(is, should, path = "state") {
    if (is === should) return null
    if (is !== null && should !== null && typeof is === "object" && typeof should === "object") {
        if (Array.isArray(is) !== Array.isArray(should)) return `${path} is no ${Array.isArray(is) ? "object" : "array"}`
        if (Array.isArray(is) && is.length !== should.length) {
            return `${path} has ${is.length} elements, not ${should.length}`
        }
        for (const key of new Set([...Object.keys(is), ...Object.keys(should)])) {
            const found = difference(is[key], should[key], `${path}.${key}`)
            if (found !== null) return found
        }
        return null
    }
    return `${path} is ${JSON.stringify(is)}, not ${JSON.stringify(should)}`.slice(0, 500)
}

function board(vector) {
    const board = new Board(limitsOf(vector.limits))
    for (const [index, line] of vector.lines.entries()) {
        const isLine = !vector.ignored?.includes(index)
        if (board.apply(line) !== isLine) return `line ${index} is ${isLine ? "not " : ""}taken`
    }
    const state = dump(board, vector.width_us, vector.from_us, vector.to_us)
    if (vector.stale_at_us) state.stale = dumpStale(board, vector.stale_at_us, vector.width_us)
    return difference(state, vector.state)
}

// By folder: what is wrong with one vector of it, in words; null for nothing.
const topics = { board }

/**
 * Runs every vector. `fetchJSON` gives what a path below Tests/Vectors holds; of `index.json` the paths of all vectors.
 *
 * Returns one `{name, ok, detail}` each.
 */
export async function runVectors(fetchJSON) {
    const results = []
    for (const name of await fetchJSON("index.json")) {
        const topic = topics[name.split("/")[0]]
        let detail = "no module is held to this folder"
        try {
            if (topic !== undefined) detail = topic(await fetchJSON(name))
        } catch (error) {
            detail = String(error.stack ?? error)
        }
        results.push({ name, ok: detail === null, detail: detail ?? "" })
    }
    return results
}
