import TestSupport
import Testing

@testable import Outputs

@Suite(.limited) struct InheritedSocketsTests {
    @Test(
        arguments: [
            ("1", nil, [3], []), ("2", "http:feed", [4], [3]), ("2", "feed:http", [3], [4]),
            ("3", "catwatch.socket:http:x", [3, 5], [4]), ("2", "http", [4], [3]), ("1", "", [3], []),
            ("2", "http:http", [], [3, 4]), ("0", "http", [], []), ("-1", "http", [], []), ("x", "http", [], []),
            ("1025", "http", [], []), ("99999999999", "http", [], []), (nil, "http", [], []),
        ] as [(String?, String?, [Int32], [Int32])])
    func areToldApartByName(count: String?, names: String?, feed: [Int32], http: [Int32]) {
        var environment: [String: String] = [:]
        environment["LISTEN_FDS"] = count
        environment["LISTEN_FDNAMES"] = names
        #expect(InheritedSockets.numbers(for: .feed, environment: environment) == feed)
        #expect(InheritedSockets.numbers(for: .http, environment: environment) == http)
    }

    @Test func areAnotherProcesssWhenItsNumberIsNotTheOwn() {
        let socket = InheritedSockets.claim(.feed, environment: ["LISTEN_PID": "1", "LISTEN_FDS": "1"])
        let isThere = socket != nil
        #expect(!isThere)
    }
}
