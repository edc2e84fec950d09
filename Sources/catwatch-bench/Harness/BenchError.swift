/// The reason why a scenario has no figure: one sentence for people.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
