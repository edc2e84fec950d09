// The list: a row for each series, with the sources that fail or are late on top and headings between, of which only those in sight
// are in the document. A row is a record that knows what it shows, so that one whose series said nothing new costs a comparison.

import { element, pixels, setAttribute, setClass, setStyle, setText, visible } from "./dom.mjs"
import { age } from "./format.mjs"
import { newestTime } from "./board.mjs"
import { setBadgeColor } from "./bands.mjs"
import { createSparkline } from "./sparkline.mjs"
import { Group, isAlert } from "./order.mjs"
import { address } from "./screens.mjs"
import { drawSmall } from "./pictures.mjs"
import { headingOf, marks, nameParts, noteOf, shapes, standing, troubleText } from "./standing.mjs"

// The page's rows of series: those in sight, 6 above and below; others when they come into sight.
/** Rows above and below what is seen, so that a quick hand sees no hole. */
const beyond = 6
const columns = [
    { name: "name", title: "name", sort: "name" }, { name: "spark", title: "history" },
    { name: "value", title: "value", sort: "value" }, { name: "band", title: "band" },
    { name: "change", title: "change", sort: "change" }, { name: "age", title: "age", sort: "age" },
    { name: "text", title: "newest" },
]

export function create(context) {
    const sorts = new Map()
    const head = element("div", { role: "row", class: "row titles", "aria-rowindex": 1 }, ...columns.map(column => {
        const cell = element("div", { role: "columnheader", class: "cell " + column.name })
        if (column.sort) {
            cell.append(element("button", { type: "button", class: "sort", tabindex: -1,
                onclick: () => context.choose({ sort: context.sort === column.sort ? "source" : column.sort }) }, column.title))
            sorts.set(column.sort, cell)
        } else {
            cell.append(column.title)
        }
        return cell
    }))
    const body = element("div", { role: "rowgroup", class: "rows" })
    const grid = element("div", { role: "treegrid", class: "grid", tabindex: 0, "aria-label": "Series", "aria-readonly": "true" },
        element("div", { role: "rowgroup", class: "head" }, head), body)
    const empty = element("div", { class: "empty" })
    const section = element("section", { class: "list", "aria-labelledby": "list-title" },
        element("h2", { id: "list-title", class: "visually-hidden" }, "List"), grid, empty)

    /** Records of rows; the one for place p of the order is at p modulo their number. */
    let pool = []
    let layout = { isWall: false, rowHeight: 36, room: 0 }
    let isMeasured = false
    let shown = []
    let follows = false

    grid.addEventListener("scroll", () => context.invalidate(), { passive: true })
    new ResizeObserver(() => {
        isMeasured = false
        context.invalidate()
    }).observe(grid)
    body.addEventListener("click", event => {
        const row = pool.find(each => each.element.contains(event.target))
        if (!row || row.item === null) return
        // A link does what its browser does with it: another tab, another window.
        if (event.target.closest("a")) return
        context.select(row.item)
        enter()
    })

    function makeRow() {
        const spark = createSparkline()
        const prefix = element("span", { class: "prefix" })
        const rest = element("span", { class: "rest" })
        const link = element("a", { tabindex: -1 }, prefix, rest)
        const amount = element("span", { class: "amount" })
        const unit = element("span", { class: "unit" })
        const former = element("span", { class: "badge none" })
        const to = element("span", { class: "arrow" })
        const badge = element("span", { class: "badge" })
        const bandName = element("span", { class: "band-name" })
        const arrow = element("span", { class: "arrow" })
        const change = element("span", { class: "difference" })
        const ageCell = element("div", { role: "gridcell", class: "cell age" })
        const text = element("div", { role: "gridcell", class: "cell text" })
        const nameCell = element("div", { role: "gridcell", class: "cell name" }, link)
        const state = element("span", { class: "mark", role: "img" })
        const name = element("strong")
        const says = element("span", { class: "says" })
        const since = element("span", { class: "since" })
        const source = element("div", { role: "gridcell", class: "cell source", "aria-colspan": columns.length }, state, name, says, since)
        const mark = element("span", { class: "mark", role: "img" })
        nameCell.prepend(mark)
        const row = element("div", { role: "row", class: "row", hidden: true }, source,
            nameCell,
            element("div", { role: "gridcell", class: "cell spark" }, spark.element),
            element("div", { role: "gridcell", class: "cell value" }, amount, unit),
            element("div", { role: "gridcell", class: "cell band" }, former, to, badge, bandName),
            element("div", { role: "gridcell", class: "cell change" }, arrow, change),
            ageCell, text)
        body.append(row)
        return {
            element: row, source: { state, name, says, since }, mark, nameCell, picture: null, pictured: null, picturedAt: 0, link, prefix, rest, spark, amount, unit, former: { node: former, shape: -2, color: "" }, to, badge: { node: badge, shape: -2, color: "" }, bandName, arrow, change, age: ageCell, text,
            place: -1, item: null, index: -1, name: null, key: "", changeText: "", hasText: false,
        }
    }

    // Where rows are

    function measure() {
        layout = { isWall: context.isWall, rowHeight: pixels(grid, "--row-height"), room: grid.clientHeight - head.offsetHeight }
        isMeasured = true
        for (const row of pool) row.place = -1
    }

    // Drawing

    function update(board, now) {
        const { rows } = context.order
        if (!isMeasured || layout.isWall !== context.isWall) measure()
        shown = rows
        drawEmpty(board, rows)
        grid.hidden = rows.length === 0
        if (rows.length === 0) return
        setStyle(body, "height", `${rows.length * layout.rowHeight}px`)
        setAttribute(grid, "aria-rowcount", rows.length + 1)
        for (const [key, cell] of sorts) setAttribute(cell, "aria-sort", key === context.sort ? (key === "name" ? "ascending" : "descending") : null)

        const chosen = chosenPlace()
        if (follows && chosen >= 0) reveal(chosen)
        follows = false
        const first = Math.max(0, Math.floor(grid.scrollTop / layout.rowHeight) - beyond)
        const last = Math.min(rows.length, Math.ceil((grid.scrollTop + layout.room) / layout.rowHeight) + beyond)
        // Only ever more, so that the same place has the same record.
        const need = Math.min(Math.ceil(layout.room / layout.rowHeight) + 2 * beyond + 2, rows.length)
        if (pool.length < need) {
            for (const row of pool) row.place = -1
            while (pool.length < need) pool.push(makeRow())
        }
        const used = new Set()
        for (let place = first; place < last; place++) {
            const row = pool[place % pool.length]
            used.add(row)
            put(row, place)
            draw(row, board, rows[place], now, place === chosen)
        }
        // A column that hardly any row has something for is not worth its place.
        setClass(grid, "wordier", pool.filter(row => used.has(row) && row.hasText).length * 5 >= used.size)
        for (const row of pool) {
            if (used.has(row) || row.item === null) continue
            row.element.hidden = true
            row.place = -1
            row.item = null
            row.index = -1
            row.key = ""
        }
        setAttribute(grid, "aria-activedescendant", chosen >= first && chosen < last ? pool[chosen % pool.length].element.id : null)
    }

    /** Where the chosen row stands; -1 where nothing is chosen. */
    const chosenPlace = () => context.selected === null ? -1 : context.order.place(context.selected)

    function put(row, place) {
        if (row.place === place) return
        row.place = place
        setStyle(row.element, "transform", `translateY(${place * layout.rowHeight}px)`)
        setAttribute(row.element, "aria-rowindex", place + 2)
        row.element.id = "row-" + place
        row.element.hidden = false
    }

    function draw(row, board, item, now, isChosen) {
        setClass(row.element, "chosen", isChosen)
        setAttribute(row.element, "aria-selected", isChosen ? "true" : "false")
        row.item = item
        const isSource = typeof item !== "number"
        setClass(row.element, "of-source", isSource)
        const alerts = isSource ? isAlert(item) ? [item] : undefined : context.order.alertsOf(item)
        setClass(row.element, "ill", isSource && !(item instanceof Group) && alerts === undefined)
        row.said = (alerts && context.alerts.row(alerts, now)) ?? null
        setAttribute(row.element, "data-severity", row.said?.severity ?? null)
        setAttribute(row.element, "aria-level", !isSource && context.order.isBelowHeading(item) ? 2 : 1)
        setAttribute(row.element, "aria-expanded", item instanceof Group ? String(!isFolded(item)) : null)
        if (isSource) drawSource(row, item, now)
        else drawSeries(row, board, item, now)
    }

    const isFolded = group => group.isFolded && !context.order.isFiltered

    /** The mark of a source's state, or of what is said of an alert; null for none. */
    function setMark(node, state) {
        setText(node, state?.sign ?? marks[state] ?? "")
        setAttribute(node, "aria-label", state?.label ?? state)
        setAttribute(node, "class", "mark " + (state?.sign ? "sign" : state ?? ""))
    }

    /** A heading, what is wrong with a source, or an alert. */
    function drawSource(row, item, now) {
        const isHeading = item instanceof Group
        row.index = -1
        row.key = ""
        row.hasText = false
        for (const name of ["stale", "wordy", "told"]) setClass(row.element, name, false)
        const { state, name, says, since } = row.source
        const { source, ...heading } = isHeading ? headingOf(item, now) : isAlert(item) ? { name: item.subject, age: "" } : { source: item, name: item.name, age: "" }
        setMark(state, source ? context.stateOf(source) : row.said)
        setText(name, visible(heading.name))
        setText(says, isHeading ? heading.text : visible(source ? troubleText(item, now, context.board.interval, context.utcOffset(now)) : row.said?.text ?? item.condition))
        setAttribute(says, "title", isHeading ? null : says.textContent)
        setText(since, heading.age)
    }

    function drawSeries(row, board, index, now) {
        const series = board.series[index]
        const { order } = context
        const isBelow = order.isBelowHeading(index)
        setMark(row.mark, row.said !== null ? row.said : order.isHeading(index) ? context.stateOf(board.describedSource(series.source)) : null)
        const time = newestTime(series)
        const isStale = context.isStale(index)
        const ageText = time === null ? "" : age(now - time)
        setText(row.age, ageText)
        setAttribute(row.age, "title", context.rhythmText(series))
        setClass(row.age, "warning", isStale)
        setClass(row.element, "stale", isStale)
        const note = noteOf(series, now, context.utcOffset(now))
        setText(row.change, note ?? row.changeText)
        setClass(row.element, "noted", note !== null)
        const extent = context.extent(index)
        // All that the rest is made from.
        const key = `${index} ${series.newest?.sequence} ${series.event?.sequence} ${series.windows.length} ${series.windows.at(-1)?.start} ${Object.values(extent)} ${context.described} ${isBelow} ${series.goneAt} ${row.said?.text}`
        if (row.index === index && row.key === key) return
        const isOther = row.index !== index || row.name !== series.name || row.isBelow !== isBelow
        row.isBelow = isBelow
        row.index = index
        row.key = key
        if (isOther) {
            row.name = series.name
            const [prefix, rest] = nameParts(series)
            setText(row.prefix, isBelow && series.kind === "data" ? "" : visible(prefix))
            setText(row.rest, visible(rest))
            setAttribute(row.link, "href", context.seriesAddress(series.name))
            setAttribute(row.link, "title", visible(series.name))
        }
        const windows = series.newest ? context.windows(index) : []
        const stands = standing(board, series, windows, extent.width)
        setClass(row.element, "wordy", stands.quantity === null && series.event !== null)
        const text = row.said?.text ?? series.event?.text ?? ""
        // Without bands there is room for what was said beside the line.
        setClass(row.element, "told", text !== "" && stands.quantity !== null && (stands.band === null || row.said !== null))
        setText(row.text, visible(text))
        setAttribute(row.text, "title", row.said && visible(text))
        row.hasText = text !== "" && stands.band !== null && row.said === null
        setText(row.amount, visible(stands.quantity?.text ?? ""))
        setText(row.unit, visible(stands.quantity?.unit ?? ""))
        const band = stands.band
        drawBadge(row.badge, band)
        drawBadge(row.former, stands.former)
        setText(row.to, stands.former === null ? "" : "→")
        setAttribute(row.to, "class", "arrow " + stands.course)
        const isNamed = band !== null && band.name !== stands.word
        setText(row.bandName, isNamed ? visible(band.name) : "")
        setClass(row.element, "worded", stands.word !== null)
        setStyle(row.element, "--badges", stands.former !== null ? "74px" : band !== null ? "30px" : "0px")
        setAttribute(row.amount, "title", stands.word !== null ? visible(stands.word) : null)
        drawSmall(row, series, now, context.config)
        setText(row.arrow, stands.arrow)
        setAttribute(row.arrow, "class", "arrow " + stands.course)
        row.changeText = stands.changeText
        setText(row.change, note ?? row.changeText)
        row.spark.update(windows, {
            width: extent.width, last: extent.lastWindow, count: extent.windowCount,
            scale: series.kind === "data" ? board.describedSource(series.source)?.bands ?? null : null, isStrip: stands.word !== null,
        })
    }

    function drawBadge(badge, band) {
        const { node } = badge
        setText(node, band === null ? "" : visible(band.letter))
        const shape = band === null ? -1 : band.place < 0 ? 0 : band.place % shapes
        if (shape !== badge.shape) {
            badge.shape = shape
            setAttribute(node, "class", shape < 0 ? "badge none" : `badge shape-${shape}`)
        }
        const color = band?.color ?? ""
        if (color !== badge.color) {
            badge.color = color
            setBadgeColor(node, color)
        }
    }

    function drawEmpty(board, rows) {
        empty.hidden = rows.length > 0
        if (rows.length > 0) return
        if (context.firingOnly && board.series.length > 0) {
            context.alerts.drawEmpty(empty)
        } else if (context.filter !== "" && board.series.length > 0) {
            empty.replaceChildren(element("p", {}, "no series is called ", element("strong", {}, visible(context.filter))),
                element("p", {}, element("button", { type: "button", class: "plain", onclick: () => context.choose({ filter: "" }) }, "clear the filter")))
        } else {
            context.drawWaiting(empty)
        }
    }

    // Choosing

    function reveal(place) {
        const { rowHeight, room } = layout
        const top = place * rowHeight
        if (top < grid.scrollTop) grid.scrollTop = top
        else if (top + rowHeight > grid.scrollTop + room) grid.scrollTop = top + rowHeight - room
    }

    function move(step) {
        if (shown.length === 0) return
        const from = chosenPlace()
        // Nothing chosen is the topmost, which the first key chooses.
        const next = from < 0 ? (step < 0 ? 0 : Math.min(step - 1, shown.length - 1)) : from + step
        context.select(shown[Math.min(Math.max(next, 0), shown.length - 1)])
        follows = true
    }

    /** The row that is seen as chosen, which may stand for one that is folded or gone; null for none. */
    function current() {
        if (chosenPlace() >= 0) context.selected = shown[chosenPlace()]
        return context.selected
    }

    /** What Enter and a click do: headings are folded and unfolded, and whatever else leads to a series. */
    function enter() {
        const chosen = current()
        const source = context.board.series[context.series]?.source
        if (chosen instanceof Group) context.fold(chosen, !chosen.isFolded)
        // A source without a series leads into none, and least into another's.
        else if (chosen !== null && isAlert(chosen) ? source === chosen.subject.split("/")[0] : (chosen?.name ?? source) === source) context.open()
    }

    /** Unfolds a heading, or folds it; says whether one is chosen. */
    function fold(is) {
        const chosen = current()
        if (!(chosen instanceof Group)) return false
        if (chosen.isFolded !== is) context.fold(chosen, is)
        return true
    }

    const inward = () => fold(false) || enter()
    const outward = () => fold(true)
    const page = () => Math.max(1, Math.floor(layout.room / layout.rowHeight) - 1)
    const far = 1_000_000
    const line = step => () => move(step)
    const keys = {
        ArrowUp: { text: "choose a series", run: line(-1) }, ArrowDown: { run: line(1) },
        k: { run: line(-1) }, j: { run: line(1) },
        PageUp: { text: "by pages", run: () => move(-page()) }, PageDown: { run: () => move(page()) },
        Home: { text: "to the ends", run: () => move(-far) }, End: { run: () => move(far) },
        g: { run: () => move(-far) }, G: { run: () => move(far) },
        Enter: { text: "into a series; fold or unfold a heading", run: enter },
        ArrowRight: { run: inward }, ArrowLeft: { text: "fold and unfold", run: outward },
        l: { run: inward }, h: { run: outward },
    }

    return {
        element: section,
        update,
        show(params) {
            context.take({ filter: params.filter ?? "", sort: params.sort ?? "source", firing: params.firing === "only" })
            follows = true
        },
        hide() {},
        keys,
        address: () => address("/", { filter: context.filter, sort: context.sort === "source" ? "" : context.sort, firing: context.firingOnly && "only" }),
    }
}
