// The worker that all tabs share is asked for before anything else, so that it begins while the rest of the page loads.

const file = "worker.mjs"
/** Of what tabs and worker say to each other (stream.mjs): a tab never talks to the worker that a page with other words left. */
const protocol = 2

/** The worker, whose `error` says that it could not begin; null where this page streams for itself, or not at all. */
export const worker = begin()

function begin() {
    if (typeof SharedWorker === "undefined" || document.getElementById("lines") !== null) return null
    // For trying what browsers without a SharedWorker do.
    if (new URLSearchParams(location.search).has("alone")) return null
    try {
        // The one place where text becomes a script's address, and the only text that may.
        const policy = globalThis.trustedTypes?.createPolicy("catwatch", { createScriptURL: text => text === file ? text : "" })
        return new SharedWorker(policy ? policy.createScriptURL(file) : file, { type: "module", name: `catwatch ${protocol}` })
    } catch {
        return null
    }
}
