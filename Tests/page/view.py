"""Where things are on the page."""

import re

from playwright.sync_api import expect

# What has nothing to do with a page's looks but would be seen on none: how far one can scroll sideways, and what sticks out
# of the window without being in something that scrolls or cuts by itself.
STICKS_OUT = """() => {
    const out = []
    const root = document.scrollingElement
    if (root.scrollWidth > root.clientWidth) out.push(`the page is ${root.scrollWidth} wide, its window ${root.clientWidth}`)
    const cuts = node => {
        for (let up = node.parentElement; up && up !== document.body; up = up.parentElement) {
            if (getComputedStyle(up).overflowX !== "visible") return true
        }
        return false
    }
    for (const node of document.body.querySelectorAll("*")) {
        const box = node.getBoundingClientRect()
        if (box.width === 0 || box.height === 0 || (box.right <= innerWidth + 0.5 && box.left >= -0.5)) continue
        if (node.closest(".visually-hidden, .skip, svg svg, svg *") || cuts(node)) continue
        out.push(`<${node.localName} class="${node.getAttribute("class") ?? ""}"> is from ${box.left} to ${box.right} of ${innerWidth}`)
    }
    return out
}"""


def drawn(page):
    """Waits for two frames: what has come is drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def rows(page):
    """The rows of the list that are in the document and shown."""
    return page.locator(".list .rows .row:not([hidden])")


def row(page, series):
    return page.locator(".list .rows .row:not([hidden], .of-source)").filter(has=page.locator(f"a[href='{address(series)}']"))


def address(series):
    from urllib.parse import quote

    # As encodeURIComponent has it, but for the slashes.
    return "#/series/" + quote(series, safe="/!'()*~-_.")


def amount(page, series):
    return row(page, series).locator(".amount")


def trouble(page):
    return page.locator("#trouble")


def graph(page):
    return page.locator(".detail .graph")


def lines(page):
    return page.locator(".feed .lines .line:not([hidden])")


def wait_for_lines(page, text):
    expect(lines(page).filter(has_text=text).first).to_be_visible()


def letters(text):
    return re.compile(re.escape(text))
