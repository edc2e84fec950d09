// A page that has its lines inside: what is different where they are all there is.

import { element, visible } from "./dom.mjs"

/** Says when the lines were taken, and has `take` take them, some at a time. */
export async function replay(text, take) {
    const taken = document.querySelector("meta[name=catwatch-taken]")?.content ?? ""
    const time = visible(taken.slice(0, 19).replace("T", " "))
    const banner = element("section", { class: "recorded", "aria-label": "Recording" }, `recorded ${time} UTC · nothing here changes any more`)
    document.getElementById("trouble").before(banner)
    const lines = text.split("\n").filter(line => line !== "")
    for (let place = 0; place < lines.length; place += 1_000) {
        take(lines.slice(place, place + 1_000).join("\n"))
        await new Promise(resolve => setTimeout(resolve))
    }
}
