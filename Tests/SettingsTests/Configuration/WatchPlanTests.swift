import Feed
import Glibc
import Inputs
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct WatchPlanTests {
    @Test func roundsTheHistoryUpAndSaysSo() throws {
        let plan = try ConfigFixture.plan(#"{"interval":"10s","history":"25s"}"#)
        #expect(plan.options.resolvedHistory == .seconds(30))
        #expect(plan.notices == ["the history of 25s is rounded up to 30s, whole windows of 10s"])
        #expect(try ConfigFixture.plan(nil, ["-i", "7s"]).notices.isEmpty)
        #expect(try ConfigFixture.plan(nil, ["-i", "5s", "--history", "1m"]).notices.isEmpty)
    }

    @Test func namesThePlaceOfWhatDoesNotGoTogether() throws {
        let error = #expect(throws: UsageError.self) { try ConfigFixture.plan(#"{"interval":"1m","history":"30s"}"#) }
        #expect(error?.lines == ["test.jsonc:1:28: history: 30s is shorter than one window of --interval 1m"])
        let flag = #expect(throws: UsageError.self) {
            try ConfigFixture.plan(#"{"interval":"1m"}"#, ["--history", "30s"])
        }
        #expect(flag?.option == "--history" && flag?.lines == [])
        #expect(try ConfigFixture.plan(#"{"attach":"/x","no_reconnect":true}"#).sources(demoOrigin: nil).isEmpty)
    }

    @Test(arguments: ConfigFixture.examples)
    func whatItComesToIsAConfigurationOfItsOwn(_ name: String) throws {
        let plan = try ConfigFixture.plan(ConfigFixture.example(name))
        let text = plan.effectiveText()
        #expect(ConfigFixture.faults(text) == [])
        if name != "catwatch" {  // whose header's value is not shown
            #expect(try ConfigFixture.sources(text) == plan.sources(demoOrigin: nil))
        }
        #expect(plan.origin == "configuration: test.jsonc")
    }

    @Test func printsNoSecret() throws {
        let text = ##"""
            {"sources": [
                {"url": "http://h/a?key=hunter2", "bearer": {"env": "TOKEN"}},
                {"url": "http://h/b", "basic": {"user": "me", "password": {"env": "TOKEN"}}},
                {"url": "http://h/c", "headers": {"X-Api-Key": {"env": "TOKEN"}}},
            ]}
            """##
        let plan = try ConfigFixture.plan(
            text, ["--header", "X-Secret: hunter2"], environment: ["TOKEN": "hunter2", "CATWATCH_LISTEN": "/x"])
        let urls = try ConfigFixture.plan(nil, ["-u", "http://me:hunter2@h/x?hunter2"])
        for text in [plan.effectiveText(), urls.effectiveText(), plan.origin] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
        #expect(plan.effectiveText().contains(#""bearer": {"env": "TOKEN"}"#))
        #expect(plan.effectiveText().contains(#""header": ["X-Secret: …"]"#))
        #expect(urls.effectiveText().contains(#""url": "http://h/x?…""#))
    }

    @Test func everyOptionIsShownOrSaysNothing() throws {
        let arguments: [String: String] = [
            "url": "http://h/x", "preset": "fact", "every": "3s", "value": "/a", "text": "/b", "items": "", "key": "#",
            "time": "/t", "number": "lenient", "interval": "20s", "history": "60s", "output": "none", "count": "5",
            "duration": "1m", "listen": "/x", "listen-mode": "660", "max-readers": "7", "reader-timeout": "5s",
            "http": "[::1]:8080", "http-token-file": "t", "http-host": "cats.test", "http-frame": "https://wall.test",
            "attach": "/y", "connect": "unix:/z", "output-file": "f", "timeout": "3s", "max-body": "2MiB",
            "max-redirects": "3", "retry-most": "5s", "header": "A: b", "header-file": "h", "bearer-file": "t",
            "bearer-env": "E",
            "journal-sync": "full", "journal-bytes": "2MiB", "cacert": "c", "cert": "d", "key-file": "k",
            "log-bytes": "2MiB", "kept-bytes": "2MiB", "max-series": "2000", "nats": "nats://h",
        ]
        func shown(_ values: SettingValues) -> [Settings.JSONTree.Member] {
            Options(values).settings.map { .init($0.key, $0.tree) }
        }
        for (_, option, setting) in SettingTable.inFile {
            var values = SettingValues()
            try setting.parse(arguments[option.long] ?? "1", into: &values, from: .option(option.flag))
            #expect(shown(values) != shown(SettingValues()), "\(option.long)")
        }
    }

    @Test func namesWhatNeedsARestart() throws {
        let old = try ConfigFixture.plan(#"{"interval":"10s","sources":[{"preset":"fact"}],"timeout":"3s"}"#)
        let same = try ConfigFixture.plan(#"{"sources":[{"kind":"stdin"}],"interval":10,"every":"4s"}"#)
        #expect(same.restartKeys(comparedTo: old) == [])
        let new = try ConfigFixture.plan(#"{"interval":"20s","log_bytes":"2MiB","output":"none"}"#)
        #expect(new.restartKeys(comparedTo: old) == ["interval", "output", "log_bytes"])
        #expect(old.restartKeys(comparedTo: new) == ["interval", "output", "log_bytes"])
        let outputs = try ConfigFixture.plan(
            #"{"listen":true,"listen_mode":"660","max_readers":5,"reader_timeout":"5s","connect":["unix:/x"],"output_file":"f"}"#
        )
        #expect(outputs.restartKeys(comparedTo: old) == [])
    }

    @Test func readsEverythingAnew() throws {
        var template = Array("/tmp/catwatch-reload-XXXXXX".utf8CString)
        let descriptor = template.withUnsafeMutableBufferPointer { bytes in
            bytes.baseAddress.map { mkstemp($0) } ?? -1
        }
        try #require(descriptor >= 0)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            close(descriptor)
            unlink(path)
        }
        func write(_ text: String) {
            ftruncate(descriptor, 0)
            pwrite(descriptor, text, text.utf8.count, 0)
        }
        write(#"{"sources":[{"url":"http://h/a"}]}"#)
        let arguments = ["-c", path, "-i", "5s"]
        let command = try Command.parse(arguments) { path throws(UsageError) in
            try ConfigFile.find(named: path, environment: [:])
        }
        guard case .watch(let options) = command else { throw UsageError("no watch") }
        let plan = try WatchPlan(options, environment: [:], arguments: arguments)
        #expect(try plan.reload().sources(demoOrigin: nil) == plan.sources(demoOrigin: nil))
        write(#"{"interval":"9s","sources":[{"url":"http://h/a"},{"url":"http://h/b"}]}"#)
        let new = try plan.reload()
        #expect(try new.sources(demoOrigin: nil).map(\.description.name) == ["a", "b"])
        #expect(new.restartKeys(comparedTo: plan) == [])  // the flag holds
        write("{")
        let error = #expect(throws: UsageError.self) { try plan.reload() }
        #expect(error?.lines == ["\(path):1:2: not JSON: it ends where a key in quotes or '}' should be"])
    }
}
