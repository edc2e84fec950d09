import assert from "node:assert"
import test from "node:test"
import { readVector } from "./files.mjs"
import { runVectors } from "./vectors.mjs"

const results = await runVectors(readVector)

test("finds its vectors", () => assert.ok(results.length >= 20, `${results.length}`))

for (const { name, ok, detail } of results) test(name, () => assert.ok(ok, detail))
