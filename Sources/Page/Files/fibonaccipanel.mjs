// What belongs to a Fibonacci source beside its graph: how far to go, the newest calculation's pairs, and all runs.

import { element, setAttribute, setStyle, setText } from "./dom.mjs"
import { fixed } from "./format.mjs"

const mostN = 100_000
const rowHeight = 24
// The page's Fibonacci runs and pairs: 1,000 runs; the pairs in sight; newest shown; others when they come into sight.
const mostRuns = 1000

/** The number that somebody typed, 0 to 100,000; null when it is none: digits only. */
export function readN(text) {
    return /^[0-9]{1,6}$/.test(text) && Number(text) <= mostN ? Number(text) : null
}

/** A long number as its first and last digits and how many there are, in at most `width` characters where that says something. */
export function shortened(digits, width) {
    if (digits.length <= width) return digits
    const tail = ` (${digits.length} digits)`
    const room = width - tail.length - 1
    if (room < 8) return digits.slice(0, Math.max(width - 1, 0)) + "…"
    const end = Math.floor(room / 2)
    return digits.slice(0, room - end) + "…" + digits.slice(-end) + tail
}

/** Makes the panel: `element`, `update(board, series)`, `focus()`, which goes to the entry, and `focusRuns()`. */
export function createFibonacci(context) {
    const input = element("input", {
        id: "fibonacci-n", inputmode: "numeric", pattern: "[0-9]*", maxlength: "6", autocomplete: "off", size: "7",
        "aria-describedby": "fibonacci-says",
    })
    const says = element("span", { id: "fibonacci-says", class: "bad", role: "status" })
    const form = element("form", { class: "fibonacci-form", novalidate: true },
        element("label", { for: "fibonacci-n" }, "Run up to N"), input, element("button", { type: "submit" }, "Run"), says)
    const total = element("p", { class: "fibonacci-total" })

    const rows = element("div", { class: "fibonacci-rows", role: "rowgroup" })
    // As wide as 100 figures.
    const probe = element("i", { class: "fibonacci-probe", "aria-hidden": "true" })
    const scroller = element("div", { class: "fibonacci-scroller", tabindex: "0", role: "table", "aria-label": "N and F(N)" },
        element("div", { role: "rowgroup" }, element("div", { class: "fibonacci-row titles", role: "row" },
            element("span", { role: "columnheader" }, "N"), element("span", { role: "columnheader" }, "F(N)"))), rows, probe)
    const pairs = element("div", { class: "fibonacci-pairs" }, element("h3", {}, "newest calculation"), scroller, total)

    const runs = element("tbody")
    const told = element("p", { class: "muted" })
    const runsScroller = element("div", { class: "fibonacci-scroller", tabindex: "0", role: "region", "aria-label": "runs" },
        element("table", {}, element("thead", {}, element("tr", {},
            element("th", { scope: "col" }, "N"), element("th", { scope: "col" }, "ms"))), runs))
    const sums = element("div", { class: "fibonacci-runs" }, element("h3", {}, "runs"), runsScroller, told)
    const root = element("section", { class: "fibonacci", hidden: true }, form, element("div", { class: "fibonacci-tables" }, pairs, sums))

    let source = null
    let known = null
    let pairsKey = ""
    let runsKey = ""
    const pool = []

    input.addEventListener("input", () => {
        const digits = input.value.replace(/[^0-9]/g, "")
        if (digits !== input.value) input.value = digits
        setText(says, "")
        setAttribute(input, "aria-invalid", null)
    })
    form.addEventListener("submit", event => {
        event.preventDefault()
        const n = readN(input.value)
        setText(says, n === null ? "a whole number from 0 to 100000" : "")
        setAttribute(input, "aria-invalid", n === null ? "true" : null)
        if (n !== null) context.poll(source, { n })
    })
    scroller.addEventListener("scroll", drawPairs, { passive: true })
    new ResizeObserver(drawPairs).observe(scroller)

    function update(board, series) {
        const described = board.describedSource(series.source)
        source = series.source
        known = series.kind === "data" ? context.runs.sources.get(series.source) ?? null : null
        form.hidden = !described?.takesN || series.kind !== "data" || context.isSnapshot
        pairs.hidden = !known || known.pairs.length === 0
        sums.hidden = !known || known.sums.length === 0
        root.hidden = form.hidden && pairs.hidden && sums.hidden
        if (!known) return
        const first = known.pairs[0]?.n
        const last = known.pairs.at(-1)
        const key = `${source} ${known.pairs.length} ${known.droppedPairs} ${first} ${last?.n} ${last?.f.length} ${known.total}`
        if (key !== pairsKey) {
            pairsKey = key
            drawPairs()
            const count = known.pairs.length + known.droppedPairs
            setText(total, (known.total === null ? "computing …" : `total ${fixed(known.total, 3)} ms`) + ` · ${count} numbers`
                + (known.droppedPairs > 0 ? `, the first ${known.droppedPairs} not kept` : ""))
        }
        const newKey = `${source} ${known.sums.length} ${known.droppedSums} ${known.total}`
        if (newKey !== runsKey) {
            runsKey = newKey
            drawRuns(board)
        }
    }

    /** Only the rows in sight are in the document: there may be tens of thousands. */
    function drawPairs() {
        if (!known || probe.offsetWidth === 0) return
        const { pairs } = known
        setStyle(rows, "height", `${pairs.length * rowHeight}px`)
        setAttribute(scroller, "aria-rowcount", pairs.length + 1)
        const first = Math.max(Math.floor(scroller.scrollTop / rowHeight) - 4, 0)
        const count = Math.min(Math.ceil(scroller.clientHeight / rowHeight) + 8, pairs.length - first)
        while (pool.length < count) {
            const row = { n: element("span", { role: "cell" }), f: element("span", { role: "cell" }) }
            row.element = element("div", { class: "fibonacci-row", role: "row" }, row.n, row.f)
            rows.append(row.element)
            pool.push(row)
        }
        // Figures have one width, and hardly anything else is wider.
        const width = count > 0 ? Math.floor(pool[0].f.clientWidth / probe.offsetWidth * 100) - 1 : 0
        pool.forEach((row, place) => {
            row.element.hidden = place >= count
            if (place >= count) return
            const pair = pairs[first + place]
            setStyle(row.element, "transform", `translateY(${(first + place) * rowHeight}px)`)
            setAttribute(row.element, "aria-rowindex", first + place + 2)
            setText(row.n, String(pair.n))
            setText(row.f, shortened(pair.f, width))
        })
    }

    function drawRuns(board) {
        runs.replaceChildren(...known.sums.slice(-mostRuns).reverse().map(sum =>
            element("tr", {}, element("td", {}, String(sum.n)), element("td", {}, fixed(sum.ms, 3)))))
        // Attached later, or with something missed, there may have been others.
        const sawAll = board.hello?.firstSeq === 1 && board.missed === 0
        const count = known.sums.length + known.droppedSums
        setText(told, `${count} ${count === 1 ? "run" : "runs"} ${sawAll ? "since the agent's start" : "seen here"}`)
    }

    return { element: root, update, focus: () => input.focus(), focusRuns: () => runsScroller.focus() }
}
