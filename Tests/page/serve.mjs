// Serves this repository's files on loopback, for a browser to run vectors.html: prints the page's address. Ends with its input.

import { readFile } from "node:fs/promises"
import { createServer } from "node:http"
import { extname } from "node:path"
import { vectorNames } from "./files.mjs"

const root = new URL("../../", import.meta.url)
const types = { ".html": "text/html", ".mjs": "text/javascript", ".json": "application/json" }
const folders = ["/Tests/page/", "/Tests/Vectors/", "/Sources/Page/Files/"]

const server = createServer(async (request, response) => {
    // As an address is read, nothing is left of "..".
    const { pathname } = new URL(request.url, "http://localhost")
    const type = types[extname(pathname)]
    try {
        if (type === undefined || !folders.some(folder => pathname.startsWith(folder))) throw new Error(pathname)
        const isIndex = pathname === "/Tests/Vectors/index.json"
        const body = isIndex ? JSON.stringify(vectorNames()) : await readFile(new URL(`.${pathname}`, root))
        response.writeHead(200, { "content-type": `${type}; charset=utf-8` }).end(body)
    } catch {
        response.writeHead(404).end()
    }
})
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/Tests/page/vectors.html`))
process.stdin.on("close", () => process.exit()).resume()
