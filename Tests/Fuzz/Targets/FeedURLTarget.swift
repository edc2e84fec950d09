internal import Feed
internal import Settings

/// A URL: what is taken is read back as the same, and nothing in front of its last @ is shown.
enum FeedURLTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        let text = String(decoding: input, as: UTF8.self)
        do throws(UsageError) {
            let url = try FeedURL(text)
            precondition(!url.host.isEmpty && url.path.utf8.first == UInt8(ascii: "/"), "no host or no path")
            precondition(!url.withoutUserInfo.utf8.contains { $0 <= 0x20 || $0 >= 0x7F }, "not fit for a request")
            let again = try FeedURL(url.withoutUserInfo)
            precondition(
                again.withoutUserInfo == url.withoutUserInfo && again.userInfo == nil, "it is read differently")
            precondition(!url.description.utf8.contains(UInt8(ascii: "?")) || url.query != nil, "a query from nowhere")
            _ = url.credentials
        } catch {
            CommandTarget.check(error)
        }
    }
}
