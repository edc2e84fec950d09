import assert from "node:assert/strict"
import { test } from "node:test"
import { BandScale, contrast, inkOn } from "../../Sources/Page/Files/bands.mjs"
import { longestStep, sparklinePaths } from "../../Sources/Page/Files/sparkline.mjs"

const width = 1e6
const windowsAt = (...pairs) => pairs.map(([number, last]) => ({ start: number * width, last }))
const frame = { width, last: 109, count: 10, scale: null }

test("a sparkline goes from the lowest value at the bottom to the highest at the top", () => {
    const { lines, newest } = sparklinePaths(windowsAt([100, 5], [101, 15], [102, 10]), frame)
    assert.deepEqual(lines, [{ band: -1, d: "M0 21L1 3L2 12" }])
    assert.deepEqual(newest, { x: 2, y: 12, band: -1 })
})

test("values that are all the same lie in the middle, also the largest there are", () => {
    assert.equal(sparklinePaths(windowsAt([100, 7], [101, 7]), frame).lines[0].d, "M0 12L1 12")
    assert.equal(sparklinePaths(windowsAt([100, -1.7e308], [101, 1.7e308]), frame).lines[0].d, "M0 21L1 3")
})

test("windows outside of the frame are not drawn", () => {
    const { lines } = sparklinePaths(windowsAt([99, 900], [100, 1], [101, 2], [110, 900]), frame)
    assert.equal(lines[0].d, "M0 21L1 3")
    assert.deepEqual(sparklinePaths([], frame), { lines: [], newest: null })
})

test("a gap breaks the line, and what is alone is a dot", () => {
    const gap = sparklinePaths(windowsAt([100, 0], [101, 2], [102, 0], [103, 2], [106, 2], [109, 0]), frame)
    assert.equal(gap.lines[0].d, "M0 21L1 3L2 21L3 3M6 3h0M9 21h0")
    // A source that says something every other window has no gaps.
    const slow = sparklinePaths(windowsAt([100, 0], [102, 2], [104, 0], [108, 2]), frame)
    assert.equal(slow.lines[0].d, "M0 21L2 3L4 21L8 3")
    assert.equal(longestStep([0, 2, 4, 8], 1), 5)
    assert.equal(longestStep([0, 2], 1), 1)
})

test("each band has a path, which begins where another one's ended", () => {
    const scale = BandScale.of([
        { name: "low", letter: "L", color: "#00b050", upTo: 5 }, { name: "high", letter: "H", color: "#ff0000", upTo: null },
    ], false)
    const { lines, newest } = sparklinePaths(windowsAt([100, 0], [101, 10], [102, 10], [103, 0]), { ...frame, scale })
    assert.deepEqual(lines, [{ band: 1, d: "M0 21L1 3L2 3" }, { band: 0, d: "M2 3L3 21" }])
    assert.equal(newest.band, 0)
})

test("a band's colour as a line can be told from the page in both themes", () => {
    const surfaces = { light: ["#ffffff", "#f6f7f9", "#eef1f5"], dark: ["#0e1116", "#151920", "#1d232c"] }
    for (const color of ["#ffff00", "#ffffff", "#000000", "#c00000", "#1d232c", "#eef1f5", "#92d050", "#777777"]) {
        for (const theme of ["light", "dark"]) {
            for (const surface of surfaces[theme]) {
                assert.ok(contrast(inkOn(theme, color), surface) >= 3, `${color} in ${theme} on ${surface}`)
            }
        }
    }
    assert.equal(inkOn("light", "#c00000"), "#c00000")
})
