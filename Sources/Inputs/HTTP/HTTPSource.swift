package import Feed

/// A JSON document behind a URL, as a feed of one value.
package struct HTTPSource: Sendable {
    /// The source's name, which is its series and its events' type as well, if `type` says nothing else.
    package var name: String
    package var type: String
    package var request: HTTPRequest
    /// The time from poll to poll.
    package var every: Duration
    /// Where the value is; nil for the first number of the document.
    package var value: JSONPointer?
    /// Where the text is; nil for the first string of the document.
    package var text: JSONPointer?

    package init(
        name: String, request: HTTPRequest, every: Duration, value: JSONPointer? = nil, text: JSONPointer? = nil
    ) {
        self.name = name
        type = name
        self.request = request
        self.every = every
        self.value = value
        self.text = text
    }
}
