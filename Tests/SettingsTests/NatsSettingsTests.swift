import Feed
import Nats
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct NatsSettingsTests {
    private static func options(_ arguments: [String], file: String? = nil) throws -> Options {
        let command = try Command.parse(arguments) { _ throws(UsageError) in
            file.map { ConfigText(name: "c.jsonc", bytes: Array($0.utf8)) }
        }
        guard case .watch(let options) = command else { throw UsageError("not to watch") }
        return options
    }

    @Test func serversStandOnTheCommandLine() throws {
        let options = try Self.options(["--nats", "nats://A,nats://b.c:1/,nats://[::1]:2", "--agent-name", "web-1_x"])
        let addresses = [
            NatsAddress(host: "a"), NatsAddress(host: "b.c", port: 1), NatsAddress(host: "[::1]", port: 2),
        ]
        #expect(options[\.nats]?.servers == NatsServers(addresses))
        #expect(options[\.nats]?.stream == "CATWATCH" && options[\.agentName] == "web-1_x")
        #expect(
            try Self.options(["--nats", "TLS://a"])[\.nats]?.servers.addresses == [
                NatsAddress(host: "a", isSecure: true)
            ])
    }

    @Test func aConfigurationSaysMore() throws {
        let file = """
            {"nats": {"urls": ["tls://a", "tls://b"], "stream": "S", "creds_file": "/c", "ca_file": "/d",
                "certificate": "/e", "key_file": "/f", "every": 1, "lines": true}, "agent_name": "web1"}
            """
        let settings = try #require(try Self.options([], file: file)[\.nats])
        #expect(settings.servers.credentials == .creds("/c") && settings.servers.files == ["/c", "/d", "/e", "/f"])
        #expect(settings.stream == "S" && settings.every == .seconds(1) && settings.sendsLines)
        // What it comes to says the same.
        #expect(try Self.options([], file: "{\"nats\": \(settings.tree.text)}")[\.nats] == settings)
        // What is nearer replaces all of it: credentials go to no other servers.
        #expect(
            try Self.options(["--nats", "nats://c"], file: file)[\.nats]?.servers.credentials == NatsCredentials.none)
        #expect(
            try Self.options([], file: #"{"nats": {"urls": "nats://a", "nkey_file": "/n"}}"#)[\.nats]?.servers.files
                == ["/n"])
        // A token goes where TLS is used, whatever says so.
        for (servers, files) in [
            (#""tls://a""#, ["/t"]), (#""nats://a", "ca_file": "/d""#, ["/t", "/d"]),
            (#""nats://a", "certificate": "/e""#, ["/t", "/e"]),
        ] {
            let file = #"{"nats": {"urls": \#(servers), "token_file": "/t"}}"#
            #expect(try Self.options([], file: file)[\.nats]?.servers.files == files)
        }
    }

    @Test(arguments: [
        "a", "http://a", "nats://", "nats://a b", "nats://a:0", "nats://a:65536", "nats://a:x", "nats://a/b",
        "nats://a?b",
        "nats://[x", "nats://[x y]", "", "nats://a,", "nats://a,tls://b", "nats://user:sesame@a", "nats://sesame@a",
        "nats://user:sesame,x@a", "nats://a,nats://user:sesame,x@b",
    ])
    func whatIsNoAddressIsRefused(_ text: String) {
        #expect {
            try Self.options(["--nats", text])
        } throws: { error in
            let text = "\(error)"
            return (error as? UsageError)?.option == "--nats" && !text.contains("sesame")
        }
    }

    @Test(arguments: [
        ("{}", "needs urls"), (#"{"urls": []}"#, "is empty"), (#"{"urls": "a"}"#, "no address of NATS"),
        (#"{"urls": "nats://u:sesame@a"}"#, "user name or password"),
        (#"{"urls": ["nats://a", "tls://b"]}"#, "beside tls://"),
        (#"{"urls": "nats://a", "stream": "a.b"}"#, "no name"),
        (#"{"urls": "nats://a", "creds_file": "/a", "token_file": "/b"}"#, "takes one of"),
        (#"{"urls": "nats://a", "token_file": "/b"}"#, "token_file is sent as it is: needs tls://"),
        (#"{"urls": "nats://a", "key_file": "/a"}"#, "without the certificate"),
        (#"{"urls": "nats://a", "every": "1ms"}"#, "10ms"), (#"{"urls": "nats://a", "lines": 1}"#, "true or false"),
        (#"{"urls": "nats://a", "password": "sesame"}"#, "no known key"), ("[]", "an array"),
        ("5", "a string or an object"), ("true", "a string or an object"),
    ])
    func whatIsWrongInAConfigurationIsTold(_ text: String, _ words: String) {
        #expect {
            try Self.options([], file: "{\"nats\": \(text)}")
        } throws: { error in
            "\(error)".contains(words) && !"\(error)".contains("sesame")
        }
    }

    @Test(arguments: ["", "a.b", "a b", "ä", "a>", String(repeating: "a", count: 64)])
    func whatIsNoAgentsNameIsRefused(_ name: String) {
        #expect(throws: UsageError.self) { try Self.options(["--nats", "nats://a", "--agent-name", name]) }
        #expect(!AgentName.isValid(name))
    }

    /// Fleets read no agent that is called so.
    @Test(arguments: ["catwatch", "memory", "lost"])
    func aNameThatNoFleetReadsIsRefused(_ name: String) {
        for (arguments, file) in [(["--agent-name", name], nil), ([], #"{"agent_name": "\#(name)"}"#)] {
            #expect {
                try Self.options(["--nats", "nats://a"] + arguments, file: file)
            } throws: { error in
                "\(error)".contains("'\(name)' is reserved")
            }
        }
    }

    @Test(arguments: [
        ("web1", "web1"), ("web1.example.org", "web1-example-org"), ("", "host"), ("agent", "host-agent"),
        ("a ä", "a--"), (String(repeating: "x", count: 70), String(repeating: "x", count: 63)),
    ])
    func aHostsNameMakesAnAgents(_ host: String, _ name: String) { #expect(AgentName.of(host: host) == name) }

    @Test(
        arguments: [
            (["--attach=/a", "--attach=/b"], nil), (["--attach=/a", "-u", "http://c/d"], nil),
            ([], #"{"sources": [{"kind": "feed", "name": "a", "url": "unix:/a"}]}"#),
            (["--attach=/a"], #"{"sources": [{"url": "http://c/d"}]}"#),
        ] as [([String], String?)])
    func aFleetPublishesNothing(_ arguments: [String], _ file: String?) throws {
        let plan = try WatchPlan(Self.options(arguments, file: file), environment: [:])
        guard plan.isFleet else { return #expect(plan.options.isRelay) }
        #expect {
            try WatchPlan(Self.options(arguments + ["--nats", "nats://a"], file: file), environment: [:])
        } throws: { error in
            (error as? UsageError)?.option == "--nats" && "\(error)".contains("each agent publishes its own")
        }
        // Where a file says it, that is told.
        guard let file, file.hasPrefix("{") else { return }
        #expect {
            try WatchPlan(
                Self.options(arguments, file: #"{"nats": "nats://a", "# + file.dropFirst()), environment: [:])
        } throws: {
            "\($0)".contains("c.jsonc:1:10")
        }
    }

    @Test func aFileThatIsNotThereIsFoundAtTheStart() throws {
        let options = try Self.options([], file: #"{"nats": {"urls": "nats://a", "creds_file": "/no/such.creds"}}"#)
        #expect {
            try WatchPlan(options, environment: [:])
        } throws: {
            "\($0)".contains("such.creds")
        }
    }

    @Test func theDefinitionIsOfTheStreamAndTheAgentThatAreMeant() throws {
        func text(_ arguments: [String], file: String? = nil) throws -> String {
            let command = try Command.parse(["nats"] + arguments) { _ throws(UsageError) in
                file.map { ConfigText(name: "c.jsonc", bytes: Array($0.utf8)) }
            }
            return try #require(command.text)
        }
        let file = #"{"nats": {"urls": "nats://a", "stream": "S"}, "agent_name": "web1"}"#
        let stream = try text(["stream"], file: file)
        #expect(stream.contains(#""name": "S""#) && stream.hasPrefix("{"))
        let permissions = try text(["permissions", "--agent-name", "web2"], file: file)
        #expect(permissions.contains(#"["catwatch.v1.web2", "$JS.API.STREAM.INFO.S"]"#))
        #expect(!permissions.contains("web1"))
        let all = try text([])
        #expect(all.contains("catwatch.v1.NAME") && all.contains(#""name": "CATWATCH""#))
        #expect(throws: UsageError.self) { try text(["everything"]) }
        #expect(throws: UsageError.self) { try text(["stream", "permissions"]) }
        #expect(throws: UsageError.self) { try text(["--every", "1s"]) }
    }
}
