// Asking sources at once: one, or all.

import { visible } from "./dom.mjs"

/** Why the server would not: its `reason`; the first line of what somebody else says. */
function refusal(text) {
    try {
        const { reason } = JSON.parse(text)
        if (typeof reason === "string") return reason
    } catch {
        // Not the agent's words.
    }
    return text.trim().split("\n")[0].slice(0, 200)
}

/** `poll(source)` asks a source and resolves to whether it was taken; `pollAll()` asks all that can be. Both say how it went. */
export function createPolling(context) {
    const { say } = context

    async function poll(source) {
        if (context.isSnapshot || source === undefined) return false
        try {
            const response = await fetch("poll/" + encodeURIComponent(source), {
                method: "POST", headers: { "content-type": "application/json" }, body: "{}",
            })
            if (response.ok) {
                say(`asked ${visible(source)}`)
                return true
            }
            say(`${visible(source)} was not asked: ${visible(refusal(await response.text())) || "status " + response.status}`)
        } catch {
            say(`${visible(source)} was not asked: nothing answers`)
        }
        return false
    }

    async function pollAll() {
        const sources = context.board.sources.filter(source => source.isListed && source.type !== "memory").slice(0, 100)
        let count = 0
        for (const source of sources) if (await poll(source.name)) count += 1
        say(count === 1 ? "asked 1 source" : `asked ${count} sources`)
    }

    return { poll, pollAll }
}
