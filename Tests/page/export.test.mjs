import assert from "node:assert/strict"
import { test } from "node:test"
import { BandScale } from "../../Sources/Page/Files/bands.mjs"
import { csv, fileName, isoTime, json, seriesRows } from "../../Sources/Page/Files/export.mjs"

test("times are written as lines have them, to the microsecond", () => {
    const time = Date.UTC(2026, 10, 22, 5, 4, 6) * 1000
    assert.equal(isoTime(time + 7), "2026-11-22T05:04:06.000007Z")
    assert.equal(isoTime(time + 999_999), "2026-11-22T05:04:06.999999Z")
    assert.equal(isoTime(-1), "1969-12-31T23:59:59.999999Z")
})

test("cells are quoted as RFC 4180 says, and lines end in CR LF", () => {
    assert.equal(csv([["a", 'say "hi"', "x,y", "two\nlines", "cr\r", null, -1.5]]), 'a,"say ""hi""","x,y","two\nlines","cr\r",,-1.5\r\n')
})

test("numbers are no text, which Vectors/csv is about", () => {
    assert.equal(csv([["a=b", "-3", -3, 1e21]]), "a=b,'-3,-3,1e+21\r\n")
})

const scale = BandScale.of([
    { name: "good", letter: "G", color: "#00b050", upTo: 50 }, { name: "bad", letter: "B", color: "#ff0000", upTo: null },
], false)
const window = { start: 0, width: 1e6, last: 60, count: 2, minimum: 40, maximum: 60, mean: 50 }

test("a series is its windows of before its first value, then its values", () => {
    const points = [{ time: 2e6, value: 7, sequence: 12 }]
    const rows = seriesRows({ name: "aqi/Pune", unit: "AQI", scale }, points, [window, { ...window, start: 1e6 }, { ...window, start: 2e6 }])
    assert.deepEqual(rows.slice(1), [
        ["1970-01-01T00:00:00.000000Z", "aqi/Pune", 60, "AQI", "bad", null, 1, 2, 40, 50, 60],
        ["1970-01-01T00:00:01.000000Z", "aqi/Pune", 60, "AQI", "bad", null, 1, 2, 40, 50, 60],
        ["1970-01-01T00:00:02.000000Z", "aqi/Pune", 7, "AQI", "good", 12, null, null, null, null, null],
    ])
    assert.equal(rows[0].length, rows[1].length)
    assert.deepEqual(JSON.parse(json(rows))[2],
        { time: "1970-01-01T00:00:02.000000Z", series: "aqi/Pune", value: 7, unit: "AQI", band: "good", sequence: 12 })
    assert.equal(seriesRows({ name: "s", unit: null, scale: null }, points, [])[1][4], null)
})

test("a file's name has nothing in it that a path would", () => {
    assert.equal(fileName("aqi/Delhi", "csv"), "aqi-Delhi.csv")
    assert.equal(fileName("../../etc/passwd", "csv"), "etc-passwd.csv")
    assert.equal(fileName("\u202egnp.exe", "svg"), "gnp.exe.svg")
    assert.equal(fileName("///", "json"), "series.json")
    assert.ok(fileName("x".repeat(2000), "csv").length <= 84)
    assert.equal(fileName("Zürich", "csv"), "Zürich.csv")
})
