// Which addresses from outside may be shown as pictures, and which are links at most.

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
