/// What the stand-in knows about cats, in words of its own.
///
/// The texts are string literals with one fact per line and not arrays of literals: the compiler takes a single
/// literal in no time.
package enum CatFacts {
    /// Every fact, in the order in which `/facts` lists them.
    package static let all: [CatFact] = [body, life, history, kin].flatMap { text in
        text.split(separator: "\n").map { CatFact(String($0)) }
    }

    /// The same facts from the shortest to the longest: those of at most `max_length` characters are a prefix of it.
    static let byLength: [CatFact] = all.sorted { $0.length < $1.length }
}

/// One sentence about cats, with the JSON document that tells it.
package struct CatFact: Sendable, Hashable {
    package let text: String
    /// Characters, not bytes.
    package let length: Int
    /// `{"fact":"…","length":N}`, made once, because this is what a benchmark asks for again and again.
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
