// Where the vectors and the page's files are, for Node.
import { readFileSync, readdirSync } from "node:fs"

export const pageFolder = new URL("../../Sources/Page/Files/", import.meta.url)
const vectors = new URL("../Vectors/", import.meta.url)

/** The paths of all vectors below Tests/Vectors, sorted. */
export function vectorNames() {
    return readdirSync(vectors, { withFileTypes: true }).filter((entry) => entry.isDirectory())
        .flatMap(({ name }) => readdirSync(new URL(`${name}/`, vectors)).map((file) => `${name}/${file}`))
        .filter((name) => name.endsWith(".json")).sort()
}

export function readVector(name) {
    return name === "index.json" ? vectorNames() : JSON.parse(readFileSync(new URL(name, vectors), "utf8"))
}
