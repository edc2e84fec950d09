import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct AlertEpisodesTests {
    private static func alert(_ state: Alert.State, _ id: String = "1", at second: Int64, about: String = "a") -> Alert
    {
        Alert(
            about: about, condition: "hot", state: state, id: id, at: Timestamp(seconds: second),
            since: Timestamp(seconds: 5), value: Double(second), test: "> 1",
            down: state == .resolved ? .seconds(second - 10) : nil, reason: state == .resolved ? .until : nil,
            evidence: Alert.Evidence(run: "r", from: 1, to: Int(second)))
    }

    @Test func anEpisodeLastsFromFiringToResolved() throws {
        var episodes = AlertEpisodes()
        #expect(episodes.add(Self.alert(.firing, at: 10), of: "s") == nil)
        #expect(episodes.add(Self.alert(.reminder, at: 15), of: "s") == nil)
        #expect(episodes.firing.map(\.begun) == [Timestamp(seconds: 10)])
        #expect(episodes.firing.map { $0.length(until: Timestamp(seconds: 17)) } == [.seconds(7)])
        let last = episodes.add(Self.alert(.resolved, at: 20), of: "s")
        let ended = try #require(last)
        #expect(ended.begun == Timestamp(seconds: 10))
        #expect(ended.ended == Timestamp(seconds: 20))
        #expect(ended.value == 10)
        #expect(ended.newest.evidence.to == 20)
        #expect(ended.length(until: Timestamp(seconds: 99)) == .seconds(10))
        #expect(episodes.firing.isEmpty)
    }

    @Test func aBeginningThatIsMissingIsTakenFromWhatIsLeft() throws {
        var episodes = AlertEpisodes()
        let last = episodes.add(Self.alert(.resolved, at: 30), of: "s")
        let ended = try #require(last)
        #expect(ended.begun == Timestamp(seconds: 10))
        #expect(ended.value == nil)
        _ = episodes.add(Self.alert(.reminder, "2", at: 40), of: "s")
        #expect(episodes.firing.map(\.begun) == [Timestamp(seconds: 5)])
    }

    /// Forged lines may give several the same id.
    @Test func episodesOfOthersAreOthers() {
        var episodes = AlertEpisodes()
        _ = episodes.add(Self.alert(.firing, at: 10), of: "s")
        _ = episodes.add(Self.alert(.firing, at: 11), of: "s", agent: "web1")
        _ = episodes.add(Self.alert(.firing, at: 12, about: "b"), of: "s")
        #expect(episodes.firing.map(\.begun.microseconds) == [10_000_000, 11_000_000, 12_000_000])
        // One that is told again keeps its place.
        _ = episodes.add(Self.alert(.reminder, at: 13), of: "s")
        #expect(episodes.firing.map(\.begun.microseconds) == [10_000_000, 11_000_000, 12_000_000])
        _ = episodes.add(Self.alert(.resolved, at: 13), of: "s", agent: "web1")
        #expect(episodes.firing.map(\.newest.about) == ["a", "b"])
    }

    @Test func tooManyAtOnceAreCounted() {
        var episodes = AlertEpisodes()
        for number in 0..<100_002 { _ = episodes.add(Self.alert(.firing, "\(number)", at: 10), of: "s") }
        #expect(episodes.leftOut == 2)
        #expect(episodes.firing.count == 100_000)
        // One that is known has its place.
        _ = episodes.add(Self.alert(.reminder, "7", at: 11), of: "s")
        #expect(episodes.leftOut == 2)
    }

    @Test func theBytesOfThoseThatAreOverAreFree() {
        var episodes = AlertEpisodes()
        let source = String(repeating: "s", count: 100_000)
        for round in 0..<2 {
            for number in 0..<700 { _ = episodes.add(Self.alert(.firing, "\(number)", at: 10), of: source) }
            // 64 MiB have room for 670 of them.
            #expect(500..<700 ~= episodes.firing.count, "round \(round)")
            for number in 0..<700 { _ = episodes.add(Self.alert(.resolved, "\(number)", at: 20), of: source) }
            #expect(episodes.firing.isEmpty)
        }
    }

    @Test func theObjectIsJSONWhateverTheTexts() throws {
        var episodes = AlertEpisodes()
        var alert = Self.alert(.firing, at: 10, about: "\u{1B}\"\n")
        (alert.text, alert.value, alert.worst) = ("\u{0}\\", nil, 1e308)
        alert.note = String(repeating: "\u{1}", count: 4_096)
        _ = episodes.add(alert, of: String(repeating: "\u{2}", count: 2_000), agent: "web1")
        let json = try #require(episodes.firing.first?.json)
        #expect(json.last == 0x0A)
        #expect(json.filter { $0 < 0x20 }.count == 1)
        try json.dropLast().withUnsafeBufferPointer { try JSONMinifier.validate($0) }
        let text = String(decoding: json, as: UTF8.self)
        #expect(text.hasPrefix(#"{"condition":"hot","about":"\u001b\"\n","source":"\u0002"#))
        let end = #""text":"\u0000\\","worst_value":1e+308,"test":"> 1","evidence":{"run":"r","from":1,"to":10}}"#
        #expect(text.hasSuffix(end + "\n"))
    }
}
