import Feed
import Inputs
import Reactor
import Synchronization
import TestSupport
import Testing

@testable import catwatch

/// What `check --online` asks, and what it says of the answers, in virtual time.
@Suite(.limited) struct OnlineCheckTests {
    @Test func eachSourceIsAskedOnceAndAnEmptyListIsAnAnswer() async throws {
        let folder = try TemporaryFolder()
        let paths = ["empty", "pages", "value", "broken", "slow"]
        let sources = paths.map { name in
            let pages = #""kind": "pages", "items": "/data", "page_parameter": "page","#
            let more = ["pages": pages, "empty": #""items": "","#][name] ?? ""
            return #"{"name": "\#(name)", \#(more) "url": "http://h/\#(name)", "every": "100ms", "timeout": "20s"}"#
        }
        try folder.write("{\"sources\": [\(sources.joined(separator: ","))]}", to: "c")
        let path = folder.path("c")
        try await withLoop(virtual: true) { loop in
            let asked = Mutex<[String: Int]>([:])
            let transport = SimulatedTransport(on: loop) { request in
                request.url.contains("slow") ? .seconds(15) : .milliseconds(40)
            } answer: { _, request in
                let name = String(request.url.split(separator: "/").last?.prefix { $0 != "?" } ?? "")
                asked.withLock { $0[name, default: 0] += 1 }
                let bodies = [
                    "empty": "[]", "pages": #"{"data":[]}"#, "value": #"{"n":7,"m":[8]}"#, "broken": "", "slow": "8",
                ]
                return HTTPAnswer(status: 200, body: Array((bodies[name] ?? "").utf8))
            }
            var parts = SimulatedProcess.Parts()
            parts.makeTransport = { _ in transport }
            let process = SimulatedProcess(on: SimulatedMachine(on: loop), seed: 1, parts: parts)
            let (report, status) = try await process.check(path)
            #expect(status == 1 && asked.withLock(\.self) == Dictionary(uniqueKeysWithValues: paths.map { ($0, 1) }))
            for name in ["empty", "pages"] {
                #expect(report.contains("\(name): 0 events (an empty list) in "), "\(report)")
            }
            for name in ["value", "slow"] { #expect(report.contains("\(name): 1 event in "), "\(report)") }
            #expect(report.contains("  value: /n; also /m/0\n"), "\(report)")
            #expect(report.contains("broken: not_json: "), "\(report)")
        }
    }
}
