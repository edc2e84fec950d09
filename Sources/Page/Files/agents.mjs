// Which agents of a fleet are shown, in which order, and what is said of each: the twin of
// Sources/Terminal/View/AgentTable.swift, held to Tests/Vectors/agents.

import { age, fixed, processorTime } from "./format.mjs"
import { filterOf, naturalOrder } from "./order.mjs"

const worst = ["conflict", "refused", "away", "silent", "ended", "connecting"]
const looks = { live: "good", conflict: "bad", refused: "bad", away: "bad", silent: "dim", ended: "dim", forgotten: "dim" }

/** A board's agents whose name, or whose machine's, matches a filter: the worst first; among those that are alike, those that lines
 * were lost of, then by name. */
export function shownAgents(agents, filter) {
    const isWanted = filterOf(filter)
    const isShown = ({ name, host }) => isWanted(name) || isWanted(host.name)
    return agents.filter(isShown)
        .map(agent => ({ agent, rank: rank(agent) }))
        .sort((one, other) => one.rank - other.rank || naturalOrder(one.agent.name, other.agent.name))
        .map(({ agent }) => agent)
}

function rank({ state, lost }) {
    const known = worst.indexOf(state)
    const place = state === "live" ? worst.length + 1 : known < 0 ? worst.length : known
    return place * 2 + (lost > 0 ? 0 : 1)
}

/** `good`, `plain`, `bad`; `dim` where nothing comes, and nobody is to do anything about it. */
export const agentLook = ({ state }) => (Object.hasOwn(looks, state ?? "") ? looks[state] : "plain")

const said = text => (text === null || text === "" ? "–" : text)

/** What is said of an agent, by column. */
export function agentTexts(agent, now) {
    const { state, heard, host, version, skew, lost } = agent
    const rate = agent.rate(now)
    return {
        state: said(state),
        age: heard === null ? "–" : age(now - heard),
        rate: rate > 0 ? fixed(rate, rate < 10 ? 1 : 0) : "0",
        host: said(host.name),
        system: said(host.os),
        version: said(version),
        skew: skew === null ? "–" : skewText(skew),
        lost: String(lost),
    }
}

function skewText(milliseconds) {
    const size = Math.min(Math.abs(milliseconds), 1e12)
    const sign = size < 0.5 ? "" : milliseconds < 0 ? "-" : "+"
    return sign + processorTime(size)
}

/** What is said of lines whose agents are not in the table; empty when there are none. */
export const refusedText = lines => lines === 0 ? ""
    : `${lines} more ${lines === 1 ? "line" : "lines"}, of agents for which there is no room, or whose names are none`

/** Whether an agent's clock is off by more than a window. */
export const isSkewed = ({ skew }, window) => skew !== null && Math.abs(skew) * 1000 > window
