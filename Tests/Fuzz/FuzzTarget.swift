internal import Feed

/// What is fed with bytes from outside; a trap is a finding. To add one: a file in Targets, and a line in `all`.
protocol FuzzTarget: SendableMetatype {
    /// Feeds it. `choice` is 0 to 31, for what besides the bytes there is to choose.
    static func run(_ input: Bytes, choice: Int)
}

enum FuzzTargets {
    /// By an input's first byte. The order is what saved inputs go by: new ones come last.
    static let all: [any FuzzTarget.Type] = [
        LineDecoderTarget.self, ReaderRequestTarget.self, LineSplitterTarget.self, StdinTarget.self,
        JSONPointerTarget.self, ItemsTarget.self, FrameDecoderTarget.self, HandshakeAnswerTarget.self,
        ConfigurationTarget.self, FeedURLTarget.self, HeaderFieldTarget.self, CommandTarget.self, ViewTarget.self,
        WebRequestTarget.self, ConditionTarget.self, RecordedAlertsTarget.self,
    ]
}
