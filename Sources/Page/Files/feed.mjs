// The feed screen shows the newest lines in words, as many as the board keeps. The document has only the rows in sight. Items of
// one answer share a row.

import { element, pixels, setAttribute, setClass, setStyle, setText, visible } from "./dom.mjs"
import { clock, fixed, length, quantity } from "./format.mjs"
import { filterOf } from "./order.mjs"
import { address } from "./screens.mjs"

// The page's lines: those in sight, 8 above and below; others when they come into sight.
const beyond = 8
/** From so many lines on what came together is one row, which names so many of them. */
const fewest = 3
const mostNamed = 5
const quiet = new Set(["window", "latency", "memory", "agent", "progress"])

export function create(context) {
    const body = element("div", { class: "lines", role: "rowgroup" })
    const scroller = element("div", { class: "scroller", tabindex: 0, role: "table", "aria-label": "Lines" }, body)
    const below = element("button", { type: "button", class: "below", hidden: true, onclick: follow })
    const empty = element("p", { class: "empty", hidden: true }, "no such lines yet")
    const section = element("section", { class: "feed", "aria-labelledby": "feed-title" },
        element("h2", { id: "feed-title", class: "visually-hidden" }, "Feed"), scroller, empty, below)

    const types = createChoice("Type of line", "all types", type => context.choose({ type }))
    const sources = createChoice("Source of line", "all sources", source => context.choose({ source }))
    document.getElementById("filter").before(types.element, sources.element)

    /** Of which board and choice the rows are. */
    let key = ""
    let made = null
    let kept = []
    let follows = true
    let unseen = 0
    let rowHeight = 0
    let room = 0
    const pool = []

    scroller.addEventListener("scroll", () => {
        const isAtEnd = scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 4
        if (isAtEnd) unseen = 0
        follows = isAtEnd
        context.invalidate()
    }, { passive: true })
    new ResizeObserver(() => {
        rowHeight = 0
        context.invalidate()
    }).observe(scroller)

    function follow() {
        follows = true
        unseen = 0
        context.invalidate()
    }

    function makeRow() {
        const time = element("span", { role: "cell", class: "time" })
        const subject = element("span", { role: "cell", class: "subject" })
        const amount = element("span", { class: "amount" })
        const words = element("span", { class: "words" })
        const row = element("div", { role: "row", class: "line" }, time, subject,
            element("span", { role: "cell", class: "says" }, amount, words))
        body.append(row)
        return { element: row, time, subject, amount, words, name: null, top: -1, offset: null }
    }

    /** Takes in the board's lines; how many of the rows shown before are gone. */
    function collect(board) {
        const { feedType: type, feedSource: source, filter } = context
        const newKey = JSON.stringify([context.epoch, type, source, filter])
        if (newKey !== key) {
            key = newKey
            made = new FeedRows({ type, source, filter })
        }
        const { gone, added } = made.update(board.lines)
        if (!follows) unseen += added
        kept = made.rows
        return gone
    }

    function update(board, now) {
        types.draw(typesOf(board), context.feedType)
        sources.draw(sourcesOf(board), context.feedSource)
        const gone = collect(board)
        empty.hidden = kept.length > 0
        scroller.hidden = kept.length === 0
        if (rowHeight === 0) {
            rowHeight = pixels(scroller, "--line-height")
            room = scroller.clientHeight
            for (const row of pool) row.top = -1
        }
        setStyle(body, "height", `${kept.length * rowHeight}px`)
        setAttribute(scroller, "aria-rowcount", kept.length)
        if (follows) scroller.scrollTop = kept.length * rowHeight
        // What is read stays where it is while older lines go, whose row may become two.
        else if (gone !== 0) scroller.scrollTop -= gone * rowHeight
        const top = scroller.scrollTop
        const first = Math.max(0, Math.floor(top / rowHeight) - beyond)
        const last = Math.min(kept.length, Math.ceil((top + room) / rowHeight) + beyond)
        while (pool.length < last - first) pool.push(makeRow())
        const offset = context.utcOffset(now)
        const used = new Set()
        // A line has the same row for as long as it is seen, whatever comes and goes around it.
        const free = []
        const rows = new Map()
        for (const row of pool) {
            if (row.name !== null) rows.set(row.name, row)
            else free.push(row)
        }
        for (let place = first; place < last; place++) {
            const row = rows.get(nameOf(kept[place]))
            if (row) used.add(row)
        }
        for (const row of rows.values()) if (!used.has(row)) free.push(row)
        for (let place = first; place < last; place++) {
            const said = kept[place]
            const line = said.at(-1)
            let row = rows.get(nameOf(said))
            if (!row) {
                row = free.pop()
                fill(row, board, said)
                row.offset = null
            }
            used.add(row)
            if (row.offset !== offset) {
                row.offset = offset
                setText(row.time, clock(line.time, offset, 3))
            }
            if (row.top !== place * rowHeight) {
                row.top = place * rowHeight
                setStyle(row.element, "transform", `translateY(${row.top}px)`)
            }
            setAttribute(row.element, "aria-rowindex", place + 1)
            row.element.hidden = false
        }
        for (const row of free) {
            row.element.hidden = true
            row.name = null
        }
        below.hidden = unseen === 0
        if (unseen > 0) setText(below, `${unseen} newer below ↓`)
    }

    function fill(row, board, said) {
        const [line] = said
        row.name = nameOf(said)
        const isError = line.type === "error"
        setClass(row.element, "quiet", quiet.has(line.type))
        setClass(row.element, "error", isError)
        setClass(row.element, "good", line.type === "recovered")
        setText(row.subject, visible(said.length > 1 ? line.source : subject(line)))
        const [amount, words] = said.length > 1 ? sayAll(said) : say(board, line)
        setText(row.amount, visible(amount))
        setText(row.words, visible(words))
        setAttribute(row.element, "title", said.length === 1 && (isError || (line.text ?? "").length > 80) ? visible(line.text ?? "") : null)
    }

    return {
        element: section,
        update,
        show(params) {
            context.take({ filter: params.filter ?? "", type: params.type ?? "", source: params.source ?? "" })
            types.element.hidden = sources.element.hidden = false
            follow()
        },
        hide() {
            types.element.hidden = sources.element.hidden = true
        },
        keys: {
            f: { text: "one type of line after the other", run: () => context.choose({ type: after(typesOf(context.board), context.feedType) }) },
            F: { text: "one source after the other", run: () => context.choose({ source: after(sourcesOf(context.board), context.feedSource) }) },
            Enter: { text: "follow the newest line", run: follow },
            ArrowUp: { run: () => scroll(-3) }, ArrowDown: { run: () => scroll(3) },
            k: { run: () => scroll(-3) }, j: { run: () => scroll(3) },
            PageUp: { run: () => scroll(-page()) }, PageDown: { run: () => scroll(page()) },
            Home: { run: () => scroll(-1e6) }, g: { run: () => scroll(-1e6) },
            End: { run: follow }, G: { run: follow },
        },
        address: () => address("/feed", { type: context.feedType, source: context.feedSource, filter: context.filter }),
    }

    function scroll(lines) {
        scroller.scrollTop += lines * rowHeight
    }

    function page() {
        return Math.max(1, Math.floor(room / rowHeight) - 1)
    }
}

/** A choice of one of some names, or of none. */
function createChoice(label, none, choose) {
    const select = element("select", { class: "types", hidden: true, "aria-label": label, onchange: () => choose(select.value) })
    let key = ""

    function draw(found, chosen) {
        const all = chosen === "" || found.includes(chosen) ? found : [...found, chosen]
        const newKey = JSON.stringify([all, chosen])
        if (newKey === key) return
        key = newKey
        select.replaceChildren(element("option", { value: "" }, none), ...all.map(name => element("option", { value: name }, visible(name))))
        select.value = chosen
    }

    return { element: select, draw }
}

const namesOf = (board, part) => [...new Set(Array.from(board.lines, line => line[part]))].filter(name => name !== "").sort()
const typesOf = board => namesOf(board, "type")
const sourcesOf = board => namesOf(board, "source")

/** The choice behind one: the first of them behind none, none behind the last. */
const after = (all, one) => all[all.indexOf(one) + 1] ?? ""

const isData = ({ type, series }) => series !== null && type !== "window"

/**
 * The rows of lines, each an array of them: data lines of one source with consecutive numbers, and no series twice, are one row if there
 * are as many. `type` and `source` are the only ones, "" for all. The twin of Sources/Terminal/View/FeedRows.swift, held to Tests/Vectors/order.
 */
export class FeedRows {
    #groups = []
    #seen = 0
    #isWanted
    /** The oldest first. */
    rows = []

    constructor({ type = "", source = "", filter = "" } = {}) {
        const matches = filterOf(filter)
        this.#isWanted = line => (type === "" || line.type === type) && (source === "" || line.source === source)
            && matches([line.type, line.source, line.series, line.text, line.code].join("\n"))
    }

    /**
     * Takes in those of a ring of lines that it has not seen, and lets go of those that left it; says how many lines came, and how many
     * rows there are less for those that left.
     */
    update(lines) {
        const oldest = lines.first?.sequence ?? 0
        let gone = 0
        if (this.#groups[0]?.lines[0].sequence < oldest) {
            // Without its first lines a row may have room for those behind it: rows are what they were if they were made now.
            const left = this.#groups.flatMap(group => group.lines).filter(line => line.sequence >= oldest)
            this.#groups = []
            for (const line of left) this.#add(line)
            gone = this.rows.length
            this.rows = rowsOf(this.#groups)
            gone -= this.rows.length
        }
        let place = lines.count
        while (place > 0 && lines.at(place - 1).sequence > this.#seen) place -= 1
        let added = 0
        for (; place < lines.count; place++) {
            const line = lines.at(place)
            this.#seen = line.sequence
            if (!this.#isWanted(line)) continue
            this.#add(line)
            added += 1
        }
        if (added > 0) this.rows = rowsOf(this.#groups)
        return { gone, added }
    }

    #add(line) {
        const last = this.#groups.at(-1)
        const isNext = last?.series && isData(line) && line.source === last.lines[0].source && line.sequence === last.lines.at(-1).sequence + 1
        if (!isNext || last.series.has(line.series)) {
            this.#groups.push({ lines: [line], series: isData(line) ? new Set([line.series]) : null })
            return
        }
        last.lines.push(line)
        last.series.add(line.series)
    }
}

const rowsOf = groups => groups.flatMap(({ lines }) => lines.length < fewest ? lines.map(line => [line]) : [lines])

/** What tells a row from any other; another once a line was added to it. */
const nameOf = lines => `${lines[0].sequence}+${lines.length}`

/** The key of an item: the name of its series behind that of its source. */
export const keyOf = ({ series, source }) => series.startsWith(source + "/") ? series.slice(source.length + 1) : series

/** What is said of lines of several series of a source. */
function sayAll(lines) {
    return [`${lines.length} items`, lines.slice(0, mostNamed).map(keyOf).join(", ") + (lines.length > mostNamed ? ", …" : "")]
}

/** What a line is about: a series, or a kind of line and its source. */
function subject(line) {
    if (line.series !== null && line.type !== "window") return line.series
    return `${line.type} ${line.series ?? line.source}`
}

/** What the journal has of the run before. */
function restarted({ text, value, code }) {
    if (text === null) return "no run before is known"
    const end = code === null ? "was cut off" : `ended (${code})`
    return `last run ${end}, kept to ${fixed(value ?? 0, 0)}: ${text}`
}

/** What a line says, in words: what stands out, and the rest. */
export function say(board, line) {
    const unit = board.describedSource(line.source)?.unit ?? null
    const amount = line.value === null ? "" : quantity(line.value, line.kind, unit).whole
    switch (line.type) {
    case "error": return [line.code ?? "error", line.text ?? ""]
    case "latency": return [amount, line.text ?? ""]
    case "memory": return ["", amount + " resident"]
    case "window": return ["", "last " + amount]
    case "recovered": return ["", "answers again after " + length((line.value ?? 0) * 1e6)]
    case "progress": return ["", amount + " so far"]
    case "restart": return ["", restarted(line)]
    case "peer": return ["", "is " + (line.text ?? "")]
    case "lost": return ["", fixed(line.value ?? 0, 0) + " lines are lost"]
    case "alert": return [line.code ?? "", `${line.text ?? ""}${line.value === null ? "" : "  " + amount}`]
    case "clock": return ["", "the clock was set, or the machine slept"]
    case "agent": return ["", "how the agent is doing: see Metrics"]
    default: return [line.word ?? amount, line.text ?? ""]
    }
}
