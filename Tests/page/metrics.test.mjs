import assert from "node:assert/strict"
import { test } from "node:test"
import { columns, columnText, phaseParts, sorted } from "../../Sources/Page/Files/metrics.mjs"

/** As many calls of so many milliseconds. */
const endpoint = (name, count, ms = 0, errors = 0, source = name) =>
    ({ name, source, summary: { count, errors, last: ms, mean: ms, minimum: ms, p50: ms, p90: ms, p95: ms, p99: ms, maximum: ms } })

const texts = ({ summary }) => Object.fromEntries(columns.map(column => [column.name, columnText(column, summary)]))

test("times of few calls are told where they tell something", () => {
    const none = { n: "0", err: "0", last: "–", mean: "–", p50: "–", p95: "–", p99: "–", max: "–" }
    assert.deepEqual(texts(endpoint("a", 0)), none)
    assert.deepEqual(texts({ summary: null }), { ...none, n: "–", err: "–" })
    const few = texts(endpoint("a", 3, 12.34, 2))
    assert.deepEqual([few.n, few.err, few.last, few.p95, few.p99, few.max], ["3", "2", "12.3", "–", "–", "12.3"])
    assert.deepEqual([19, 20].map(count => texts(endpoint("a", count, 5)).p95), ["–", "5.00"])
    assert.deepEqual([99, 100].map(count => texts(endpoint("a", count, 5)).p99), ["–", "5.00"])
})

const names = endpoints => endpoints.map(each => each.name)

test("the worst come first: what fails now, then by the share of errors, then by how slow it is", () => {
    const endpoints = [
        endpoint("quick", 20, 1), endpoint("slow", 20, 90), endpoint("ill", 1, 1, 1), endpoint("down", 1, 1), endpoint("cold", 0),
        { name: "new", source: "new", summary: null },
    ]
    assert.deepEqual(names(sorted(endpoints, "worst", source => source === "down")), ["down", "ill", "slow", "quick", "cold", "new"])
})

test("any column and the name are orders, too", () => {
    const endpoints = [endpoint("b", 2, 2), endpoint("a", 1, 9), endpoint("c", 0, 0, 5), endpoint("a", 1, 3, 0, "other")]
    assert.deepEqual(names(sorted(endpoints, "name", () => false)), ["a", "a", "b", "c"])
    assert.deepEqual(sorted(endpoints, "name", () => false)[1].source, "other")
    assert.deepEqual(names(sorted(endpoints, "n", () => false)), ["b", "a", "a", "c"])
    assert.deepEqual(names(sorted(endpoints, "err", () => false))[0], "c")
    assert.deepEqual(sorted(endpoints, "max", () => false).map(each => each.summary.maximum), [9, 3, 2, 0])
    // Too few to tell are behind.
    assert.deepEqual(names(sorted([endpoint("x", 1, 50), endpoint("y", 20, 1)], "p95", () => false)), ["y", "x"])
})

test("the parts of a request fill the bar, and those that took no time are left out", () => {
    const parts = phaseParts({ dns: 0, connect: 1, tls: 0, wait: 2, receive: 1 })
    assert.deepEqual(parts, [
        { name: "connect", ms: 1, start: 0, share: 0.25 }, { name: "wait", ms: 2, start: 0.25, share: 0.5 },
        { name: "receive", ms: 1, start: 0.75, share: 0.25 },
    ])
    assert.deepEqual(phaseParts({ dns: 0, connect: 0, tls: 0, wait: 0, receive: 0 }), [])
})
