// Screens: which one an address names.
//
// The address bar holds what is shown: `#/`, `#/series/aqi/Delhi`, `#/metrics`, `#/feed?type=error`. An address nobody
// made is the list's.

/** The address of a series: its name, every part of it escaped, slashes as they are. */
export function seriesAddress(name) {
    return "#/series/" + encodeURIComponent(name.replace(/\p{Surrogate}/gu, "\ufffd")).replaceAll("%2F", "/")
}

/** The address of a screen with what is chosen on it; what is empty is left out. */
export function address(path, choices = {}) {
    const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value)).toString()
    return query === "" ? "#" + path : `#${path}?${query}`
}

/** Which screen an address names: {screen: "list" | "detail" | "metrics" | "feed", params}. */
export function route(hash) {
    const text = hash.startsWith("#") ? hash.slice(1) : hash
    if (text.startsWith("/series/")) return { screen: "detail", params: { name: decode(text.slice(8)) } }
    const cut = text.indexOf("?")
    const path = cut < 0 ? text : text.slice(0, cut)
    const params = cut < 0 ? {} : Object.fromEntries(new URLSearchParams(text.slice(cut + 1)))
    switch (path) {
    case "/metrics": return { screen: "metrics", params }
    case "/feed": return { screen: "feed", params }
    default: return { screen: "list", params }
    }
}

function decode(text) {
    try {
        return decodeURIComponent(text)
    } catch {
        // A lone percent sign: somebody typed it.
        return text
    }
}
