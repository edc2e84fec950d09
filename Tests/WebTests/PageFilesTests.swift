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
}
