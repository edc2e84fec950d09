package import HTTPServer

/// A complete HTTP answer; `Content-Length`, `Date` and `Connection` are the server's to add.
package struct Answer: Sendable, Hashable {
    package var status: Int
    package var headers: [HTTPField]
    package var body: [UInt8]

    package init(status: Int, headers: [HTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of the first field of this name, which is compared exactly.
    package subscript(name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// An answer of the API itself: JSON that must not be kept.
    static func json(_ body: [UInt8], status: Int = 200) -> Answer {
        Answer(status: status, headers: apiHeaders, body: body)
    }

    /// A refusal in the form in which the API words it.
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
