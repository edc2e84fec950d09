import CLinux
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct HeaderFieldTests {
    @Test(arguments: [
        ("X-Key: abc", "X-Key", "abc"), ("a:b", "a", "b"), ("A: \t b c \t", "A", "b c"), ("A:", "A", ""),
        ("A: b:c", "A", "b:c"), ("X!#$%&'*+-.^_`|~9: é", "X!#$%&'*+-.^_`|~9", "é"),
    ])
    func readsNameAndValue(_ text: String, _ name: String, _ value: String) throws {
        let field = try HeaderField(text)
        #expect(field.name == name)
        #expect(field.value == value)
    }

    @Test(arguments: [
        "", "hunter2", ": hunter2", "A B: hunter2", "A : hunter2", "Ä: hunter2", "A: hunter2\r\nB: c", "A: hunter2\nB",
        "A\n: hunter2", "A: hunter2\u{0}", "A: hunter2\u{7f}",
    ])
    func refusesWhatWouldBreakARequestApartAndTellsNoValue(_ text: String) {
        do throws(UsageError) {
            let field = try HeaderField(text)
            Issue.record("\(field) was taken")
        } catch { #expect(!error.message.contains("hunter2"), "\(error.message)") }
    }

    @Test func tellsNoValueWhenPrinted() throws {
        let field = try HeaderField("X-Key: hunter2")
        var dumped = ""
        dump(field, to: &dumped)
        for text in ["\(field)", String(reflecting: field), dumped] {
            #expect(text.contains("X-Key: …") && !text.contains("hunter2"), "\(text)")
        }
    }

    @Test func takesATokenWithoutTheSpaceAroundIt() throws {
        let field = try HeaderField(bearer: " abc.DEF-1_2~+/==\n", from: "here")
        #expect(field.name == "Authorization")
        #expect(field.value == "Bearer abc.DEF-1_2~+/==")
        #expect("\(field)" == "Authorization: …")
        for wrong in ["", " \n", "a b", "a\nb", "ä", "a\u{1}"] {
            #expect(throws: UsageError.self) { try HeaderField(bearer: wrong, from: "here") }
        }
    }
}

@Suite(.limited) struct RequestSecretsTests {
    @Test func secretsThatWereReadAreNotTold() throws {
        var secrets = SecretValues(environment: ["TOKEN": "hunter2"])
        #expect(try secrets.value(of: .environment("TOKEN", optional: false)) == "hunter2")
        #expect(try secrets.value(of: .environment("OTHER", optional: true)) == nil)
        var dumped = ""
        dump(secrets, to: &dumped)
        for text in ["\(secrets)", String(reflecting: secrets), dumped] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test func readsHeadersAndTokensFromFilesAndTheEnvironment() throws {
        try withFile("# ours\r\nX-A: 1\r\n\r\n  \nX-B:2") { headers in
            try withFile("t0ken\n") { token in
                var request = Options()
                request.values.set(\.header, [try HeaderField("X-C: 3")])
                request.values.set(\.headerFile, headers)
                request.values.set(\.bearerFile, token)
                let fields = try request.headerFields(environment: [:])
                #expect(fields.map(\.name) == ["X-C", "X-A", "X-B", "Authorization"])
                #expect(fields.map(\.value) == ["3", "1", "2", "Bearer t0ken"])

                request.values.set(\.bearerVariable, "TOKEN")
                #expect(try request.headerFields(environment: ["TOKEN": "x"]).last?.value == "Bearer x")
            }
        }
    }

    @Test func saysWhichFileOrVariableIsWrong() throws {
        var request = Options()
        request.values.set(\.bearerVariable, "TOKEN")
        #expect(
            fault(request) == UsageError("the environment variable 'TOKEN' is not set", option: "--bearer-env"))
        request.values.set(\.bearerFile, "/nonexistent/token")
        #expect(
            fault(request)
                == UsageError("cannot read '/nonexistent/token': No such file or directory", option: "--bearer-file"))
        request.values.set(\.bearerFile, "/")
        #expect(fault(request) == UsageError("cannot read '/': Is a directory", option: "--bearer-file"))
        request.values.set(\.bearerFile, "/dev/zero")
        #expect(fault(request) == UsageError("'/dev/zero' is larger than 64KiB", option: "--bearer-file"))

        request.values.set(\.bearerFile, nil)
        try withFile("X-A: 1\nhunter2\n") { path in
            request.values.set(\.headerFile, path)
            #expect(
                fault(request)
                    == UsageError(
                        "line 2 of '\(path)': a header is written 'Name: value'; there is no colon",
                        option: "--header-file"))
        }
    }

    @Test func sendsOneAuthorizationOnly() throws {
        var request = Options()
        request.values.set(\.header, [try HeaderField("authorization: Basic x")])
        request.values.set(\.bearerVariable, "TOKEN")
        #expect(fault(request, ["TOKEN": "x"])?.message.contains("more than one Authorization") == true)
        request.values.set(\.bearerVariable, nil)
        #expect(fault(request) == nil)
    }

    private func fault(_ request: Options, _ environment: [String: String] = [:]) -> UsageError? {
        do throws(UsageError) {
            _ = try request.headerFields(environment: environment)
            return nil
        } catch { return error }
    }

    private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        var template = Array("/tmp/catwatch-test-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { unlink(path) }
        let bytes = Array(text.utf8)
        let written = write(descriptor, bytes, bytes.count)
        close(descriptor)
        try #require(written == bytes.count)
        try body(path)
    }
}
