import Feed
import Inputs
import Nats
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
        (#"{"kind":"feed","url":"ws://h/"}"#, "sources of kind feed need unix or http or https or nats or tls, not ws"),
        (#"{"kind":"http","url":"nats://h"}"#, "sources of kind http need http or https, not nats"),
        (#"{"url":"nats://h,tls://i"}"#, "has nats:// beside tls://"),
        (#"{"url":"nats://me:sesame@h"}"#, "holds a user name or password"),
        (#"{"url":"nats://"}"#, "has no host"),
        (#"{"url":"nats://h","bearer":{"env":"X"}}"#, "bearer: says nothing to NATS"),
        (#"{"url":"nats://h","timeout":"2s"}"#, "timeout: says nothing to NATS"),
        (#"{"kind":"feed","url":"unix:/x","stream":"S"}"#, "stream: is for nats:// or tls:// only"),
        (#"{"url":"nats://h","subject":"a*"}"#, "'a*' is no subject; write one like catwatch.v1.*"),
        (#"{"url":"nats://h","stream":"a.b"}"#, "is no name of a stream"),
        (
            #"{"url":"nats://h","creds_file":"/dev/null","token_file":"/dev/null"}"#,
            "more than one of creds_file, token_file"
        ),
        (#"{"url":"nats://h","token_file":"/dev/null"}"#, "token_file: is sent as it is: needs tls://"),
        (#"{"url":"nats://h","nkey_file":"/nowhere"}"#, "nkey_file: '/nowhere': "),
        (#"{"url":"nats://h","key_file":"/dev/null"}"#, "needs the certificate it belongs to"),
        (#"{"kind":"feed","url":"http://h:1/?key=sesame"}"#, "url: an agent's feed is asked for without a query"),
        (#"{"kind":"feed","url":"https://h/cats/feed"}"#, "url: the path is what stands in front of /feed"),
        (#"{"kind":"feed","url":"unix:/x","bearer":{"env":"X"}}"#, "bearer: says nothing to a socket"),
        (#"{"kind":"feed","url":"unix:/x","ca_file":"/dev/null"}"#, "ca_file: says nothing to a socket"),
        (#"{"kind":"feed","url":"unix:/x","key_file":"/dev/null"}"#, "key_file: says nothing to a socket"),
        (
            #"{"kind":"feed","url":"unix:/\#(String(repeating: "x", count: 107))"}"#,
            "url: the path has 108 bytes; a socket's path may have 107 at the most"
        ),
        (
            #"{"kind":"feed","name":"a","url":"unix:/x"},{"kind":"feed","name":"b","url":"unix:///x"}"#,
            "unix:/x is read as the agent 'a' already"
        ),
        (
            #"{"kind":"feed","name":"a","url":"unix:/x/y"},{"kind":"feed","name":"b","url":"unix:/x/.//y"}"#,
            "unix:/x/.//y is read as the agent 'a' already"
        ),
        (
            #"{"kind":"feed","url":"http://h:1"},{"kind":"feed","url":"http://H:1/"}"#,
            "http://h:1/ is read as the agent 'h' already"
        ),
        (#"{"url":"nats://h:1/S"}"#, "has more than a host and a port"),
        (#"{"url":"nats://h?x"}"#, "has more than a host and a port"),
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
        #expect(error.map { "\($0)".contains("sesame") } == false)
    }

    /// Also of one that is passed on, which is no source.
    @Test(arguments: [
        (["-a=http://h:1/?key=sesame"], "--attach: an agent's feed is asked for without a query"),
        (["-a=/x/" + String(repeating: "x", count: 106)], "--attach: the path has 109 bytes"),
        (["-a=web2:2287"], "'web2:2287' is no address; write http://HOST:PORT"),
        (["-a=nats:n1"], "'nats:n1' is no address"),
        (["-a=http://h:1/feed"], "--attach: the path is what stands in front of /feed"),
        (["-a=/x", "-a=unix:///x"], "--attach: unix:/x is read as the agent 'x' already"),
        (["-a=./x", "-a=x"], "--attach: unix:x is read as the agent 'x' already"),
        (["-a", "-a=/x", "-a"], "--attach: the usual socket is read as the agent 'local' already"),
    ])
    func saysWhatIsWrongWithWhatIsAttachedTo(_ arguments: [String], _ message: String) {
        let error = #expect(throws: UsageError.self) {
            let plan = try ConfigFixture.plan(nil, arguments)
            _ = try plan.passedOn()
        }
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
        #expect(file.effectiveText().contains("/x"))
        #expect(throws: UsageError.self) { try ConfigFixture.plan(#"{"attach":"http://a:b@h/"}"#) }
    }

    @Test func aStreamHasManyAgents() throws {
        let all = try sources(
            #"""
            {"sources": [
                {"kind": "feed", "name": "prod", "url": "tls://n1,n2:4333,tls://[::1]/", "stream": "S", "subject": "x.>",
                 "nkey_file": "/dev/null", "ca_file": "/dev/null", "certificate": "/dev/zero",
                 "key_file": "/dev/full"},
                {"url": "nats://h"}, {"url": "nats://i", "creds_file": "/dev/null"}
            ]}
            """#, ["--cacert=/dev/null"])
        let streams = all.compactMap { if case .nats(let source) = $0 { source } else { nil } }
        #expect(streams.map(\.description.name) == ["prod", "nats", "nats-2"])
        #expect(
            streams[0].servers.addresses.map(\.description) == ["tls://n1:4222", "tls://n2:4333", "tls://[::1]:4222"])
        #expect(streams[0].stream == "S" && streams[0].subject == "x.>" && streams[0].description.agent == nil)
        #expect(streams[0].servers.credentials == .nkey("/dev/null"))
        #expect(streams[0].servers.certificate == "/dev/zero" && streams[0].servers.key == "/dev/full")
        #expect(streams[1].stream == "CATWATCH" && streams[1].subject == "catwatch.v1.*")
        // What is said of all sources is no reason to use TLS.
        #expect(streams[1].servers == NatsServers([NatsAddress(host: "h")]))
        #expect(streams[2].servers.credentials == .creds("/dev/null"))
        for more in [#""url": "tls://h""#, #""url": "nats://h", "ca_file": "/dev/null""#] {
            #expect(try sources(#"{"sources": [{\#(more), "token_file": "/dev/null"}]}"#).count == 1)
        }
        // Also alone it is a fleet, and its agents' names are not the configuration's.
        for arguments in [["--attach=nats://h,i"], ["nats://h,i"], ["-a=tls://h:1"]] {
            let plan = try ConfigFixture.plan(nil, arguments)
            #expect(try plan.passedOn() == nil && plan.isFleet && !plan.options.isRelay, "\(arguments)")
            #expect(try plan.sources(demoOrigin: nil).count == 1)
        }
        #expect(try ConfigFixture.plan(nil, ["-a=nats://h,i"]).effectiveText().contains("nats://h:4222,nats://i:4222"))
        #expect(
            try sources(#"{"sources":[{"url":"nats://h","name":"a.b"},{"kind":"stdin","name":"nats.x"}]}"#).count == 2)
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
