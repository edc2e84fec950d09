import Glibc
import TestSupport
import Testing

/// What `--http` says in numbers, read by those who are to read it.
@Suite(.limited) struct MetricsTests {
    /// Tests/run.sh installs it, so with it nothing is left out.
    private static let hasPrometheus: Bool = {
        let programs: [String] = ["/usr/bin/prometheus", "/usr/bin/promtool"]
        return Installation.variable("CATWATCH_BINARY") != nil || programs.allSatisfy { access($0, X_OK) == 0 }
    }()

    /// Starts an agent and says where it serves.
    private func serve(_ stage: Stage, _ arguments: [String]) async throws -> String {
        let agent = try await stage.catwatch(arguments + ["--http=127.0.0.1:0"])
        var url = ""
        try await stage.wait(for: "the page's address") {
            guard
                let line = await agent.errorText.split(separator: "\n").first(where: { $0.contains("the page is at") })
            else { return false }
            url = String(line.split(separator: " ").last ?? "")
            return true
        }
        return url
    }

    private func answer(_ stage: Stage, _ url: String) async throws -> (status: String, body: String) {
        let run = try await Finished(of: stage.bash("curl -s -w '\\n%{http_code}' '\(url)'"))
        let lines = run.outputText.split(separator: "\n", omittingEmptySubsequences: false)
        return (lines.last.map(String.init) ?? "", lines.dropLast().joined(separator: "\n"))
    }

    @Test(.enabled(if: Installation.hasPython && hasPrometheus))
    func prometheusAndPromtoolAndPrometheusClientReadThem() async throws {
        try await Stage.run { stage in
            let python = try #require(Installation.python)
            let options = ["--demo", "-p", "all", "-i", "1", "-o", "none", "--alert", "some: fact >= 0"]
            let url = try await serve(stage, options)
            try await stage.wait(for: "every source") { try await answer(stage, url + "readyz").status == "200" }
            let reader = "\(Installation.root)/Tests/python/read_metrics.py"
            let run = try await Finished(
                of: stage.bash("PYTHONDONTWRITEBYTECODE=1 exec '\(python)' '\(reader)' \(url) '\(Installation.root)'"))
            #expect(run.ending == .exited(0), "\(run.outputText)\n\(run.errors)")
            // Sixteen bounds of five endpoints are eighty already.
            let count = run.outputText.split(separator: " ").first.flatMap { Int($0) } ?? 0
            #expect(count > 150, "\(run.outputText)")
        }
    }

    @Test func isReadyWhenItsSourcesAreAndAliveAllTheWhile() async throws {
        try await Stage.run { stage in
            let fact = try await stage.url("/fact")
            let port = try await stage.closedPort()
            let url = try await serve(
                stage, ["-u", fact, "-u", "http://127.0.0.1:\(port)/gone", "-e", "50ms", "-i", "1", "-o", "none"])
            // Either may be the first of which something is known.
            try await stage.wait(for: "word of both sources") {
                let ready = try await answer(stage, url + "readyz")
                return ready.status == "503"
                    && ready.body.contains(#"{"source":"fact","ready":true,"reason":"in time"}"#)
                    && ready.body.contains(#"{"source":"gone","ready":false,"reason":"fails: connect"}"#)
            }
            #expect(try await answer(stage, url + "healthz") == ("200", "{\"alive\":true}\n"))
            let metrics = try await answer(stage, url + "metrics").body
            #expect(metrics.contains("\ncatwatch_source_ready{source=\"gone\"} 0\n"))
            #expect(metrics.contains("\ncatwatch_errors_total{source=\"gone\",code=\"connect\"} "))
            #expect(!metrics.contains("catwatch_polls_total{source=\"gone\""))
        }
    }
}
