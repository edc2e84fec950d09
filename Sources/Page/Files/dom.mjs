// The few ways in which this page makes and changes nodes. Text from outside only ever becomes text: nothing here parses
// markup, and attributes that could run something are never set.

const svgNamespace = "http://www.w3.org/2000/svg"

function build(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
        else if (value === true) node.setAttribute(name, "")
        else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value)
    }
    node.append(...children)
    return node
}

/** An HTML element; `onclick` and the like are listeners, `false` and `null` leave an attribute out. */
export function element(name, attributes = {}, ...children) {
    return build(document.createElement(name), attributes, children)
}

/** An SVG element. */
export function svg(name, attributes = {}, ...children) {
    return build(document.createElementNS(svgNamespace, name), attributes, children)
}

/** Sets a node's text if it is another one: an unchanged node is not touched, so that nothing is laid out for it. */
export function setText(node, text) {
    if (node.firstChild === null || node.firstChild.nodeType !== 3 || node.childNodes.length !== 1) {
        if (text !== "" || node.firstChild !== null) node.textContent = text
    } else if (node.firstChild.data !== text) {
        node.firstChild.data = text
    }
}

/** Sets an attribute if it is another one; `null` and `false` take it away. */
export function setAttribute(node, name, value) {
    if (value === null || value === undefined || value === false) {
        if (node.hasAttribute(name)) node.removeAttribute(name)
    } else {
        const text = value === true ? "" : String(value)
        if (node.getAttribute(name) !== text) node.setAttribute(name, text)
    }
}

/** Switches a class on or off if it is not so already. */
export function setClass(node, name, isOn) {
    if (node.classList.contains(name) !== isOn) node.classList.toggle(name, isOn)
}

/** Sets a property of a node's style if it is another one (CSSOM: `style` attributes are blocked). */
export function setStyle(node, name, value) {
    if (node.style.getPropertyValue(name) !== value) node.style.setProperty(name, value)
}

/** How many pixels a node's own property (`--row-height`) is that is written in `rem`, which go with a reader's size of text. */
export function pixels(node, name) {
    const one = parseFloat(getComputedStyle(document.documentElement).fontSize)
    return parseFloat(getComputedStyle(node).getPropertyValue(name)) * one
}

// What joins pictures into one (U+200D) hides nothing between them: Cluster.swift keeps it as well.
const hidden = new RegExp(
    "(?<!\\p{Extended_Pictographic}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?)\\u200d|\\u200d(?=[\\u00a9\\u00ae]|\\P{Extended_Pictographic}|$)|"
        + "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u3164\\uffa0\\u061c\\u200b\\u200c\\u200e\\u200f"
        + "\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]", "gu")

/** Text from outside with every character that would act or hide made visible, as `Sanitizer` does for terminals. */
export function visible(text) {
    return text.replace(hidden, character => {
        const value = character.codePointAt(0)
        if (value < 0x20) return String.fromCharCode(0x2400 + value)
        return value === 0x7f ? "␡" : `\\u{${value.toString(16)}}`
    })
}
