internal import HTTPServer
internal import Reactor

/// A parsed request for a fault.
struct FaultOrder {
    let request: Request
    let now: Timestamp
    let kind: String
    /// The path after the kind, with its slash; `/fact` when there is none.
    let rest: String

    /// In milliseconds.
    static let longestDelay = 600_000

    typealias Misuse = FaultRouter.Misuse

    init(_ request: Request, now: Timestamp) throws(Misuse) {
        let parts = request.path.split(separator: "/", maxSplits: 2)
        guard parts.count >= 2 else { throw Misuse("say which fault: /fault/KIND") }
        self.request = request
        self.now = now
        kind = String(parts[1])
        rest = parts.count == 3 ? "/\(parts[2])" : "/fact"
    }

    /// A parameter as a number; `fallback` when it is missing.
    func number(
        _ name: String, in range: ClosedRange<Int>, default fallback: Int
    ) throws(Misuse) -> Int {
        guard request.query[name] != nil else { return fallback }
        guard let number = request.query.integer(name), range.contains(number) else {
            throw Misuse("\(name) is a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The delay that `delay` asks for; nil without it.
    func delay(using random: inout some RandomNumberGenerator) throws(Misuse) -> Duration? {
        guard let text = request.query["delay"] else { return nil }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        guard let low = ends.first, let high = ends.last, ends.count <= 2, low >= 0, low <= high,
            high <= Self.longestDelay
        else { throw Misuse("delay is milliseconds, N or LOW-HIGH, up to \(Self.longestDelay)") }
        if low == high { return .milliseconds(low) }
        return .microseconds(Int.random(in: low * 1_000...high * 1_000, using: &random))
    }

    /// The API's answer without the fault.
    func plainAnswer(using random: inout some RandomNumberGenerator) -> Answer {
        var plain = request
        plain.path = rest
        return CatAPI.answer(plain, using: &random)
    }

    /// The failure described by `code`, `retry-after` and `retry-date`.
    func failure(defaultStatus: Int) throws(Misuse) -> Answer {
        let status = try number("code", in: 200...999, default: defaultStatus)
        var answer = Answer.refusal(status, "Told to answer with status \(status)")
        if status == 204 || status == 304 { answer.body = [] }
        if let text = request.query["retry-after"] {
            answer.headers.append(HTTPField("Retry-After", text))
        } else if request.query["retry-date"] != nil {
            let seconds = try number("retry-date", in: -1_000_000_000...1_000_000_000, default: 0)
            answer.headers.append(HTTPField("Retry-After", HTTPDate.text(of: now + .seconds(seconds))))
        }
        return answer
    }

    /// The document for `/fault/json/KIND`.
    func document() throws(Misuse) -> [UInt8] {
        let levels = try number("levels", in: 1...10_000_000, default: 100_000)
        guard let document = HostileJSON.document(String(rest.dropFirst()), levels: levels) else {
            throw Misuse("there is no document named \(rest.dropFirst()); there are \(HostileJSON.kinds)")
        }
        return document
    }

    // MARK: Redirects and revalidation

    func redirect(to location: String) throws(Misuse) -> Answer {
        let status = try number("code", in: 300...399, default: 302)
        var answer = Answer.refusal(status, "Told to send you on")
        answer.headers.append(HTTPField("Location", location))
        return answer
    }

    /// One of `times` redirects: to the next one, or from the last one to `to` or `rest`.
    func redirect() throws(Misuse) -> Answer {
        let times = try number("times", in: 1...1_000, default: 1)
        guard times > 1 else { return try redirect(to: request.query["to"] ?? rest) }
        let code = try number("code", in: 300...399, default: 302)
        let target = request.query["to"].map { "&to=\(percentEncoded($0))" } ?? ""
        return try redirect(to: "\(request.path)?times=\(times - 1)&code=\(code)\(target)")
    }

    private func percentEncoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~/:".contains(character) {
                encoded.append(character)
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// The answer of a version, or 304 when the client has it (RFC 9110, section 13.1).
    func revalidated() throws(Misuse) -> Answer {
        let version = try number("version", in: 0...1_000_000, default: 1)
        let tag = "\"v\(version)\""
        let modified = HTTPDate.text(of: Timestamp(seconds: 1_700_000_000 + Int64(version)))
        let isKnown =
            request.ifNoneMatch.map { known in
                known == "*" || known.split(separator: ",").contains { $0.suffix(tag.count) == tag }
            } ?? (request.ifModifiedSince == modified)
        var random = SplitMix(seed: UInt64(version))
        var answer = isKnown ? Answer(status: 304) : plainAnswer(using: &random)
        answer.headers.append(HTTPField("ETag", tag))
        answer.headers.append(HTTPField("Last-Modified", modified))
        return answer
    }
}
