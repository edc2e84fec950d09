internal import Feed
internal import Outputs

/// What a reader of the socket asks for.
enum ReaderRequestTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) { _ = try? ReaderRequest.parse(input) }
}
