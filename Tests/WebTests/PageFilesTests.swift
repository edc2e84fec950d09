import TestSupport
import Testing

@testable import Web

@Suite(.limited)
struct PageFilesTests {
    @Test func thePageComesFirstAndNoFileIsEmpty() throws {
        let files = PageFiles.all
        #expect(try #require(files.first).name == "index.html")
        #expect(files.allSatisfy { !$0.bytes.isEmpty })
        #expect(Set(files.map(\.name)).count == files.count)
    }

    @Test(arguments: [
        ("", ""), ("\n\n  \n", ""), ("a", "a\n"), ("// a\n  // b\nc // d\n", "c // d\n"),
        ("  a\n    b  c\n", "a\nb  c\n"),
        ("/* a */\nb\n", "b\n"), ("a /* b */\n", "a /* b */\n"), ("    /** a */\n    b", "b\n"),
        ("/* a\n * b\n */\nc", "c\n"), ("/**\n// a */\nb\n/* c\n\nd */", "b\n"), ("/", "/\n"), ("*/", "*/\n"),
    ])
    func onlyPeopleReadComments(text: String, kept: String) {
        let bytes = Array(text.utf8).withUnsafeBytes { PageFiles.withoutComments($0) }
        #expect(String(decoding: bytes, as: UTF8.self) == kept)
    }

    @Test func modulesAndStylesAreSentWithoutCommentsAndTheRestAsItIs() throws {
        for file in PageFiles.all {
            let isRead = file.name.hasSuffix(".mjs") || file.name.hasSuffix(".css")
            #expect((file.content == Array(file.bytes)) != isRead, "\(file.name)")
            if !isRead { continue }
            let lines = String(decoding: file.content, as: UTF8.self).split(
                separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.last == "")
            for line in lines.dropLast() {
                #expect(!line.isEmpty && !["//", "/*", " "].contains { line.hasPrefix($0) }, "\(file.name): \(line)")
            }
        }
    }
}
