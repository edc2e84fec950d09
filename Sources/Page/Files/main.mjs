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
//                          {name} for a series, {filter, sort} for the list, {type, filter} for the feed
//     hide()               another screen is shown
//     keys                 {"L": {text: "logarithmic scale", run(event) {…}}, "ArrowLeft": …}: keys (KeyboardEvent.key) of
//                          this screen; `text` is what help says, and a key without one is not told
//
// `context` is
//
//     board                the Board; another object after a new start (never kept beyond a call)
//     runs                 FibonacciRuns of the same lines
//     order                ListOrder: `rows` are indices of series, the topmost first
//     config               {version, pictures, demo, attached}, as the server says
//     settings             {utc, theme, keys}, remembered; `change({utc: true})` on context changes and draws
//     view                 {width, span, isLog, range}: how wide windows are and how much is shown, in microseconds (null:
//                          as the agent has it), the scale and the fixed range [low, high] (null: as values need it)
//     width, span          the two above with the agent's own filled in; `windowCount`, `lastWindow`, `start` go with them
//     utcOffset(now)       seconds that shown times are ahead of UTC
//     isStale(index)       whether a series is dimmed; isStaleAt(time, sourceName) likewise for any moment
//     isLost, isPaused     the agent is away; the screen stands still
//     isSnapshot           there is no agent behind this page: nothing can be polled
//     isBare               one graph alone (`?bare`)
//     navigate(hash)       goes to an address: "#/metrics"; `seriesAddress(name)` makes that of a series
//     step(count)          goes to the series so many rows on in the list's order
//     poll(source, body)   asks a source now; says how it went; resolves to whether it was taken
//     invalidate()         asks for a frame
//     say(text)            tells a screen reader, and shows it at the bottom for a moment
//
// Times are microseconds since the epoch, as Number. A module imports others as `from "./name.mjs"` on one line and in no
// other way: a snapshot has that text replaced.

import { element } from "./dom.mjs"

document.getElementById("main").append(element("p", { class: "empty" }, "waiting for the first value"))
