// Which addresses from outside may be shown as pictures, and which are links at most; and small pictures in the list's rows.

import { element, setAttribute } from "./dom.mjs"
import { rowsOf } from "./fields.mjs"

// Requests for pictures of the list: those of rows in sight, one every 10 s each; a newer one waits for the next event.
/** How long a row shows the same picture at the least, in microseconds. */
const shortestStay = 10_000_000

/**
 * What an address may become: `{image}`, which is loaded; `{link}`, which is followed by a click only; or null, which is text.
 *
 * Only `https` without a name or password in it is either. It is an image where `config.pictures` has its origin. One of the
 * demo's own (`config.demo`) is an image by way of this page's own origin.
 */
export function pictureAddress(text, config) {
    let url
    try {
        url = new URL(text)
    } catch {
        return null
    }
    if (url.username !== "" || url.password !== "") return null
    if (config.demo && url.origin === config.demo) return { image: "demo" + url.pathname + url.search, link: null }
    if (url.protocol !== "https:") return null
    const isAllowed = (config.pictures ?? []).includes(url.origin)
    return { image: isAllowed ? url.href : null, link: url.href }
}

/** The address of the picture that an event's rows (`rowsOf`) name and that may be shown; null for none. */
export function pictureOf(rows, config) {
    for (const { label, link } of rows) {
        const image = link !== null && /(^|\d )picture$/.test(label) ? pictureAddress(link, config)?.image : null
        if (image) return image
    }
    return null
}

/** Shows the picture of a series' newest event in its row of the list: at its place and of its size before it has come. */
export function drawSmall(row, series, now, config) {
    const said = series.event
    const isSame = row.pictured === series.name
    // Most events have none.
    const image = said?.data?.includes('"url"') ? pictureOf(rowsOf(said.data, said.text), config) : null
    if (image !== null && isSame && now - row.picturedAt < shortestStay) return
    row.pictured = image === null ? null : series.name
    row.picturedAt = now
    if (row.picture === null && image === null) return
    row.picture ??= element("img", {
        class: "small", alt: "", width: 48, height: 28, loading: "lazy", decoding: "async", referrerpolicy: "no-referrer", draggable: "false",
        onerror() {
            row.picture.hidden = true
            row.failed = row.picture.getAttribute("src")
        },
    })
    // What did not come does not come with the next event either.
    if (image !== row.failed) row.failed = null
    row.picture.hidden = image === row.failed
    // Another series' picture is not seen while this one's comes.
    if (!isSame) row.picture.removeAttribute("src")
    setAttribute(row.picture, "src", image)
    row.nameCell.append(row.picture)
}
