// The page: starts everything, holds what is shown, and draws at most once a frame.
//
// # Screens
//
// A screen is a module that exports `create(context)`, which returns
//
//     element              a <section>; main.mjs puts it into <main> once, and hides it while another screen is shown
//     update(board, now)   draws what changed; `now` is the agent's time. Called at most once a frame, while the screen is
//                          shown and the page visible, when lines came, a second passed, or `context.invalidate()` asked
//     show(params)         the address names this screen; again when the address changed on it
//                          {name} for a series, {filter, sort, firing} for the list, {type, source, filter} for the feed
//     hide()               another screen is shown
//     keys                 {"L": {text: "logarithmic scale", run(event) {…}}, "ArrowLeft": …}: keys (KeyboardEvent.key) of
//                          this screen, before the page's own; `text` is what help says, and a key without one is not
//                          told; a `run` that gives false leaves the key to the page
//
// `context` is
//
//     board                the Board; another object after a new start (never kept beyond a call)
//     order                ListOrder: `rows` and the `series` in their order
//     selected, series     the chosen row of the list, null for none, and the series that it leads to
//     config               {version, pictures, demo, attached}, as the server says
//     settings             {utc, theme, keys, folds}, remembered; `change({utc: true})` changes them and draws
//     fold(group, is)      folds a group of the list, or unfolds it
//     view                 {width, span, isLog, range}: how wide windows are and how much is shown, in microseconds (null:
//                          as the agent has it), the scale and the fixed range [low, high] (null: as values need it)
//     width, span          the two above with the agent's own filled in
//     extent(index)        {width, span, windowCount, lastWindow, start} of a series' windows on the screen
//     utcOffset(now)       seconds that shown times are ahead of UTC
//     rhythmText(series)   "every 10 m" where windows are as wide as a source's period, otherwise null
//     windows(index)       a series' windows that are on the screen, ascending
//     isStale(index)       whether a series is dimmed; isStaleAt(time, sourceName) likewise for any moment
//     stateOf(source)      failing, late, well or starting
//     isLost, isPaused     the agent is away; the screen stands still
//     isSnapshot           there is no agent behind this page: nothing can be polled
//     alerts               what `createAlerts` returns
//     firingOnly           the list shows only what fires
//     isBare               one graph alone (`?bare`)
//     navigate(hash)       goes to an address: "#/metrics"; `seriesAddress(name)` makes that of a series
//     step(count)          goes to the series so many on in the list's order, of the same source
//     poll(source)         asks a source now; says how it went; resolves to whether it was taken
//     press(key)           does what a key does
//     invalidate()         asks for a frame
//     say(text)            tells a screen reader, and shows it at the bottom for a moment
//
// Times are microseconds since the epoch, as Number. A module imports others as `from "./name.mjs"` on one line, and in no other
// way: a snapshot has that text replaced.

import { createAlerts } from "./alerts.mjs"
import { Board, isStale, limits, newestTime } from "./board.mjs"
import { create as createDetail } from "./detail.mjs"
import { element, setClass, setText, visible } from "./dom.mjs"
import { create as createFeed } from "./feed.mjs"
import { span as spanText } from "./format.mjs"
import { createHeader } from "./header.mjs"
import { createHelp } from "./help.mjs"
import { readLine } from "./line.mjs"
import { create as createList } from "./list.mjs"
import { create as createMetrics } from "./metrics.mjs"
import { ListOrder } from "./order.mjs"
import { createPolling } from "./poll.mjs"
import { replay } from "./recorded.mjs"
import { address, route, seriesAddress } from "./screens.mjs"
import { stateOf } from "./standing.mjs"
import { Stream } from "./stream.mjs"
import { AgentClock, PacedTime, windowIndex, windowStart } from "./windows.mjs"

const second = 1e6
const widths = [1, 2, 5, 10, 30, 60].map(seconds => seconds * second)
const spans = [10, 30, 60, 120, 300, 600, 1800, 3600].map(seconds => seconds * second)
const sorts = ["source", "name", "value", "change", "age"]
// Folds in the browser's memory: 200 names of 200 characters; oldest forgotten.
const mostFolds = 200
const themes = ["auto", "light", "dark"]
/** Lines change what is seen so often at the most, in milliseconds; what a person does is seen at the next frame. */
const pace = 100
// Bound: lines that a paused tab holds | 8 Mi characters | the stream is closed until it goes on
const mostHeld = 8 << 20
/** How long a hidden tab keeps its stream, in milliseconds. */
const hiddenGrace = 5_000
/** How long something said is seen, in milliseconds. */
const saidFor = 4_000

const query = new URLSearchParams(location.search)
const recorded = document.getElementById("lines")
const main = document.getElementById("main")

// What is remembered, where there is a memory

const remembered = "catwatch"

function recall() {
    const settings = { utc: false, theme: "auto", keys: true, folds: [] }
    try {
        const known = JSON.parse(localStorage.getItem(remembered)) ?? {}
        for (const key of ["utc", "theme", "keys"]) if (typeof known[key] === typeof settings[key]) settings[key] = known[key]
        settings.folds = known.folds.filter(([name, is]) => typeof name === "string" && typeof is === "boolean").slice(-mostFolds)
    } catch {
        // No memory is allowed here, or somebody else wrote into it.
    }
    return settings
}

// What is known

let board = new Board()
let order = new ListOrder()
let clock = new AgentClock()
const pacedTime = new PacedTime()
const localTime = () => pacedTime.at(Date.now() * 1000)
let now = 0
let connection = { kind: recorded === null ? "waiting" : "open", since: Date.now() }
/** While paused: the lines that came since, their characters, how many have a number, and when it was. */
let paused = null
/** By name, whether groups of the list are folded, where somebody chose. */
let folds = new Map()
let stream = null

const context = {
    get board() { return board },
    get order() { return order },
    get connection() { return connection },
    config: { version: "", pictures: [], attached: false },
    settings: recall(),
    view: { width: null, span: null, isLog: false, range: null },
    screen: "list",
    selected: null,
    filter: "",
    sort: "source",
    firingOnly: false,
    feedType: "",
    feedSource: "",
    /** How the agent plays a recording back: "10x", "max" or "paused"; "" when it does not. */
    playback: "",
    /** Changes with every new start and run, and with every list of sources. */
    epoch: 0,
    described: 0,
    isSnapshot: recorded !== null,
    isBare: query.has("bare"),
    isWall: query.has("wall"),
    get isLost() { return connection.kind === "lost" },
    get isPaused() { return paused !== null },
    get isKnown() { return clock.isKnown },
    get series() { return order.firstSeries(context.selected) },
    get newSince() { return paused.characters > mostHeld ? null : paused.count },

    get width() { return Math.max(context.view.width ?? board.interval, 1) },
    get span() { return context.view.span ?? board.history },
    /** Those of a source with a longer rhythm are no narrower than that, and go back as far as the agent's. */
    extent(index) {
        let { width, span } = context
        const own = board.series[index]?.span
        if (own?.width > board.interval) {
            width = Math.ceil(Math.max(width, own.width) / own.width) * own.width
            span = own.history
        }
        const windowCount = Math.min(Math.ceil(Math.max(span, 1) / width) + 1, 4_000)
        const lastWindow = windowIndex(now, width)
        return { width, span, windowCount, lastWindow, start: windowStart(lastWindow - windowCount + 1, width) }
    },
    /** The period of a source with a longer rhythm than the agent's windows; null for others. */
    rhythmText: series => series.span.width > board.interval ? `every ${spanText(series.span.width)}` : null,
    windows(index) {
        const { width, start } = context.extent(index)
        return board.windows(index, width, start)
    },
    utcOffset: time => context.settings.utc ? 0 : -new Date(time / 1000).getTimezoneOffset() * 60,
    isStale(index) {
        const series = board.series[index]
        const time = newestTime(series)
        return time !== null && (series.goneAt !== null || context.isStaleAt(time, series.source))
    },
    /** How a source does, as the screen shows it: not well while nothing comes. */
    stateOf(source) {
        const state = stateOf(source, now, context.width)
        return state === "well" && context.isLost ? "late" : state
    },
    // While lines from before the greeting come, what is old will be news in a moment.
    isStaleAt: (time, source) => !isBehind() && isStale(board.describedSource(source), time, now, context.width),
    /** Whether the agent that this one is attached to says nothing, which the stream itself does not tell. */
    isAwayBehind: time => context.config.attached && board.clock !== null && (time - board.clock) * 2 > board.interval * 5,

    seriesAddress,
    addressOf(screen) {
        if (screen !== "detail") return screens[screen].address?.() ?? address("/" + screen)
        const index = context.series
        return board.series[index] ? seriesAddress(board.series[index].name) : "#/series/"
    },
    title(board) {
        if (context.screen === "detail") return visible(board.series[context.selected]?.name ?? "Detail")
        return { list: "List", metrics: "Metrics", feed: "Feed" }[context.screen]
    },

    navigate(hash) {
        if (location.hash === hash) visit()
        else location.hash = hash
    },
    open() {
        const index = context.series
        if (index !== undefined) context.navigate(seriesAddress(board.series[index].name))
    },
    select(row) {
        context.selected = row
        invalidate()
    },
    fold({ name }, is) {
        folds = new Map([...[...folds].filter(([other]) => other !== name), [name, is]].slice(-mostFolds))
        // Longer names are known for as long as the page is open.
        context.change({ folds: [...folds].filter(([{ length }]) => length <= 200) })
    },
    step(count) {
        const same = order.within(board.series[context.series]?.source)
        const next = same[Math.min(Math.max(same.indexOf(context.selected) + count, 0), same.length - 1)]
        if (next !== undefined && next !== context.selected) replaceAddress(seriesAddress(board.series[next].name))
    },
    /** Takes over choices from the address. */
    take({ filter, sort, type, source, firing }) {
        if (filter !== undefined) setFilter(filter)
        if (sort !== undefined) context.sort = sorts.includes(sort) ? sort : "source"
        if (firing !== undefined) context.firingOnly = firing
        if (type !== undefined) context.feedType = type
        if (source !== undefined) context.feedSource = source
    },
    /** Chooses on this screen, which the address tells then. */
    choose(choices) {
        context.take(choices)
        replaceAddress(context.addressOf(context.screen))
        invalidate()
    },
    change(settings) {
        Object.assign(context.settings, settings)
        try {
            localStorage.setItem(remembered, JSON.stringify(context.settings))
        } catch {
            // It holds for as long as the page is open.
        }
        applyTheme()
        context.epoch += 1
        drawHints()
        invalidate()
    },
    poll: source => polling.poll(source),
    press,
    say,
    invalidate,
    focusScreen() {
        const screen = screens[context.screen].element
        // What is chosen from or scrolled has the keys at once; a screen that is more than that is itself scrolled by them.
        const target = screen.querySelector(":scope > [tabindex='0']:not([hidden])") ?? screen
        target.focus({ preventScroll: true })
    },
    drawWaiting,
}

/** Whether there are lines that the agent had when it greeted, and that have not come yet. */
function isBehind() {
    return board.hello !== null && board.lastSequence + 1 < board.hello.nextSeq
}

function setFilter(text) {
    const filter = [...text].slice(0, 100).join("")
    if (filter !== context.filter && context.screen === "list") context.selected = null
    context.filter = filter
}

// Lines

function begin() {
    board = new Board({ series: context.config.series ?? limits.series })
    order = new ListOrder()
    clock = new AgentClock()
    paused = null
    context.selected = null
    context.epoch += 1
    context.described += 1
}

function fold(line, local) {
    const { runChanges } = board
    board.fold(line)
    if (line.kind === "hello" || line.kind === "stats") context.described += 1
    if (board.runChanges !== runChanges) {
        order = new ListOrder()
        context.selected = null
        context.epoch += 1
    }
    // What the hello says is no old line's time; a data line's time is its event's.
    if (line.kind === "hello") clock = new AgentClock()
    if (line.kind !== "data" || !clock.isKnown) clock.note(line.time, local)
}

function togglePause() {
    if (paused === null) {
        paused = { now, lines: [], characters: 0, count: 0 }
    } else {
        const { lines } = paused
        paused = null
        for (const line of lines) fold(line, localTime())
        stream?.open()
    }
    invalidate()
}

const listener = {
    take(line, length) {
        const hadSeries = board.series.length > 0
        // Another run has nothing to do with what stands still.
        if (paused !== null && line.kind === "hello" && line.body.run !== board.hello?.run) togglePause()
        if (paused === null) {
            fold(line, localTime())
        } else {
            paused.lines.push(line)
            paused.characters += length
            if (line.seq !== null) paused.count += 1
            if (paused.characters > mostHeld) stream.close()
        }
        // The first ones are waited for.
        if (hadSeries) linesCame()
        else invalidate()
    },
    beat({ time, rate = 1, playback = "" }) {
        context.playback = String(playback)
        if (!clock.isKnown) return
        pacedTime.setRate(rate, Date.now() * 1000)
        const agent = Date.parse(time) * 1000
        if (Number.isFinite(agent)) clock.note(agent, localTime())
    },
    change(state) {
        const before = connection.kind
        connection = state
        if (state.kind === "lost" && before !== "lost") say(`agent lost: ${state.reason}`)
        if (state.kind === "open" && before === "lost") say("the agent is back")
        invalidate()
    },
}

/** Asks what the server is set to. */
async function configure() {
    try {
        const response = await fetch("config")
        if (!response.ok) return
        Object.assign(context.config, await response.json())
    } catch {
        return
    }
    if (context.config.series > board.limits.series) {
        // What came before is little.
        begin()
        stream.restart()
    }
    context.epoch += 1
    context.described += 1
    invalidate()
}

/** A hidden tab has no stream: a browser has six connections to a host, for all tabs together. */
function connect() {
    stream = new Stream(listener)
    let timer = 0
    const follow = () => {
        clearTimeout(timer)
        if (document.hidden) timer = setTimeout(() => stream.close(), hiddenGrace)
        else if (paused === null) stream.open()
    }
    document.addEventListener("visibilitychange", follow)
    stream.open()
    follow()
}

// Drawing

let frame = 0
let drawn = 0
let pending = 0
let ticker = 0

function invalidate() {
    if (frame !== 0 || document.hidden) return
    clearTimeout(pending)
    pending = 0
    frame = requestAnimationFrame(draw)
}

function linesCame() {
    if (frame !== 0 || pending !== 0 || document.hidden) return
    const rest = drawn + pace - performance.now()
    if (rest <= 0) invalidate()
    else pending = setTimeout(invalidate, rest)
}

function draw() {
    frame = 0
    drawn = performance.now()
    now = paused !== null ? paused.now : recorded !== null ? board.clock ?? 0 : clock.time(localTime())
    const lateAt = context.isLost || context.isAwayBehind(now) ? null : now
    order.update(board, context.sort, context.screen === "feed" ? "" : context.filter, folds, lateAt, context.firingOnly && context.screen === "list")
    const screen = screens[context.screen]
    if (context.screen === "detail") {
        // No one in particular is waited for: it is the topmost once there is one.
        if (wanted === null && context.series !== undefined) visit()
        if (wanted !== null) context.selected = board.seriesNamed(wanted) ?? null
    }
    header.update(board, now)
    screen.update(board, now)
    if (!isBehind()) context.alerts.announce(board)
}

/** Ages grow by themselves, where somebody sees them. */
function tick() {
    clearTimeout(ticker)
    if (document.hidden) return
    const rest = 1000 - (now / 1000 + performance.now() - drawn) % 1000
    ticker = setTimeout(() => {
        invalidate()
        tick()
    }, Math.max(rest, 200) + 5)
}

function drawWaiting(place) {
    const lines = []
    if (connection.kind === "lost") lines.push(["nothing had come yet"])
    else if (recorded !== null) lines.push(["nothing was recorded"])
    else if (connection.kind === "waiting") lines.push(["waiting for the agent"])
    else if (context.config.attached && board.hello === null) lines.push(["the agent that this one is attached to has not said anything yet"])
    else if (board.hello !== null && board.sources.every(source => !source.isListed || source.type === "memory")) {
        lines.push(["no sources are watched"], ["catwatch --preset all --http watches what it knows; a configuration names your own"])
    } else lines.push(["waiting for the first value"])
    for (const source of board.sources) {
        if (source.isListed && source.failure?.message) lines.push([`${visible(source.name)}: ${visible(source.failure.message)}`, "bad"])
    }
    const key = JSON.stringify(lines)
    if (place.dataset.key === key) return
    place.dataset.key = key
    place.replaceChildren(...lines.slice(0, 50).map(([text, look]) => element("p", { class: look ?? null }, text)))
}

let saidTimer = 0

function say(text) {
    const said = document.getElementById("said")
    setText(said, text)
    clearTimeout(saidTimer)
    saidTimer = setTimeout(() => setText(said, ""), saidFor)
}

function applyTheme() {
    const root = document.documentElement
    const theme = query.get("theme") ?? context.settings.theme
    setClass(root, "light", theme === "light")
    setClass(root, "dark", theme === "dark")
    setClass(root, "wall", context.isWall)
    setClass(document.body, "bare", context.isBare)
    setClass(document.body, "recording", recorded !== null)
}

// Addresses

/** The series that the address names. */
let wanted = null

function visit() {
    const { screen, params } = route(location.hash)
    const isOther = screen !== context.screen
    if (isOther) screens[context.screen].hide()
    context.screen = screen
    wanted = screen === "detail" ? params.name : null
    if (screen === "detail" && wanted === "") {
        // No one in particular: the chosen one, or the topmost once there is one.
        const index = context.series
        wanted = index === undefined ? null : board.series[index].name
    }
    for (const [name, each] of Object.entries(screens)) each.element.hidden = name !== screen
    document.body.dataset.screen = screen
    screens[screen].show(screen === "detail" ? { name: wanted } : params)
    drawHints()
    // Who was on the screen before goes on with this one; who just came was nowhere.
    if (isOther && drawn > 0 && (document.activeElement === document.body || main.contains(document.activeElement))) context.focusScreen()
    invalidate()
}

function replaceAddress(hash) {
    if (location.hash === hash || (hash === "#/" && location.hash === "")) return
    try {
        history.replaceState(null, "", hash)
    } catch {
        // A file's address may not be replaced everywhere.
        location.replace(hash)
        return
    }
    visit()
}

// Keys

function changeWidth(count) {
    const current = context.width
    const next = count > 0 ? widths.find(width => width > current) : widths.findLast(width => width < current)
    if (next !== undefined) context.view.width = next === board.interval ? null : next
    invalidate()
}

function changeSpan(count) {
    const next = count > 0 ? spans.find(span => span > context.span) : spans.findLast(span => span < context.span)
    if (next !== undefined || count > 0) context.view.span = next === undefined || next >= board.history ? null : next
    invalidate()
}

function toggleWall() {
    context.isWall = !context.isWall
    const search = new URLSearchParams(location.search)
    search.delete("wall")
    const rest = search.toString()
    const text = context.isWall ? "?wall" + (rest ? "&" + rest : "") : rest ? "?" + rest : location.pathname
    try {
        history.replaceState(null, "", text + location.hash)
    } catch {
        // A file's address stays as it is.
    }
    if (context.isWall && context.screen !== "list") context.navigate(context.addressOf("list"))
    applyTheme()
    invalidate()
}

function goBack() {
    if (context.isWall) return toggleWall()
    if ((context.screen === "list" || context.screen === "feed") && (context.filter !== "" || context.feedType !== "" || context.feedSource !== "" || context.firingOnly)) {
        return context.choose({ filter: "", type: "", source: "", firing: false })
    }
    if (context.screen !== "list") context.navigate(context.addressOf("list"))
}

const keys = {
    1: { run: () => context.navigate(context.addressOf("list")) },
    2: { run: () => context.navigate(context.addressOf("detail")) },
    3: { run: () => context.navigate(context.addressOf("metrics")) },
    4: { run: () => context.navigate(context.addressOf("feed")) },
    " ": { text: "pause, and go on", run: togglePause },
    "+": { text: "wider windows", run: () => changeWidth(1) },
    "=": { run: () => changeWidth(1) },
    "-": { text: "narrower windows", run: () => changeWidth(-1) },
    "_": { run: () => changeWidth(-1) },
    "[": { text: "less of the history", run: () => changeSpan(-1) },
    "]": { text: "more of the history", run: () => changeSpan(1) },
    s: { text: "sort by source, name, value, change, age", run: () => context.choose({ sort: sorts[(sorts.indexOf(context.sort) + 1) % sorts.length] }) },
    "/": { text: "filter by parts of the name: Köln|Kiel", run: () => !header.filter.hidden && header.filter.select() },
    "!": { text: "only what fires, and everything again", run: () => context.choose({ firing: !context.firingOnly }) },
    r: { text: "ask the sources now", run: () => polling.pollAll() },
    w: { text: "readable from afar, and back", run: toggleWall },
    u: { text: "local time, or UTC", run: () => context.change({ utc: !context.settings.utc }) },
    d: { text: "light, dark, or as the system has it", run: () => context.change({ theme: themes[(themes.indexOf(context.settings.theme) + 1) % themes.length] }) },
    Escape: { text: "back", run: goBack },
    "?": { run: toggleHelp },
}

/** Those that leave one graph alone where it is. */
const bareKeys = new Set(["ArrowLeft", "ArrowRight", "h", "l", "Home", "End", " ", "+", "=", "-", "_", "[", "]", "L", "y", "t", "u", "d"])

function press(key) {
    if (context.isBare && (context.screen !== "detail" || !bareKeys.has(key))) return false
    const own = screens[context.screen].keys[key]
    if (own !== undefined && own.run() !== false) return true
    if (keys[key] === undefined) return false
    keys[key].run()
    return true
}

function isUseful(key) {
    if (context.isSnapshot && (key === "r" || key === " ")) return false
    if (key === "s" || key === "!") return context.screen === "list"
    if (key === "/") return context.screen === "list" || context.screen === "feed"
    if ("+-[]".includes(key)) return context.screen === "list" || context.screen === "detail"
    return true
}

/** What a part that scrolls keeps for itself while it has the focus. */
const movements = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"])

addEventListener("keydown", event => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    const { key } = event
    const target = event.target instanceof Element ? event.target : document.body
    if (target.closest("input, select, textarea, dialog[open]") !== null && !(key === "?" && help.isOpen)) return
    if (movements.has(key) && target.closest(".chips, .graph-table") !== null) return
    // Letters alone are keys only where they are wanted (WCAG 2.1.4).
    if (key.length === 1 && !context.settings.keys) return
    // What is focused does this by itself.
    if ((key === "Enter" || key === " ") && target.closest("a, button, summary") !== null) return
    if (press(key)) event.preventDefault()
})

function drawHints() {
    header.drawHints(help.hints(context.screen, isUseful))
}

function toggleHelp() {
    if (help.isOpen) help.close()
    else help.open({ ...keys, ...screens[context.screen].keys }, isUseful)
}

// The start

context.alerts = createAlerts(context)
const polling = createPolling(context)
const help = createHelp(context)
const header = createHeader(context)
const screens = { list: createList(context), detail: createDetail(context), metrics: createMetrics(context), feed: createFeed(context) }
main.replaceChildren(...Object.values(screens).map(screen => screen.element))
// Who has the focus is scrolled by keys.
for (const screen of Object.values(screens)) screen.element.tabIndex = -1
folds = new Map(context.settings.folds)
applyTheme()
visit()
addEventListener("hashchange", visit)
document.addEventListener("visibilitychange", () => {
    if (document.hidden) return
    stream?.retry()
    invalidate()
    if (recorded === null) tick()
})
addEventListener("online", () => stream?.retry())
// A page that comes back from the browser's memory has left its stream.
addEventListener("pageshow", event => event.persisted && location.reload())
if (recorded !== null) {
    begin()
    // The lines that are in the page itself are all there is.
    replay(recorded.textContent, text => {
        for (const line of text.split("\n").map(readLine)) if (line !== null) fold(line, localTime())
        now = board.clock ?? 0
        invalidate()
    })
} else {
    connect()
    configure()
    tick()
}
