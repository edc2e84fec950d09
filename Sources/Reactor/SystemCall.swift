import CLinux
internal import Glibc

/// A failed system call: its name, `errno`, and its subject.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The call's `errno`.
    package let code: Int32
    /// The call's name in its man page.
    package let call: String
    /// The path, address or name it was called with; empty when that is not informative.
    package let subject: String
    /// A better message than that of `code`; nil when there is none.
    private let words: String?

    package init(code: Int32, call: String, subject: String = "", words: String? = nil) {
        self.code = code
        self.call = call
        self.subject = subject
        self.words = words
    }

    /// A failed name resolution: `answer` is getaddrinfo(3)'s result, whose message differs from that of `errno`.
    package init(resolving name: String, answer: Int32) {
        code = answer == EAI_SYSTEM ? cw_errno() : ENOENT
        call = "getaddrinfo"
        subject = name
        words = answer == EAI_SYSTEM ? nil : gai_strerror(answer).map { String(cString: $0) }
    }

    /// The system's message: "No such file or directory".
    package var reason: String {
        if let words { return words }
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }

    package var description: String {
        subject.isEmpty ? "\(call): \(reason)" : "\(call) \(subject): \(reason)"
    }
}

/// Makes a system call that returns −1 on failure; repeats it when a signal interrupts it.
///
/// - Throws: `SystemError` with the call's `errno`.
@discardableResult @inline(__always)
package func systemCall<Answer: SignedInteger>(
    _ name: @autoclosure () -> String, on subject: @autoclosure () -> String = "", _ body: () -> Answer
) throws(SystemError) -> Answer {
    while true {
        let answer = body()
        if answer != -1 { return answer }
        let code = cw_errno()
        if code == EINTR { continue }
        throw SystemError(code: code, call: name(), subject: subject())
    }
}

/// Like `systemCall`, but "not now" (`EAGAIN`) is a result and not an error.
///
/// - Returns: the call's result, or nil when it would have blocked.
@inline(__always)
package func nonblockingCall<Answer: SignedInteger>(
    _ name: @autoclosure () -> String, _ body: () -> Answer
) throws(SystemError) -> Answer? {
    while true {
        let answer = body()
        if answer != -1 { return answer }
        let code = cw_errno()
        if code == EINTR { continue }
        if code == EAGAIN || code == EWOULDBLOCK { return nil }
        throw SystemError(code: code, call: name())
    }
}
