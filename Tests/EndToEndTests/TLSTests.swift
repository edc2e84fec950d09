import Glibc
import TestSupport
import Testing

/// TLS against OpenSSL's own server, with certificates made for the test.
@Suite(.limited) struct TLSTests {
    /// Certificates and a document to serve, made once for each test: they take some milliseconds.
    private static let preparation = """
        set -e
        cd "$folder"
        key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }
        key server.key; key client.key
        openssl req -x509 -key server.key -subj /CN=test -addext subjectAltName=IP:127.0.0.1 -days 2 -out server.pem
        openssl req -x509 -key client.key -subj /CN=client -days 2 -out client.pem
        printf '{"fact":"Served in secret.","length":17}' > fact.json
        """

    /// Starts a server; returns `https://127.0.0.1:PORT`.
    private static func serve(_ options: String = "-WWW", on stage: Stage) async throws -> String {
        let made = try await Finished(of: stage.bash(preparation))
        try #require(made.ending == .exited(0), "\(made.errors)")
        // It ends with its standard input.
        let server = try await stage.bash(
            #"cd "$folder" && exec openssl s_server -accept 127.0.0.1:0 -cert server.pem -key server.key "#
                + options, input: .pipe)
        let port = try await server.wait(for: "its port") { server -> String? in
            // "ACCEPT 127.0.0.1:PORT"
            guard let line = server.outputText.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT ") }) else {
                return nil
            }
            return line.split(separator: ":").last.map(String.init)
        }
        return "https://127.0.0.1:\(port)"
    }

    @Test func aCertificateOfItsOwnIsTrustedWhenTold() async throws {
        try await Stage.run { stage in
            let origin = try await Self.serve(on: stage)
            let run = try await stage.finish([
                "-u", "\(origin)/fact.json", "--cacert", "\(stage.folder)/server.pem", "-n", "1",
                "--value", "/length",
            ])
            #expect(run.ending == .exited(0) && run.errors == "")
            #expect(try run.lines().first { $0.isData }?.string("text") == "Served in secret.")
            let latency = try #require(try run.lines().first { $0.type == "latency" })
            #expect(try #require(latency.number("tls_ms")) > 0)
        }
    }

    @Test func aCertificateThatNobodyVouchesForIsAnErrorWithTheReason() async throws {
        try await Stage.run { stage in
            let origin = try await Self.serve(on: stage)
            let program = try await stage.catwatch(["-u", "\(origin)/fact.json", "-e", "10ms"])
            try await Self.expectError(of: program, code: "tls", words: "self-signed certificate")
        }
    }

    @Test func aCertificateForAnotherNameIsAnError() async throws {
        try await Stage.run { stage in
            let origin = try await Self.serve(on: stage)
            let port = origin.split(separator: ":").last ?? ""
            let program = try await stage.catwatch([
                "-u", "https://localhost:\(port)/fact.json", "--cacert", "\(stage.folder)/server.pem", "-e", "10ms",
            ])
            try await Self.expectError(of: program, code: "tls", words: "localhost")
        }
    }

    @Test func aClientShowsItsCertificate() async throws {
        try await Stage.run { stage in
            let origin = try await Self.serve("-WWW -Verify 1 -verify_return_error -CAfile client.pem", on: stage)
            let trusted = ["-u", "\(origin)/fact.json", "--cacert", "\(stage.folder)/server.pem", "-e", "10ms"]
            let without = try await stage.catwatch(trusted)
            try await Self.expectError(of: without, code: "", words: "127.0.0.1")
            let run = try await stage.finish(
                trusted + [
                    "--cert", "\(stage.folder)/client.pem", "--key-file", "\(stage.folder)/client.key", "-n", "1",
                ])
            #expect(run.ending == .exited(0))
            #expect(try run.lines().contains { $0.isData })
        }
    }

    @Test func filesThatAreNotThereAreNamed() async throws {
        try await Stage.run { stage in
            for option in ["--cacert", "--cert"] {
                let run = try await stage.finish(["-u", "https://localhost:1/x", option, "\(stage.folder)/nothing.pem"])
                #expect(run.ending == .exited(2))
                #expect(run.errors.contains("nothing.pem") && run.errors.contains("No such file"))
            }
        }
    }

    @Test func aServerThatDoesNotSpeakHTTPIsTold() async throws {
        try await Stage.run { stage in
            // So the server sends the file as it is, without a header.
            let origin = try await Self.serve("-HTTP", on: stage)
            let program = try await stage.catwatch([
                "-u", "\(origin)/fact.json", "--cacert", "\(stage.folder)/server.pem", "-e", "10ms",
            ])
            try await Self.expectError(of: program, code: "protocol", words: "does not speak HTTP")
        }
    }

    @Test func plainHTTPIsNotTLS() async throws {
        try await Stage.run { stage in
            let port = try await stage.origin().split(separator: ":").last ?? ""
            let program = try await stage.catwatch(["-u", "https://127.0.0.1:\(port)/fact", "-e", "10ms"])
            try await Self.expectError(of: program, code: "tls", words: "no secure connection")
        }
    }

    /// Waits for an error line and ends the program; with an empty code any will do.
    private static func expectError(of program: ChildProcess, code: String, words: String) async throws {
        try await program.wait(for: "an error") { program in
            FeedLine.lines(program.outputBytes).contains { $0?.type == "error" } ? () : nil
        }
        try await program.signal(SIGTERM)
        let lines = try await Finished(of: program).lines()
        let error = try #require(lines.first { $0.type == "error" })
        #expect(code.isEmpty || error.string("code") == code, "\(error)")
        #expect(error.string("message")?.contains(words) == true, "\(error)")
        #expect(!lines.contains { $0.isData })
    }
}
