internal import Feed

/// A line of another agent's feed.
enum LineDecoderTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) { _ = try? LineDecoder.decode(input) }
}
