// All tabs of an origin share one stream: HTTP/1.1 gives a browser six connections to a host, and with six streams open
// nothing else of that host would load.

import { Stream } from "./stream.mjs"

const stream = new Stream()
addEventListener("connect", event => stream.subscribe(event.ports[0]))
