internal import Feed

/// A JSON value: read from a configuration, with its position there, or made to be printed. Members keep their order.
struct JSONTree: Sendable, Equatable {
    enum Value: Sendable, Equatable {
        case object([Member])
        case array([JSONTree])
        case string(String)
        /// The number as it was written.
        case number(String)
        case boolean(Bool)
        case null
    }

    /// A name and its value.
    struct Member: Sendable, Equatable {
        let name: String
        let value: JSONTree
        /// The position of the name's opening quote in the configuration.
        let position: ConfigText.Position

        init(_ name: String, _ value: JSONTree, at position: ConfigText.Position = .init()) {
            (self.name, self.value, self.position) = (name, value, position)
        }
    }

    let value: Value
    /// The position of the value in the configuration; 1:1 for a value to print.
    let position: ConfigText.Position
    /// The code points of a string in front of its first escape in the configuration.
    let plainLength: Int

    private init(_ value: Value) { (self.value, position, plainLength) = (value, .init(), 0) }

    static func object(_ members: [Member]) -> JSONTree { JSONTree(.object(members)) }
    static func array(_ elements: [JSONTree]) -> JSONTree { JSONTree(.array(elements)) }
    static func string(_ text: String) -> JSONTree { JSONTree(.string(text)) }
    static func strings(_ words: [String]) -> JSONTree { .array(words.map(JSONTree.string)) }
    static func boolean(_ flag: Bool) -> JSONTree { JSONTree(.boolean(flag)) }
    static func integer(_ number: Int) -> JSONTree { JSONTree(.number("\(number)")) }
    static func number(_ number: Double) -> JSONTree {
        Int(exactly: number).map(integer) ?? JSONTree(.number("\(number)"))
    }
    static let null = JSONTree(.null)

    /// The kind of value with its article, for messages.
    var kind: String { "\(JSONKind(firstByte: line.utf8.first))" }
}

// MARK: Parsing

extension JSONTree {
    /// The deepest allowed nesting of arrays and objects.
    static let maximumDepth = 64

    /// Parses JSON with comments and trailing commas; everything else follows RFC 8259.
    ///
    /// - Throws: `UsageError` of the first fault.
    static func parse(_ text: ConfigText) throws(UsageError) -> JSONTree {
        func fault(_ offset: Int, _ message: String) -> UsageError {
            UsageError(message, at: ConfigMark(file: text.name, at: text.position(of: offset), path: ""))
        }
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: text.bytes.span)
        } catch {
            throw fault(error.byteOffsets.lowerBound, "the file is not UTF-8 here")
        }
        var bytes = text.bytes
        let comment = CommentBlanker.blank(&bytes)
        var found: JSONFault?
        do throws(JSONFault) { try JSONMinifier.validate(bytes[...]) } catch { found = error }
        if let comment, found.map({ $0.offset >= comment }) ?? true { throw fault(comment, "a comment that has no */") }
        if let found { throw fault(found.offset, "not JSON: \(found.reason)") }
        return try bytes.withUnsafeBufferPointer { (bytes) throws(UsageError) in
            let start = bytes.firstIndex { $0 > 0x20 } ?? 0
            // In the text as it was: a blanked comment may have had fewer code points than bytes.
            var cursor = ConfigText.Cursor(in: text)
            return try JSONTree(bytes, start..<(bytes.lastIndex { $0 > 0x20 } ?? start) + 1, &cursor, fault)
        }
    }

    /// Reads the value in this range of a valid text; recurses at most `maximumDepth` levels deep.
    private init(
        _ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, depth: Int = 0, _ cursor: inout ConfigText.Cursor,
        _ fault: (Int, String) -> UsageError
    ) throws(UsageError) {
        func string(_ body: Range<Int>) -> String { JSONText.string(UnsafeBufferPointer(rebasing: text[body])) }
        position = cursor.position(of: range.lowerBound)
        let plain = text[range].prefix { $0 != UInt8(ascii: "\\") }
        plainLength = text[range.lowerBound] == UInt8(ascii: "\"") ? plain.count { $0 & 0xC0 != 0x80 } - 1 : 0
        switch JSONKind(firstByte: text[range.lowerBound]) {
        case .string: value = .string(string(range.dropFirst().dropLast()))
        case .number: value = .number(String(decoding: text[range], as: UTF8.self))
        case .true: value = .boolean(true)
        case .false: value = .boolean(false)
        case .null: value = .null
        case .object, .array:
            guard depth < Self.maximumDepth else {
                throw fault(range.lowerBound, "nested deeper than \(Self.maximumDepth) levels")
            }
            var items = JSONItems(of: text, at: range.lowerBound)
            var members: [Member] = []
            while let item = items?.next(in: text) {
                let position = cursor.position(of: (item.name ?? item.value).lowerBound - 1)
                let value = try JSONTree(text, item.value, depth: depth + 1, &cursor, fault)
                members.append(Member(item.name.map(string) ?? "", value, at: position))
            }
            value = items?.kind == .object ? .object(members) : .array(members.map(\.value))
        }
    }
}

// MARK: Printing

extension JSONTree {
    /// The text, indented, with a line break at the end.
    var text: String { written(" ", indentation: "") + "\n" }

    /// The value in one line.
    var line: String { written(" ") }

    /// The value in one line, without any space.
    var compact: String { written("") }

    /// - Parameters:
    ///   - space: what follows a colon or a comma.
    ///   - indentation: nil for one line.
    private func written(_ space: String, indentation: String? = nil) -> String {
        let (open, parts, close): (String, [(name: String, value: JSONTree)], String)
        switch value {
        case .string(let text): return Self.quoted(text)
        case .number(let text): return text
        case .boolean(let flag): return "\(flag)"
        case .null: return "null"
        case .object(let members):
            (open, parts, close) = ("{", members.map { ("\(Self.quoted($0.name)):\(space)", $0.value) }, "}")
        case .array(let elements): (open, parts, close) = ("[", elements.map { ("", $0) }, "]")
        }
        let indent = indentation ?? ""
        // With more parts a line is too long in any case.
        if indentation == nil || parts.count <= 50 {
            let line = open + parts.map { $0 + $1.written(space) }.joined(separator: ",\(space)") + close
            if indentation == nil || line.utf8.count + indent.utf8.count <= 100 { return line }
        }
        let start = "\n\(indent)"
        return open
            + parts.map { "\(start)  \($0)\($1.written(space, indentation: indent + "  "))" }
            .joined(separator: ",") + start + close
    }

    /// Returns a JSON string; characters that act on a terminal are escaped.
    private static func quoted(_ text: String) -> String {
        // Nearly all are plain.
        if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            return "\"\(text)\""
        }
        var output = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\t": output += "\\t"
            case _ where Sanitizer.isHidden(scalar):
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output + "\""
    }
}
