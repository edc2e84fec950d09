package import Reactor

/// What finds a line again: when it is of, what kind of line, from where, and its value.
package struct LineIndex: Sendable, Equatable {
    package var time: Timestamp
    package var type: String
    package var source: String?
    package var series: String?
    /// Of a data event its value, of a window its last one, of a latency its milliseconds.
    package var value: Double?

    /// - Throws: what is wrong with the line.
    package init(_ line: UnsafeBufferPointer<UInt8>) throws(LineFault) {
        var scanner = JSONScanner(line, levelLimit: LineEncoder.mostLevels)
        do throws(JSONFault) {
            try scanner.begin()
        } catch {
            throw LineFault(error)
        }
        let start = scanner.position
        let found = try LineMembers.with(line, &scanner, isLine: true) { members throws(LineFault) in
            let type = try members.string(.type)
            let value =
                switch type {
                case "latency": try? members.doubleIfAny(.ms)
                case "window": try? members.doubleIfAny(.last)
                default: try? members.doubleIfAny(.value)
                }
            return LineIndex(
                time: try members.time(.time), type: type, source: try? members.stringIfAny(.source),
                // A number in `agent` lines.
                series: try? members.stringIfAny(.series), value: value)
        }
        guard let found else { throw LineFault(offset: start, reason: .notAnObject) }
        self = found
    }

    private init(time: Timestamp, type: String, source: String?, series: String?, value: Double?) {
        (self.time, self.type, self.source, self.series, self.value) = (time, type, source, series, value)
    }
}
