import assert from "node:assert"
import test from "node:test"
import { pageFolder } from "./files.mjs"

const { address, route, seriesAddress } = await import(new URL("screens.mjs", pageFolder))

for (const name of ["aqi/Delhi", "fact", "a/b/c", "a?b=c&d", "100%", "ü/ñ 1", "a#b", "../..", "latency:fact", "a//b", "\ud83d\ude00"]) {
    test(`the address of ${JSON.stringify(name)} leads to it`, () => {
        const hash = seriesAddress(name)
        assert.match(hash, /^#\/series\/[\w.!~*'()%/-]+$/)
        assert.deepEqual(route(hash), { screen: "detail", params: { name } })
    })
}

test("the address of a series can be read", () => assert.equal(seriesAddress("aqi/Delhi"), "#/series/aqi/Delhi"))

test("half a surrogate pair in a name is no reason to fail", () => assert.equal(seriesAddress("a\ud800"), "#/series/a%EF%BF%BD"))

for (const [hash, screen, params] of [
    ["", "list", {}], ["#", "list", {}], ["#/", "list", {}], ["#/nothing", "list", {}],
    ["#/?filter=pu&sort=value", "list", { filter: "pu", sort: "value" }],
    ["#/metrics", "metrics", {}], ["#/feed", "feed", {}], ["#/feed?type=error", "feed", { type: "error" }],
    ["#/series/", "detail", { name: "" }], ["#/series/50%", "detail", { name: "50%" }],
]) {
    test(`the address ${JSON.stringify(hash)} is ${screen}`, () => assert.deepEqual(route(hash), { screen, params }))
}

test("an address tells what is chosen, and nothing else", () => {
    assert.equal(address("/", { filter: "", sort: "" }), "#/")
    assert.equal(address("/feed", { type: "error", filter: "a&b c" }), "#/feed?type=error&filter=a%26b+c")
    assert.deepEqual(route(address("/feed", { filter: "a&b c" })).params, { filter: "a&b c" })
})
