/// The stand-in's facts about cats, in words of our own.
///
/// The texts are string literals with one fact per line rather than arrays, because the compiler handles one literal
/// much faster.
package enum CatFacts {
    /// Every fact, in the order of `/facts`.
    package static let all: [CatFact] = [body, life, history, kin].flatMap { text in
        text.split(separator: "\n").map { CatFact(String($0)) }
    }

    /// The same facts, shortest first: those of at most `max_length` characters are a prefix.
    static let byLength: [CatFact] = all.sorted { $0.length < $1.length }
}

/// A sentence about cats, with its JSON document.
package struct CatFact: Sendable, Hashable {
    package let text: String
    /// Characters, not bytes.
    package let length: Int
    /// `{"fact":"…","length":N}`, made once, because benchmarks request it again and again.
    let json: [UInt8]

    init(_ text: String) {
        self.text = text
        self.length = text.count
        var json = PHPStyleJSON()
        json.raw(#"{"fact":"#)
        json.string(text)
        json.raw(#","length":"#)
        json.integer(length)
        json.raw("}")
        self.json = json.bytes
    }
}
