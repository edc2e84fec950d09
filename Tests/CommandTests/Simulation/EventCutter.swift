/// Cuts a stream of Server-Sent Events into the lines that are their data, in the most obvious way.
struct EventCutter {
    private var cutter = LineCutter()
    private var id: String?
    private var hasData = false
    private var isBeat = false
    private var hasBegun = false

    /// How much of an event has come whose end has not.
    var rest: Int { cutter.rest + (hasData || isBeat || id != nil ? 1 : 0) }

    /// - Parameters:
    ///   - body: gets each line, and the id of its event.
    ///   - refuse: gets what is no part of an event.
    mutating func push(_ bytes: UnsafeRawBufferPointer, _ body: (LineScan, String?) -> Void, refuse: (String) -> Void) {
        var cutter = self.cutter
        cutter.push(bytes) { line in
            if line.begins("data: "), !hasData {
                if !isBeat { body(LineScan(line: UnsafeRawBufferPointer(rebasing: line.line.dropFirst(6))), id) }
                hasData = true
            } else if line.begins("id: "), !hasData, id == nil {
                id = String(line.text.dropFirst(4))
            } else if line.begins("event: beat\n"), !hasData, id == nil {
                isBeat = true
            } else if line.begins("\n"), hasData {
                (id, hasData, isBeat) = (nil, false, false)
            } else if !line.begins("retry: 2000\n") || hasBegun {
                refuse(line.text)
            }
            hasBegun = true
        }
        self.cutter = cutter
    }
}
