import Feed
import Nats
import TestSupport
import Testing

@Suite(.limited) struct NatsFaultTests {
    @Test func whatServersSayIsShownAndDoesNothing() {
        let fault = NatsFault(.other, "stream \u{1B}[2J\u{202E}" + String(repeating: "x", count: 2_000))
        #expect(
            !fault.reason.contains("\u{1B}") && !fault.reason.contains("\u{202E}") && fault.reason.utf8.count < 1_100)
        var stream = NatsStream()
        stream.subjects = (1...50_000).map { "s\($0)" }
        let text = "stream S takes s1, s2, s3, s4, s5, s6, s7, s8 and 49992 more, and not a"
        #expect(stream.refusal(of: "a", in: "S") == text)
    }

    @Test(
        arguments: [
            (10_026, "maximum consumers limit reached", NatsFault.Kind.full, "maximum consumers limit reached (10026)"),
            (10_077, "maximum bytes exceeded", .full, "maximum bytes exceeded; let discard be old"),
            (10_077, "no space left on device", .full, "no space left on device (10077)"),
            (10_109, "invalid operation on sealed stream", .absent, "sealed"),
            (10_999, "nobody knows", .other, "nobody knows (10999)"), (10_999, "", .other, "refuses it (10999)"),
        ] as [(Int, String, NatsFault.Kind, String)])
    func aCodeOfJetStreamIsSaidInWords(_ code: Int, _ description: String, _ kind: NatsFault.Kind, _ words: String) {
        let fault = NatsFault(code: code, description: description)
        #expect(fault.kind == kind && fault.reason.contains(words), "\(fault)")
        #expect(fault.reason.hasSuffix("(\(code))"))
    }

    @Test func whatAServerSaysIsCutAndReachesNoTerminalAsItIs() {
        let text = "\u{1B}[2J\u{202E}" + String(repeating: "x", count: 100_000)
        for code in [10_077, 10_999] {
            let reason = NatsFault(code: code, description: text).reason
            #expect(reason.utf8.count < 400 && reason.utf8.allSatisfy { $0 >= 0x20 } && !reason.contains("\u{202E}"))
        }
    }

    /// Both who publishes and who reads.
    @Test(arguments: [2, 3])
    func whatMayBeOverByItselfIsBorneWithoutAWord(_ telling: Int) {
        func patience(_ kind: NatsFault.Kind) -> RetryRule {
            RetryRule(after: kind, telling: telling, pause: .seconds(7))
        }
        for kind in [NatsFault.Kind.nobody, .silent] {
            #expect(patience(kind).keepsConnection && patience(kind).pause == .seconds(1))
            #expect(patience(kind).isBrief && patience(kind).telling == telling)
        }
        for kind in [NatsFault.Kind.lost, .unreachable] {
            #expect(!patience(kind).keepsConnection && patience(kind).pause == .seconds(5))
            #expect(patience(kind).isBrief && patience(kind).telling == telling)
        }
        for kind in [NatsFault.Kind.absent, .full, .tooLarge, .other] {
            #expect(patience(kind).keepsConnection && patience(kind).pause == .seconds(7))
            #expect(!patience(kind).isBrief && patience(kind).telling == telling - 1)
        }
        // With what files of credentials have by then.
        for kind in [NatsFault.Kind.secure, .refused, .settings, .denied] {
            #expect(!patience(kind).keepsConnection && patience(kind).pause == .seconds(30))
            #expect(!patience(kind).isBrief && patience(kind).telling == 1)
        }
    }
}
