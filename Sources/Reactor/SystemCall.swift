import CLinux
internal import Glibc

/// A system call that failed: which one, with what `errno`, on what.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// `errno` as the call left it.
    package let code: Int32
    /// The call's name as its man page has it.
    package let call: String
    /// The path, address or name it was made on; empty when that says nothing.
    package let subject: String
    /// Better words than those of `code`; nil when there are none.
    private let words: String?

    package init(code: Int32, call: String, subject: String = "", words: String? = nil) {
        self.code = code
        self.call = call
        self.subject = subject
        self.words = words
    }

    /// A name that was not resolved: `answer` is what getaddrinfo(3) returned, whose words are not those of `errno`.
    package init(resolving name: String, answer: Int32) {
        code = answer == EAI_SYSTEM ? cw_errno() : ENOENT
        call = "getaddrinfo"
        subject = name
        words = answer == EAI_SYSTEM ? nil : gai_strerror(answer).map { String(cString: $0) }
    }

    /// The system's words: "No such file or directory".
    package var reason: String {
        if let words { return words }
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }

    package var description: String {
        subject.isEmpty ? "\(call): \(reason)" : "\(call) \(subject): \(reason)"
    }
}

/// Makes a system call that answers −1 on failure, again for as long as a signal interrupts it.
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

/// Like `systemCall`, but "not now" (`EAGAIN`) is an answer and not an error.
///
/// - Returns: the call's answer, or nil when it would have had to wait.
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
