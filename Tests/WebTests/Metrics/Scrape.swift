import TestSupport
import Testing

@testable import HTTPServer
@testable import Web

/// An answer of `/metrics`, taken apart.
struct Scrape {
    let text: String
    /// Names with their labels, and their values, in the order of the lines.
    let samples: [(name: String, value: String)]

    /// Takes an answer to its end.
    init(_ response: HTTPResponse) throws {
        let bytes = try Body(response, room: 8_000).rest()
        text = try #require(String(validating: bytes, as: UTF8.self))
        samples = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let blank = line.lastIndex(of: " ") ?? line.startIndex
            return (String(line[..<blank]), String(line[blank...].dropFirst()))
        }
    }

    /// The value of the one sample of this name and these labels; nil when there is none.
    subscript(name: String) -> String? {
        let found = samples.filter { $0.name == name }
        return found.count == 1 ? found[0].value : nil
    }

    /// What there is under a name, with any labels: those, and the values.
    func family(_ name: String) -> [String] {
        samples.filter { $0.name == name || $0.name.hasPrefix("\(name){") }
            .map { "\($0.name.dropFirst(name.count)) \($0.value)" }
    }

    /// Breaks of what both formats demand: each sample once, a family's all together, behind its description.
    var faults: [String] {
        var faults: [String] = []
        var names: Set<String> = []
        var families: Set<Substring> = []
        var current: Substring = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# HELP ") {
                current = line.dropFirst(7).prefix { $0 != " " }
                if !families.insert(current).inserted { faults.append("\(current) comes again") }
            } else if !line.hasPrefix("#") {
                if !line.hasPrefix(current) { faults.append("\(line) is not of \(current)") }
                let blank = line.lastIndex(of: " ") ?? line.startIndex
                if !names.insert(String(line[..<blank])).inserted { faults.append("\(line) comes again") }
            }
        }
        return faults
    }

    /// The body of an answer, on its way.
    struct Body {
        private let stream: HTTPStream
        private let room: Int
        private(set) var bytes: [UInt8] = []
        /// How it ended; nil while it has not.
        private(set) var isWhole: Bool?

        init(_ response: HTTPResponse, room: Int) throws {
            guard response.status == 200, case .stream(let stream) = response.body else {
                throw ChildProcess.Failed("status \(response.status)")
            }
            self.stream = stream
            self.room = room
        }

        /// Takes what fits once.
        mutating func take() {
            guard isWhole == nil else { return }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
            defer { buffer.deallocate() }
            switch stream.next(into: buffer, at: bytes.count) {
            case .bytes(let count):
                // The server takes none for a fault of the program.
                #expect(count > 0)
                bytes += buffer[..<count]
            case .end: isWhole = true
            case .broken, .nothingNow: isWhole = false
            }
            if let isWhole { stream.finish(isComplete: isWhole) }
        }

        /// Leaves, as a client does.
        mutating func leave() {
            isWhole = false
            stream.finish(isComplete: false)
        }

        /// Takes all that is left.
        consuming func rest() throws -> [UInt8] {
            while isWhole == nil { take() }
            guard isWhole == true else { throw ChildProcess.Failed("the answer broke off") }
            return bytes
        }
    }
}
