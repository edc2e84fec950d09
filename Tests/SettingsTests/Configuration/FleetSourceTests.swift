import Feed
import Inputs
import TestSupport
import Testing

@testable import Settings

/// Other agents as sources.
@Suite(.limited) struct FleetSourceTests {
    private func sources(_ configuration: String?, _ arguments: [String] = []) throws -> [Source] {
        try ConfigFixture.plan(configuration, arguments).sources(demoOrigin: nil)
    }

    private func feeds(_ configuration: String?, _ arguments: [String] = []) throws -> [FeedSource] {
        try sources(configuration, arguments).compactMap { if case .feed(let feed) = $0 { feed } else { nil } }
    }

    @Test func anAgentIsReadByItsSocketOrByHTTP() throws {
        let feeds = try feeds(
            #"""
            {"sources": [
                {"kind": "feed", "name": "web1", "url": "unix:/run/a.sock"},
                {"url": "unix:///run/web2.sock"},
                {"kind": "feed", "name": "web3", "url": "https://h:2287/cats/"},
                {"kind": "feed", "url": "http://db.example.org:2287"}
            ]}
            """#)
        #expect(feeds.map(\.name) == ["web1", "web2", "web3", "db-example-org"])
        #expect(feeds[0].place == .socket(path: "/run/a.sock") && feeds[1].place == .socket(path: "/run/web2.sock"))
        guard case .http(let request) = feeds[2].place else {
            Issue.record("\(feeds[2])")
            return
        }
        #expect(request.url == "https://h:2287/cats/")
        #expect(feeds[0].description.name == "web1.catwatch" && feeds[0].description.agent == "web1")
    }

    @Test(arguments: [
        (#"{"kind":"feed","name":"a.b","url":"unix:/x"}"#, "is no name of an agent, which has 1 to 63 ASCII letters"),
        (#"{"kind":"feed","url":"ws://h/"}"#, "sources of kind feed need unix or http or https, not ws"),
        (#"{"kind":"feed"}"#, "needs url"),
        (#"{"kind":"http","url":"unix:/x"}"#, "sources of kind http need http or https, not unix"),
        (#"{"kind":"feed","url":"unix:/x","every":"2s"}"#, "every: says nothing to sources of kind feed"),
        (#"{"kind":"feed","url":"unix:/x","unit":"m"}"#, "unit: says nothing to sources of kind feed"),
        (
            #"{"kind":"feed","name":"web1","url":"unix:/x"},{"kind":"stdin","name":"web1.fact"}"#,
            "'web1.fact' would be a source of the agent 'web1'"
        ),
    ])
    func saysWhatIsWrong(_ sources: String, _ message: String) throws {
        let error = #expect(throws: UsageError.self) { try feeds(#"{"sources": [\#(sources)]}"#) }
        #expect(error.map { "\($0)".contains(message) } == true, "\(error.map { "\($0)" } ?? "")")
    }

    @Test func oneAloneIsPassedOnAndSeveralAreAFleet() throws {
        let alone = try ConfigFixture.plan(nil, ["--attach=/x"])
        #expect(try alone.passedOn()?.place == .socket(path: "/x") && alone.isFleet == false && alone.options.isRelay)
        let http = try ConfigFixture.plan(nil, ["--attach=http://h:1/"])
        #expect(try http.passedOn()?.target == "http://h:1/" && http.options.isRelay)
        for arguments in [["-a=/x", "-a=http://web2:1"], ["-a=/x", "-u", "http://h/fact"], ["-a=/x", "--demo"]] {
            let plan = try ConfigFixture.plan(nil, arguments)
            #expect(try plan.passedOn() == nil && plan.isFleet && !plan.options.isRelay, "\(arguments)")
        }
        #expect(
            try feeds(nil, ["-a=/run/x.sock", "-a=http://web2:1", "-a=/y/x.sock"]).map(\.name) == ["x", "web2", "x-2"])
        #expect(try sources(nil, ["-a=/x", "-a=/y"]).count == 2)
        let file = try ConfigFixture.plan(#"{"attach":["/x",true],"sources":[{"kind":"stdin"}]}"#)
        #expect(try file.isFleet && file.sources(demoOrigin: nil).count == 3)
        #expect(try file.effectiveText().contains("/x"))
        #expect(throws: UsageError.self) { try ConfigFixture.plan(#"{"attach":"http://a:b@h/"}"#) }
    }

    @Test func aSecretGoesWithTheRequest() throws {
        let folder = try TemporaryFolder()
        try folder.write("sesame-sesame-sesame", to: "token")
        let feeds = try feeds(
            #"{"sources":[{"kind":"feed","url":"http://h/","bearer":{"file":"\#(folder.path("token"))"}}]}"#)
        guard case .http(let request)? = feeds.first?.place else {
            Issue.record("\(feeds)")
            return
        }
        #expect(request.headers == ["Authorization: Bearer sesame-sesame-sesame"])
    }
}
