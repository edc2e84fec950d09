// Folds the feeds that Tests/FeedTests/Board/BoardTwinTests.swift made, and comes to the same: see Tests/run.sh.

import assert from "node:assert"
import { readFileSync, readdirSync } from "node:fs"
import test from "node:test"
import { runVectors } from "./vectors.mjs"

const folder = process.env.CATWATCH_TWIN_FEEDS

test("random feeds are folded as in Swift", { skip: folder === undefined }, async () => {
    const names = readdirSync(folder).map(name => `board/${name}`)
    assert.ok(names.length >= 100, `${names.length} feeds`)
    const results = await runVectors(name =>
        name === "index.json" ? names : JSON.parse(readFileSync(`${folder}/${name.slice("board/".length)}`, "utf8")))
    const wrong = results.filter(({ ok }) => !ok)
    assert.deepStrictEqual(wrong.slice(0, 5), [], `${wrong.length} of ${results.length} feeds differ`)
})
