// A screen that comes later, without a browser: nodes, modules and the time are stand-ins.
import assert from "node:assert"
import test, { mock } from "node:test"
import { pageFolder } from "./files.mjs"

const { createChips } = await import(new URL("header.mjs", pageFolder))
const { createLater } = await import(new URL("screens.mjs", pageFolder))

class FakeNode {
    constructor(name) { Object.assign(this, { name, children: [], childNodes: [], listeners: {}, text: "", hidden: false, place: null }) }
    setAttribute(name, value) { (this.attributes ??= {})[name] = value }
    hasAttribute() { return false }
    getAttribute(name) { return this.attributes?.[name] ?? null }
    addEventListener(name, listener) { this.listeners[name] = listener }
    append(...children) { this.children.push(...children) }
    replaceWith(other) { this.replacement = other }
    contains(node) { return node === this || this.children.includes(node) }
    get firstChild() { return null }
    set textContent(text) { this.text = text }
}
globalThis.document = { createElement: name => new FakeNode(name) }

/** Lets everything go on that waits for nothing but its turn. */
const turn = () => new Promise(resolve => setImmediate(resolve))

/** A screen that comes later, and what is done with it. */
function stage(t) {
    mock.timers.enable({ apis: ["Date"], now: 1_000_000 })
    t.after(() => mock.timers.reset())
    const told = []
    const inner = {
        element: new FakeNode("section"), keys: { a: {} }, update: (...rest) => told.push(["update", ...rest]),
        show: params => told.push(["show", params]), hide: () => told.push(["hide"]),
    }
    const loads = []
    const load = () => new Promise((resolve, reject) => loads.push({ come: () => resolve({ create }), fail: () => reject(new Error("gone")) }))
    const context = { invalidate: () => told.push(["invalidate"]), focusScreen: () => told.push(["focus"]) }
    const create = given => {
        assert.strictEqual(given, context)
        told.push(["create"])
        return inner
    }
    const later = createLater(context, load)
    const [said, button] = later.element.children
    const take = () => told.splice(0)
    return { later, inner, loads, take, said, button, waiting: later.element }
}

test("a screen is fetched when it is first shown, and takes its place then", async t => {
    const { later, inner, loads, take, said, button, waiting } = stage(t)
    assert.deepStrictEqual([later.keys, later.address(), loads.length], [{}, undefined, 0])
    later.show({ name: "a" })
    later.update("board", 1)
    assert.deepStrictEqual([said.text, button.hidden, loads.length], ["", true, 1])
    mock.timers.tick(300)
    later.update("board", 1)
    assert.strictEqual(said.text, "fetching this screen")
    // Another address of it meanwhile.
    later.show({ name: "b" })
    loads[0].come()
    await turn()
    assert.deepStrictEqual(take(), [["create"], ["show", { name: "b" }], ["invalidate"]])
    assert.strictEqual(waiting.replacement, inner.element)
    assert.strictEqual(later.element, inner.element)
    assert.strictEqual(later.keys, inner.keys)
    assert.strictEqual(later.address(), undefined)
    inner.address = () => "#/feed?type=error"
    assert.strictEqual(later.address(), "#/feed?type=error")
    later.update("board", 2)
    later.hide()
    later.show({ name: "c" })
    assert.deepStrictEqual(take(), [["update", "board", 2], ["hide"], ["show", { name: "c" }]])
    assert.strictEqual(loads.length, 1)
})

test("a screen that was fetched ahead of time is there at once, and made when it is shown", async t => {
    const { later, loads, take } = stage(t)
    const fetched = later.fetch()
    loads[0].come()
    assert.strictEqual(await fetched, true)
    assert.deepStrictEqual(take(), [])
    later.show({})
    assert.deepStrictEqual(take(), [["create"], ["show", {}]])
    assert.strictEqual(await later.fetch(), true)
    assert.strictEqual(loads.length, 1)
})

test("a screen that comes after another was chosen stays away until it is shown", async t => {
    const { later, loads, take, waiting } = stage(t)
    later.show({})
    later.hide()
    loads[0].come()
    await turn()
    assert.deepStrictEqual(take(), [])
    assert.strictEqual(waiting.replacement, undefined)
    later.show({ again: true })
    assert.deepStrictEqual(take(), [["create"], ["show", { again: true }]])
})

test("a screen that does not come says so, and is asked for again by a button and by itself", async t => {
    const { later, inner, loads, take, said, button } = stage(t)
    later.element.tabIndex = -1
    // Who pressed the button is there still.
    document.activeElement = button
    t.after(() => { document.activeElement = null })
    assert.strictEqual(await Promise.all([later.fetch(), turn().then(() => loads[0].fail())]).then(([isThere]) => isThere), false)
    later.show({})
    loads[1].fail()
    await turn()
    assert.deepStrictEqual(take(), [["invalidate"]])
    later.update("board", 1)
    assert.deepStrictEqual([said.text, button.hidden], ["this screen could not be fetched from the agent", false])
    mock.timers.tick(2_999)
    later.update("board", 1)
    assert.strictEqual(loads.length, 2)
    button.listeners.click()
    assert.strictEqual(loads.length, 3)
    // Not twice at a time, however long it takes.
    button.listeners.click()
    mock.timers.tick(60_000)
    later.update("board", 1)
    assert.strictEqual(loads.length, 3)
    loads[2].fail()
    await turn()
    later.update("board", 1)
    assert.strictEqual(loads.length, 3)
    mock.timers.tick(3_000)
    later.update("board", 1)
    assert.strictEqual(loads.length, 4)
    loads[3].come()
    await turn()
    assert.deepStrictEqual(take(), [["invalidate"], ["create"], ["show", {}], ["focus"], ["invalidate"]])
    assert.strictEqual(inner.element.tabIndex, -1)
})

test("of many sources only those have a text made that are shown", () => {
    const chips = createChips("Sources", "chips")
    const made = []
    const textOf = name => {
        made.push(name)
        return { mark: "●", state: "well", name, says: "" }
    }
    const names = Array.from({ length: 1000 }, (_, place) => `s${place}`)
    assert.strictEqual(chips.draw(names, 3, textOf), true)
    assert.deepStrictEqual([made, chips.element.children.length], [["s0", "s1", "s2"], 3])
    assert.strictEqual(chips.element.getAttribute("data-rest"), "and 997 more")
    assert.strictEqual(chips.draw(names, 3, textOf), false)
    assert.strictEqual(made.length, 6)
})
