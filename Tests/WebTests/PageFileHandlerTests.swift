import TestSupport
import Testing

@testable import Web

@Suite(.limited) struct PageFileHandlerTests {
    @Test(arguments: [
        ("gzip", true), ("deflate, gzip, br", true), ("gzip;q=0", false), ("gzip; q=0.000", false),
        ("gzip;q=0.5", true), ("*", true), ("*;q=0", false), ("identity", false), ("", false), ("GZIP", true),
        ("gzip ; Q=0", false), ("x-gzip", true), ("notgzip", false), ("br;q=1, gzip;q=0.01", true),
        ("*, gzip;q=0", false), ("gzip;q=0, *;q=1", false), ("*;q=0, gzip", true),
    ]) func knowsWhoTakesGzip(value: String, takes: Bool) { #expect(PageFileHandler.acceptsGzip(value) == takes) }

    @Test(arguments: [
        (#""a""#, true), (#"W/"a""#, true), (#""b", "a""#, true), ("*", true), (#""b""#, false), ("", false),
        ("a", false), (#""a-gzip""#, false),
    ]) func knowsWhoHasIt(value: String, has: Bool) { #expect(PageFileHandler.names(#""a""#, in: value) == has) }

    @Test func everyFileIsServedWithItsType() async throws {
        let types = [
            "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
            "mjs": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
        ]
        try await WebStage.run { stage in
            for file in PageFiles.all {
                let plain = try await stage.ask("GET", "/\(file.name)")
                #expect(plain.status == 200 && plain.body == file.content, "\(file.name)")
                let kind = file.name.split(separator: ".").last.map(String.init) ?? ""
                #expect(plain.fields["content-type"] == types[kind], "\(file.name)")
                #expect(plain.fields["content-encoding"] == nil && plain.fields["vary"] == "Accept-Encoding")
                #expect(plain.fields["cache-control"] == "no-cache")
            }
            let page = try await stage.ask("GET", "/?bare#/series")
            #expect(page.body == PageFiles.all[0].content)
        }
    }

    @Test func gzipIsTheSameFileSmaller() async throws {
        try await WebStage.run { stage in
            let plain = try await stage.ask("GET", "/")
            let small = try await stage.ask("GET", "/", ["Accept-Encoding: gzip"])
            #expect(small.fields["content-encoding"] == "gzip" && small.body.count < plain.body.count)
            #expect(small.fields["content-length"] == "\(small.body.count)")
            #expect(Array(small.body.prefix(3)) == [0x1F, 0x8B, 8])
            // The last four bytes are the length of what is inside (RFC 1952).
            let length = small.body.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            #expect(length == plain.body.count)
            #expect(try await stage.ask("GET", "/", ["Accept-Encoding: gzip"]).body == small.body)
            #expect(small.fields["etag"] != plain.fields["etag"])
        }
    }

    @Test func whoHasAFileGetsNothing() async throws {
        try await WebStage.run { stage in
            for fields in [[], ["Accept-Encoding: gzip"]] {
                let first = try await stage.ask("GET", "/main.mjs", fields)
                let tag = try #require(first.fields["etag"])
                #expect(tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.utf8.count > 10)
                let again = try await stage.ask("GET", "/main.mjs", fields + ["If-None-Match: \(tag)"])
                #expect(again.status == 304 && again.body.isEmpty && again.fields["etag"] == tag)
                #expect(again.fields["vary"] == "Accept-Encoding")
            }
            let other = try await stage.ask("GET", "/page.css").fields["etag"] ?? ""
            #expect(try await stage.ask("GET", "/main.mjs", ["If-None-Match: \(other)"]).status == 200)
        }
    }
}
