internal import Feed

/// A JSON value to print, indented; members keep their order.
indirect enum JSONTree: Sendable, Equatable {
    struct Member: Sendable, Equatable {
        let name: String
        let value: JSONTree

        init(_ name: String, _ value: JSONTree) {
            self.name = name
            self.value = value
        }
    }

    case object([Member])
    case array([JSONTree])
    case string(String)
    /// Text that is JSON already: a number, a literal.
    case raw(String)

    static func strings(_ words: [String]) -> JSONTree { .array(words.map(JSONTree.string)) }
    static func boolean(_ flag: Bool) -> JSONTree { .raw(flag ? "true" : "false") }
    static func integer(_ number: Int) -> JSONTree { .raw("\(number)") }
    static func number(_ number: Double) -> JSONTree {
        .raw(Int(exactly: number).map { "\($0)" } ?? "\(number)")
    }

    /// The text, with a line break at the end.
    var text: String {
        var output = ""
        write(to: &output, indentation: "")
        return output + "\n"
    }

    /// The value in one line.
    var line: String { joined(" ") }

    /// The value in one line, without any space.
    var compact: String { joined("") }

    private func joined(_ space: String) -> String {
        switch self {
        case .object(let members):
            let texts = members.map { "\(Self.quoted($0.name)):\(space)\($0.value.joined(space))" }
            return "{" + texts.joined(separator: ",\(space)") + "}"
        case .array(let elements): return "[" + elements.map { $0.joined(space) }.joined(separator: ",\(space)") + "]"
        case .string(let text): return Self.quoted(text)
        case .raw(let text): return text
        }
    }

    private func write(to output: inout String, indentation: String) {
        let line = line
        if line.utf8.count + indentation.utf8.count <= 100 {
            output += line
            return
        }
        let inner = indentation + "  "
        func write<Part>(_ parts: [Part], _ brackets: (String, String), _ part: (Part, inout String) -> Void) {
            output += brackets.0
            for (index, element) in parts.enumerated() {
                output += (index == 0 ? "\n" : ",\n") + inner
                part(element, &output)
            }
            output += "\n\(indentation)\(brackets.1)"
        }
        switch self {
        case .object(let members):
            write(members, ("{", "}")) { member, output in
                output += Self.quoted(member.name) + ": "
                member.value.write(to: &output, indentation: inner)
            }
        case .array(let elements):
            write(elements, ("[", "]")) { element, output in element.write(to: &output, indentation: inner) }
        case .string, .raw: output += line
        }
    }

    /// Returns a JSON string; characters that act on a terminal are escaped.
    static func quoted(_ text: String) -> String {
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
