internal import Feed

/// A stream in pieces of a chosen size, so that lines are cut everywhere.
enum LineSplitterTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        var splitter = LineSplitter(limit: 256)
        var rest = input
        while !rest.isEmpty {
            splitter.push(rest.prefix(choice + 1))
            rest = rest.dropFirst(choice + 1)
            while splitter.next() != nil {}
            precondition(splitter.held <= 512, "the splitter holds more than its limit")
        }
        while splitter.finish() != nil {}
    }
}
