import Outputs
import TestSupport
import Testing

@testable import Web

/// What the page is told beside the lines, and the demo's pictures.
@Suite(.limited)
struct ConfigHandlerTests {
    @Test func saysWhatNoLineDoes() async throws {
        try await WebStage.run { (stage) async throws -> Void in
            let answer = try await stage.get("/config")
            #expect(answer.fields["content-type"] == "application/json" && answer.fields["cache-control"] == "no-store")
            #expect(answer.text == #"{"version":"","pictures":[],"attached":false}"# + "\n")
            #expect(try await stage.get("/demo/pictures/a.svg").status == 404)
        }
        var settings = WebSettings()
        settings.version = "1.2 \"x\""
        settings.pictures = ["https://a.example", "https://b.example:8443"]
        settings.isAttached = true
        settings.series = 20_000
        settings.demo = "http://127.0.0.1:1"
        try await WebStage.run(settings) { (stage) async throws -> Void in
            let answer = try await stage.get("/config")
            #expect(
                answer.text
                    == #"{"version":"1.2 \"x\"","pictures":["https://a.example","https://b.example:8443"],"#
                    + #""demo":"http://127.0.0.1:1","series":20000,"attached":true}"# + "\n")
            #expect(
                answer.fields["content-security-policy"]?.split(separator: "; ").contains(
                    "img-src 'self' https://a.example https://b.example:8443") == true)
            #expect(try await stage.post("/config", "", fields: []).status == 405)
        }
    }

    @Test func theTokenIsForThemToo() async throws {
        var settings = WebSettings()
        settings.token = WebToken("0123456789abcdef")
        try await WebStage.run(settings) { (stage) async throws -> Void in
            for target in ["/config", "/snapshot", "/demo/x"] {
                let answer = try await stage.get(target)
                #expect(answer.status == 401, "\(target)")
            }
            let fields = ["Content-Type: application/json"]
            #expect(try await stage.post("/poll/fact", "", fields: fields).status == 401)
            #expect(try await stage.get("/config", fields: ["Authorization: Bearer 0123456789abcdef"]).status == 200)
        }
    }

    @Test func givesTheDemosPicturesAndNothingElse() async throws {
        let picture: WebContext.DemoPicture = { $0 == "/pictures/beagle-1.svg" ? Array("<svg/>".utf8) : nil }
        var settings = WebSettings()
        settings.demo = "http://127.0.0.1:1"
        try await WebStage.run(settings, demoPicture: picture) { (stage) async throws -> Void in
            let answer = try await stage.get("/demo/pictures/beagle-1.svg")
            #expect(answer.status == 200 && answer.text == "<svg/>")
            #expect(answer.fields["content-type"] == "image/svg+xml")
            #expect(answer.fields["x-content-type-options"] == "nosniff")
            #expect(
                answer.fields["content-security-policy"]
                    == "default-src 'none'; style-src 'unsafe-inline'; sandbox")
            for path in ["", "pictures", "fact", "pictures/beagle-1.svg/", "/pictures/beagle-1.svg", "..%2fconfig"] {
                #expect(try await stage.get("/demo/\(path)").status == 404, "\(path)")
            }
        }
        // Without --demo there are none.
        try await WebStage.run(demoPicture: picture) { (stage) async throws -> Void in
            let answer = try await stage.get("/demo/pictures/beagle-1.svg")
            #expect(answer.status == 404)
        }
    }
}
