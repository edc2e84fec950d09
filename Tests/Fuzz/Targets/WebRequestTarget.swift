internal import Feed
internal import Outputs
internal import Web

/// What of a request by HTTP is read by the web server itself.
enum WebRequestTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        let text = String(decoding: input, as: UTF8.self)
        switch choice % 5 {
        case 0: _ = try? FeedQuery.terms(text[...])
        case 1:
            guard let start = FeedQuery.start(behind: text) else { return }
            guard case .after(let number, let run?) = start else { preconditionFailure("an id has a run") }
            precondition(number >= 0 && RunName.isValid(run), "what is none of ours was taken")
        case 2:
            guard WebGuard.isKnown(text, []), let authority = Authority(text) else { return }
            precondition(authority.isAddress || authority.host == "localhost", "a name was let through")
        case 3:
            guard let token = WebToken("0123456789abcdef") else { return }
            let isAllowed = WebGuard.isAllowed(text, token)
            precondition(!isAllowed || text.utf8.count >= 20, "somebody without the token was let in")
        default: _ = Authority(text)
        }
    }
}
