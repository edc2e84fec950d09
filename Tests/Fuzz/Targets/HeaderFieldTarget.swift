internal import Feed
internal import Settings

/// A header field, or a token for one: what is taken cannot break a request apart, and is read back as the same.
enum HeaderFieldTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        let text = String(decoding: input, as: UTF8.self)
        do throws(UsageError) {
            let field = choice.isMultiple(of: 2) ? try HeaderField(text) : try HeaderField(bearer: text, from: "input")
            precondition(!field.name.isEmpty, "no name")
            precondition(!field.value.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }, "a control character")
            let again = try HeaderField("\(field.name): \(field.value)")
            precondition(again == field, "it is read differently")
            precondition(field.description == "\(field.name): …", "the value is shown")
        } catch {
            CommandTarget.check(error)
        }
    }
}
