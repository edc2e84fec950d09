import assert from "node:assert/strict"
import { test } from "node:test"
import { drawSmall, pictureAddress } from "../../Sources/Page/Files/pictures.mjs"

const config = { pictures: ["https://cdn2.thedogapi.com"], demo: "http://127.0.0.1:4711" }

test("a picture of an allowed origin is an image, any other https address a link", () => {
    const image = "https://cdn2.thedogapi.com/images/a.jpg?x=1"
    assert.deepEqual(pictureAddress(image, config), { image, link: image })
    const link = "https://elsewhere.example/a.jpg"
    assert.deepEqual(pictureAddress(link, config), { image: null, link })
    assert.equal(pictureAddress(image, {}).image, null)
})

test("an origin is allowed as a whole, not by how it begins", () => {
    for (const evil of [
        "https://cdn2.thedogapi.com.evil.example/a", "https://cdn2.thedogapi.com:8443/a", "https://cdn2.thedogapi.com@evil.example/a",
        "https://evil.example/https://cdn2.thedogapi.com/a",
    ]) assert.equal(pictureAddress(evil, config)?.image ?? null, null, evil)
})

test("the demo's own pictures come by way of the page's origin", () => {
    assert.deepEqual(pictureAddress("http://127.0.0.1:4711/pictures/beagle-1.svg?s=2", config),
        { image: "demo/pictures/beagle-1.svg?s=2", link: null })
    assert.deepEqual(pictureAddress("http://127.0.0.1:4711/../../x", config), { image: "demo/x", link: null })
    assert.equal(pictureAddress("http://127.0.0.1:4712/a", config), null)
    assert.equal(pictureAddress("http://127.0.0.1:4711/a", { pictures: [] }), null)
})

test("whatever else is text", () => {
    for (const text of [
        "http://cdn2.thedogapi.com/a.jpg", "javascript:alert(1)", "data:image/svg+xml,<svg/>", "blob:https://cdn2.thedogapi.com/1",
        "//cdn2.thedogapi.com/a.jpg", "a.jpg", "", "https://", "https://user:secret@cdn2.thedogapi.com/a", "https://user@elsewhere.example/",
        "http://user@127.0.0.1:4711/a", "file:///etc/passwd",
    ]) assert.equal(pictureAddress(text, config), null, text)
})

test("a picture that did not come stays away until there is another", t => {
    const listeners = {}
    const attributes = {}
    const picture = {
        addEventListener: (name, listener) => { listeners[name] = listener }, append() {},
        setAttribute: (name, value) => { attributes[name] = value }, hasAttribute: name => name in attributes,
        getAttribute: name => attributes[name] ?? null, removeAttribute: name => delete attributes[name],
    }
    globalThis.document = { createElement: () => picture }
    t.after(() => { delete globalThis.document })
    const row = { picture: null, nameCell: { append() {} } }
    let now = 0
    const draw = (address, name = "dog") => {
        now += 10_000_000
        const data = address === null ? null : JSON.stringify({ url: address })
        drawSmall(row, { name, event: { data, text: null } }, now, config)
        return [attributes.src?.at(-5), picture.hidden]
    }
    const [one, other] = ["a", "b"].map(name => `https://cdn2.thedogapi.com/${name}.jpg`)
    assert.deepEqual(draw(one), ["a", false])
    listeners.error()
    assert.equal(picture.hidden, true)
    assert.deepEqual([draw(one), draw(one)], [["a", true], ["a", true]])
    assert.deepEqual(draw(other), ["b", false])
    assert.deepEqual(draw(one), ["a", false])
    listeners.error()
    assert.deepEqual([draw(one, "cat"), draw(null, "cat")], [["a", true], [undefined, true]])
})
