// What is said of alerts, as far as no vector says it: Tests/Vectors/order has the rows.

import assert from "node:assert"
import test from "node:test"
import { createAlerts, linesText, zones } from "../../Sources/Page/Files/alerts.mjs"
import { Board } from "../../Sources/Page/Files/board.mjs"

const time = "2026-03-01T12:00:00.000000Z"
const hello = run => ({ type: "hello", time, format: 1, run, first_seq: 1, next_seq: 1 })

function stage(t) {
    const board = new Board()
    const said = []
    let clock = 10_000
    t.mock.method(performance, "now", () => clock)
    const alerts = createAlerts({ board, utcOffset: () => 0, say: text => said.push(text) })
    return {
        board, said, alerts,
        wait: milliseconds => { clock += milliseconds },
        begin: run => assert.ok(board.apply(JSON.stringify(hello(run)))),
        alert(about, state = "firing", severity = undefined, condition = "hot") {
            const line = { seq: board.lastSequence + 1, time, type: "alert", source: "rooms", about, condition, state, id: "i", at: time, since: time, severity }
            assert.ok(board.apply(JSON.stringify({ ...line, test: "> 5", evidence: { run: "a", from: 0, to: 0 } })))
        },
    }
}

test("an alert that begins or ends is told, and those of a while together", t => {
    const { board, said, alerts, wait, begin, alert } = stage(t)
    begin("a")
    alert("rooms/old")
    alerts.announce(board)
    assert.deepStrictEqual(said, [])
    alert("rooms/\u001b[31mkitchen")
    alerts.announce(board)
    assert.deepStrictEqual(said.splice(0), ["alert hot on rooms/␛[31mkitchen"])
    alert("rooms/old", "resolved")
    wait(3_900)
    alerts.announce(board)
    assert.deepStrictEqual(said, [])
    alert("rooms/bath")
    alert("rooms/hall")
    alert("rooms/short")
    alert("rooms/short", "resolved")
    wait(200)
    alerts.announce(board)
    assert.deepStrictEqual(said.splice(0), ["2 alerts began, alert over: hot on rooms/old"])
    // A reminder is no news, nor is what another run says.
    alert("rooms/bath", "reminder")
    wait(5_000)
    alerts.announce(board)
    begin("b")
    alert("rooms/bath")
    alerts.announce(board)
    assert.deepStrictEqual(said, [])
})

test("as many as fire are counted, by the worst of them", t => {
    const { board, alerts, begin, alert } = stage(t)
    begin("a")
    assert.strictEqual(alerts.summary(board), null)
    const steps = [["info", "◆ 1 alert", "info"], ["warning", "▲ 2 alerts", "warning"], ["page me", "✕ 3 alerts", "unknown"], ["critical", "✕ 4 alerts", "critical"]]
    for (const [severity, text, worst] of steps) {
        alert(`rooms/${severity}`, "firing", severity)
        assert.deepStrictEqual(alerts.summary(board), { text, severity: worst })
    }
})

test("a limit has what is beyond it on its sides", () => {
    const cases = [
        [">", 5, null, [[5, Infinity]]], [">=", 5, null, [[5, Infinity]]], ["<", 5, null, [[-Infinity, 5]]], ["<=", 5, null, [[-Infinity, 5]]],
        ["in", 5, 9, [[5, 9]]], ["not in", 5, 9, [[-Infinity, 5], [9, Infinity]]], ["=", 5, null, []], ["!=", 5, null, []],
    ]
    for (const [op, value, upper, should] of cases) assert.deepStrictEqual(zones({ op, value, upper }), should, op)
})

test("lines are named where this feed has them", () => {
    const text = (evidence, agent = null) => linesText({ agent, evidence: { run: "a", ...evidence } }, { run: "a" })
    assert.strictEqual(text({ from: 640, to: 811 }), "lines 640 to 811")
    assert.strictEqual(text({ from: 640, to: 811 }), "lines 640 to 811")
    assert.strictEqual(text({ from: 0, to: 811 }), "line 811")
    assert.strictEqual(text({ from: 5, to: 0 }), null)
    assert.strictEqual(text({ run: "b", from: 5, to: 9 }), null)
    assert.strictEqual(text({ run: "b", from: 5, to: 9 }, "web1"), "lines 5 to 9 of web1")
})
