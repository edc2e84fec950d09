internal import Glibc
internal import Reactor

/// Requests a second on `/healthz`, by wrk, compared with nginx serving a file with the same bytes.
enum HealthRequests: Scenario {
    static let name = "http-healthz"
    static let summary = "requests/s on /healthz, by wrk, against a file of nginx's, in turns"

    private static let wrk = "/usr/bin/wrk"

    static func measure(_ setting: Setting) throws -> [Figure] {
        guard access(wrk, X_OK) == 0, Nginx.isInstalled else { return [.noPeer("ratio to nginx")] }
        var ratio = Figure(name: "ratio to nginx's file", unit: "", runs: [], limit: .atLeast(0.2))
        var ours = Figure(name: "catwatch", unit: "requests/s", runs: [])
        var theirs = Figure(name: "nginx", unit: "requests/s", runs: [])
        try setting.withNginx { nginx, folder in
            let agent = try WebAgent(setting, ["--url", nginx.url, "--every", "1s", "-o", "none"], folder: folder)
            defer { agent.process.end() }
            let answer = try agent.get("/healthz").bytes
            guard let end = answer.firstRange(of: "\r\n\r\n".utf8)?.upperBound else {
                throw agent.process.failure("answers without a head")
            }
            let file = try nginx.serve(String(decoding: answer[end...], as: UTF8.self), as: "healthz")
            for _ in 0..<setting.runs {
                let other = try rate(of: file, setting, folder)
                let own = try rate(of: agent.url("/healthz"), setting, folder)
                theirs.runs.append(other)
                ours.runs.append(own)
                ratio.runs.append(own / other)
            }
        }
        return [ratio, ours, theirs]
    }

    private static func rate(of url: String, _ setting: Setting, _ folder: String) throws -> Double {
        let seconds = setting.isLong ? 10 : 2
        let process = try ChildProcess(wrk, ["-t1", "-c32", "-d\(seconds)s", url], folder: folder)
        defer { process.end() }
        var said: [UInt8] = []
        process.read(until: .now + .seconds(seconds + 10)) { bytes in
            said += bytes
            return false
        }
        let lines = String(decoding: said, as: UTF8.self).split(separator: "\n")
        let name = "Requests/sec:"
        guard let line = lines.first(where: { $0.hasPrefix(name) }),
            let rate = Double(line.dropFirst(name.count).filter { $0 != " " }),
            !lines.contains(where: { $0.utf8.firstRange(of: "Non-2xx".utf8) != nil || $0.hasPrefix("  Socket errors") })
        else { throw process.failure("did not get through to \(url)") }
        return rate
    }
}
