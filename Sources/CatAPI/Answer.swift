package import HTTPServer

/// A complete HTTP response; the server adds `Content-Length`, `Date` and `Connection`.
package struct Answer: Sendable, Hashable {
    package var status: Int
    package var headers: [HTTPField]
    package var body: [UInt8]

    package init(status: Int, headers: [HTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of the first field with this name; case matters.
    package subscript(name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// A response of the API itself: JSON that must not be cached.
    static func json(_ body: [UInt8], status: Int = 200) -> Answer {
        Answer(status: status, headers: apiHeaders, body: body)
    }

    /// An error in the API's own format.
    static func refusal(_ status: Int, _ message: String) -> Answer {
        var json = PHPStyleJSON()
        json.raw(#"{"message":"#)
        json.string(message)
        json.raw(#","code":"#)
        json.integer(status)
        json.raw("}")
        return .json(json.bytes, status: status)
    }

    private static let apiHeaders: [HTTPField] = [
        HTTPField("Content-Type", "application/json"),
        HTTPField("Cache-Control", "no-cache, private"),
        HTTPField("Access-Control-Allow-Origin", "*"),
    ]
}
