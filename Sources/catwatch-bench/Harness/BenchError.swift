/// Why a scenario came to no figure: one sentence for a person.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
