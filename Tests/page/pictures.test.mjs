import assert from "node:assert/strict"
import { test } from "node:test"
import { pictureAddress } from "../../Sources/Page/Files/pictures.mjs"

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
