import assert from "node:assert/strict"
import { test } from "node:test"
import { LatencyHistogram } from "../../Sources/Page/Files/histogram.mjs"
import { columns, columnText, phaseParts, sorted } from "../../Sources/Page/Files/metrics.mjs"

function endpoint(name, times, errors = 0, source = name) {
    const histogram = new LatencyHistogram()
    for (const time of times) histogram.record(time)
    histogram.recordErrors(errors)
    return { name, source, histogram }
}

const texts = ({ histogram }) => Object.fromEntries(columns.map(column => [column.name, columnText(column, histogram)]))

test("times of few calls are told where they tell something", () => {
    assert.deepEqual(texts(endpoint("a", [])), { n: "0", err: "0", last: "–", mean: "–", p50: "–", p95: "–", p99: "–", max: "–" })
    const few = texts(endpoint("a", [1, 2, 12.34], 2))
    assert.deepEqual([few.n, few.err, few.last, few.p95, few.p99, few.max], ["3", "2", "12.3", "–", "–", "12.3"])
    assert.notEqual(texts(endpoint("a", Array(20).fill(5))).p95, "–")
    assert.equal(texts(endpoint("a", Array(99).fill(5))).p99, "–")
    assert.notEqual(texts(endpoint("a", Array(100).fill(5))).p99, "–")
})

const names = endpoints => endpoints.map(each => each.name)

test("the worst come first: what fails now, then by the share of errors, then by how slow it is", () => {
    const endpoints = [
        endpoint("quick", Array(20).fill(1)), endpoint("slow", Array(20).fill(90)), endpoint("ill", [1], 1), endpoint("down", [1]),
        endpoint("cold", []),
    ]
    assert.deepEqual(names(sorted(endpoints, "worst", source => source === "down")), ["down", "ill", "slow", "quick", "cold"])
})

test("any column and the name are orders, too", () => {
    const endpoints = [endpoint("b", [1, 2]), endpoint("a", [9]), endpoint("c", [], 5), endpoint("a", [3], 0, "other")]
    assert.deepEqual(names(sorted(endpoints, "name", () => false)), ["a", "a", "b", "c"])
    assert.deepEqual(sorted(endpoints, "name", () => false)[1].source, "other")
    assert.deepEqual(names(sorted(endpoints, "n", () => false)), ["b", "a", "a", "c"])
    assert.deepEqual(names(sorted(endpoints, "err", () => false))[0], "c")
    assert.deepEqual(sorted(endpoints, "max", () => false).map(each => each.histogram.maximum), [9, 3, 2, 0])
    // Too few to tell are behind.
    assert.deepEqual(names(sorted([endpoint("x", [50]), endpoint("y", Array(20).fill(1))], "p95", () => false)), ["y", "x"])
})

test("the parts of a request fill the bar, and those that took no time are left out", () => {
    const parts = phaseParts({ dns: 0, connect: 1, tls: 0, wait: 2, receive: 1 })
    assert.deepEqual(parts, [
        { name: "connect", ms: 1, start: 0, share: 0.25 }, { name: "wait", ms: 2, start: 0.25, share: 0.5 },
        { name: "receive", ms: 1, start: 0.75, share: 0.25 },
    ])
    assert.deepEqual(phaseParts({ dns: 0, connect: 0, tls: 0, wait: 0, receive: 0 }), [])
})
