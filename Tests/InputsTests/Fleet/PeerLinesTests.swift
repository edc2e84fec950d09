import Feed
import Reactor
import TestSupport
import Testing

@testable import Inputs

/// What is taken of a connection to another agent.
@Suite(.limited) struct PeerLinesTests {
    private static let time = #""time":"2026-01-01T00:00:00Z""#
    static func hello(_ run: String, _ more: String = "") -> String {
        #"{"type":"hello",\#(time),"format":1,"run":"\#(run)","first_seq":1,"next_seq":1\#(more)}"#
    }
    static func fact(_ number: Int) -> String {
        #"{"seq":\#(number),\#(time),"type":"fact","source":"fact","series":"fact","value":\#(number)}"#
    }
    static let refusal = #"{"type":"error",\#(time),"code":"disk","message":"no"}"#
    static let bye = #"{"type":"bye",\#(time),"run":"a","last_seq":9,"reason":"x"}"#

    /// What comes of lines, in short.
    private static func taken(_ peer: inout PeerLines, _ text: String) -> [String] {
        peer.push(Bytes(Array(text.utf8)))
        var items: [String] = []
        while let item = peer.next() {
            switch item {
            case .line(let line, _):
                if case .hello(let hello) = line.body {
                    items.append("hello \(hello.run)")
                } else {
                    items.append(line.seq.map { "\($0)" } ?? line.type)
                }
            case .fault: items.append("fault")
            case .refused(let reason), .breach(let reason):
                items.append(reason)
                return items
            }
        }
        return items
    }

    private static func taken(_ lines: [String], isResuming: Bool = false, greetsFirst: Bool = true) -> [String] {
        var peer = PeerLines(isResuming: isResuming, greetsFirst: greetsFirst)
        return taken(&peer, lines.joined(separator: "\n") + "\n")
    }

    private static let replay = [hello("b"), fact(7), fact(8)]

    @Test func allOfItWhenNothingWasAskedFor() {
        #expect(Self.taken(Self.replay) == ["hello b", "7", "8"])
    }

    @Test func theAnswerAndNotTheReplayBeforeIt() {
        let answer = [Self.hello("a"), Self.fact(3), Self.hello("b"), Self.fact(1)]
        #expect(Self.taken(Self.replay + answer, isResuming: true) == ["hello a", "3", "hello b", "1"])
        // By HTTP there is no replay.
        #expect(Self.taken(answer, isResuming: true, greetsFirst: false) == ["hello a", "3", "hello b", "1"])
    }

    /// What follows is of the agent's run, whatever was asked for.
    @Test func afterARefusalTheRunThatItGreetedWith() {
        let lines = Self.replay + [Self.refusal, Self.fact(9), Self.refusal, Self.hello("b"), Self.fact(10)]
        #expect(Self.taken(lines, isResuming: true) == ["hello b", "error", "9", "error", "hello b", "10"])
        #expect(Self.taken(lines) == ["hello b", "7", "8", "error", "9", "error", "hello b", "10"])
    }

    @Test func aGoodbyeBeforeTheAnswerIsHeard() {
        var peer = PeerLines(isResuming: true, greetsFirst: true)
        #expect(Self.taken(&peer, (Self.replay + [Self.bye]).joined(separator: "\n") + "\n") == [])
        #expect(peer.ending() == "the agent has ended")
    }

    @Test(arguments: [
        ("", "the agent closed the connection"), ("<html>", "what answers there is not catwatch"),
        (hello("a") + "\n{", "the agent closed the connection"),
        (hello("a"), "the agent closed the connection"), ("{", "the agent closed the connection"),
        (#"{"error":"#, "what answers there is not catwatch"),
    ])
    func aPageWithoutALineIsNoAgentEither(_ text: String, _ reason: String) {
        var peer = PeerLines(isResuming: false, greetsFirst: false)
        _ = Self.taken(&peer, text)
        #expect(peer.ending() == reason)
    }

    @Test(arguments: [
        (["HTTP/1.1 400 Bad Request", hello("a")], "what answers there is not catwatch"),
        ([fact(1), hello("a")], "what answers there is not catwatch"),
        ([refusal, hello("a")], "no"),
        ([hello("a b")], "run"),
        ([#"{"type":"hello","time":"2026-01-01T00:00:00Z","format":2,"run":"a"}"#], "format"),
        ([String(repeating: "x", count: (1 << 20) + 1)], "a line has more than 1 MiB"),
    ])
    func whatIsNoAgentIsSaidInWords(_ lines: [String], _ words: String) {
        let taken = Self.taken(lines)
        #expect(taken.count == 1 && taken[0].contains(words), "\(taken)")
    }

    @Test func aLineThatIsNoneIsOneFaultAndTheRestGoesOn() {
        #expect(Self.taken([Self.hello("a"), "{", Self.fact(2)]) == ["hello a", "fault", "2"])
        #expect(Self.taken([Self.hello("a"), Self.fact(2), Self.hello("")]).last?.contains("run") == true)
    }

    @Test func whoSendsNothingThatCanBeReadIsGivenUp() {
        var peer = PeerLines(isResuming: false, greetsFirst: true)
        let most = String(repeating: "\n", count: 100_000)
        #expect(Self.taken(&peer, Self.hello("a") + "\n" + most + Self.fact(1) + "\n").last == "1")
        // Those before a line that can be read count no more.
        #expect(Self.taken(&peer, "\n" + Self.fact(2) + "\n") == ["fault", "2"])
        #expect(Self.taken(&peer, most + "\n").last == "100001 lines in a row cannot be read")
    }

    @Test func howItIsCutIntoPiecesDoesNotMatter() {
        let lines = Self.replay + [Self.hello("a"), Self.fact(3), Self.refusal, "x", Self.fact(5)]
        let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        for cut in bytes.indices {
            var peer = PeerLines(isResuming: true, greetsFirst: true)
            let first = Self.taken(&peer, String(decoding: bytes[..<cut], as: UTF8.self))
            let taken = first + Self.taken(&peer, String(decoding: bytes[cut...], as: UTF8.self))
            #expect(taken == ["hello a", "3", "error", "fault", "5"], "cut at \(cut)")
        }
    }
}
