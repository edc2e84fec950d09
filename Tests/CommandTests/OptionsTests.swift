import Testing
import catwatch

@Suite struct OptionsTests {
    @Test func watchesFactsWhenNoFeedIsGiven() throws {
        let feeds = try Options().feeds()
        #expect(feeds.map(\.name) == ["fact"])
        #expect(feeds.map(\.url.withoutUserInfo) == ["https://catfact.ninja/fact"])
        #expect(feeds[0].value == "/length")
        #expect(feeds[0].text == "/fact")
    }

    @Test func takesThePresetFromTheStandInOfADemo() throws {
        var options = Options()
        options.demo = true
        options.every = .milliseconds(50)
        options.urls = [try FeedURL("http://h/fact")]
        let feeds = try options.feeds(demoOrigin: "http://127.0.0.1:4711")
        #expect(feeds.map(\.url.withoutUserInfo) == ["http://127.0.0.1:4711/fact", "http://h/fact"])
        #expect(feeds.map(\.name) == ["fact", "fact-2"])
        #expect(feeds.map(\.value) == ["/length", nil])
        #expect(feeds.map(\.every) == [.milliseconds(50), .milliseconds(50)])
    }

    @Test func watchesOnlyTheURLsWhenThereAreSome() throws {
        var options = Options()
        options.urls = [try FeedURL("http://h/x.json")]
        options.value = "/a/b"
        let feeds = try options.feeds()
        #expect(feeds.map(\.name) == ["x.json"])
        #expect(feeds[0].value == "/a/b")
        #expect(feeds[0].text == nil)

        options.presets = [.fact]
        #expect(try options.feeds().map(\.name) == ["fact", "x.json"])
        #expect(try options.feeds().map(\.value) == ["/a/b", "/a/b"])
    }
}
