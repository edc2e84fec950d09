import Glibc
import TestSupport
import Testing

/// The recipes of examples/ whose programs Debian has, run for real: what arrives is compared with what was sent.
@Suite(.limited) struct ShipperTests {
    /// Tests/run.sh installs them all, so with it nothing is left out.
    private static func has(_ path: String) -> Bool {
        access(path, X_OK) == 0 || Installation.variable("CATWATCH_BINARY") != nil
    }

    private static let recipes = "\(Installation.root)/examples"

    @Test(.enabled(if: has("/usr/sbin/rsyslogd")))
    func rsyslogWritesWhatWasPushedByteForByte() async throws {
        try await Stage.run { stage in
            let folder = stage.folder
            let setUp = try await stage.bash(
                """
                sed -e "s#/run/catwatch/rsyslog.sock#$folder/rsyslog.sock#" \
                    -e "s#/var/log/catwatch.ndjson#$folder/arrived.ndjson#" \
                    '\(Self.recipes)/rsyslog/catwatch.conf' >"$folder/rsyslog.conf"
                """)
            #expect(try await setUp.waitForEnd() == .exited(0))
            // Started after the agent, which tries until there is somebody.
            let agent = try await stage.catwatch([
                "-u", stage.url("/fact"), "-e", "10ms", "-n", "200", "-i", "1", "-o", "ndjson",
                "--connect", "unix:\(folder)/rsyslog.sock?resend=65536",
            ])
            _ = try await stage.start(
                Launch("/usr/sbin/rsyslogd", ["-n", "-f", "\(folder)/rsyslog.conf", "-i", "\(folder)/rsyslog.pid"]))
            let run = try await Finished(of: agent)
            #expect(run.ending == .exited(0))
            let sent = try run.lines().filter { $0.seq > 0 }.map(\.bytes)
            #expect(sent.count >= 400)
            var arrived: [[UInt8]] = []
            try await stage.wait(for: "\(sent.count) lines in rsyslog's file") {
                arrived = FileContent.bytes("\(folder)/arrived.ndjson").split(separator: 0x0A).map { Array($0) }
                return arrived.count >= sent.count
            }
            #expect(arrived == sent)
        }
    }

    @Test(.enabled(if: has("/usr/bin/lnav")))
    func lnavReadsEveryLineByItsFormat() async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(["-u", stage.url("/fact"), "-e", "10ms", "-n", "100", "-i", "1"])
            let lines = try run.lines()
            _ = try await stage.write(run.outputText, to: "feed.ndjson")
            let lnav = try await stage.bash(
                """
                set -e
                home=$(mktemp -d)
                trap 'rm -rf "$home"' EXIT
                mkdir -p "$home/config/formats/catwatch"
                cp '\(Self.recipes)/lnav/catwatch.json' "$home/config/formats/catwatch/"
                HOME=$home lnav -n -q -I "$home/config" \
                    -c ';SELECT log_raw_text FROM catwatch_log' -c ":write-raw-to $folder/lnav.out" \
                    -c ';SELECT count(*), count(seq), sum(type = '"'fact'"') FROM catwatch_log' \
                    -c ":write-csv-to $folder/counts.csv" "$folder/feed.ndjson" </dev/null
                tail -1 "$folder/counts.csv"
                """)
            let shown = try await Finished(of: lnav)
            #expect(shown.ending == .exited(0), "\(shown.errors)")
            #expect(FileContent.bytes("\(stage.folder)/lnav.out") == run.output)
            let numbered = lines.count { $0.seq > 0 }
            let facts = lines.count { $0.type == "fact" }
            #expect(
                shown.outputText.split(separator: "\n").last.map(String.init) == "\(lines.count),\(numbered),\(facts)")
        }
    }

    /// Numbers may be written in another way; what they mean, and everything else, must be the same.
    @Test(
        .enabled(if: has("/usr/bin/mlr") && has("/usr/bin/jq")),
        arguments: ["mlr --ijsonl --ojsonl cat", "jq -c ."])
    func aToolPassesEveryLineOn(_ tool: String) async throws {
        try await Stage.run { stage in
            let program = try await stage.bash(
                """
                set -eo pipefail
                "$catwatch" -u '\(stage.url("/fact"))' -e 10ms -i 1 --listen="$folder/feed.sock" \
                    -o ndjson --output-file "$folder/file.ndjson" >"$folder/sent.ndjson" &
                agent=$!
                until [[ -S $folder/feed.sock ]]; do read -rt 0.01 <> <(:) || :; done
                { "$catwatch" --attach="$folder/feed.sock" --no-reconnect -o ndjson || (($? == 1)); } |
                    tee "$folder/passed" | \(tool) >"$folder/arrived.ndjson" &
                tool=$!
                until [[ -e $folder/passed && $(wc -l <"$folder/passed") -gt 220 ]]; do read -rt 0.01 <> <(:) || :; done
                kill $agent
                wait $agent
                wait $tool
                for name in sent file arrived; do
                    jq -cS 'select(.seq)' "$folder/$name.ndjson" >"$folder/$name.sorted"
                done
                cmp "$folder/sent.sorted" "$folder/arrived.sorted"
                cmp "$folder/sent.sorted" "$folder/file.sorted"
                wc -l <"$folder/arrived.sorted"
                """)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0), "\(run.errors)")
            #expect((Int(run.outputText.filter(\.isNumber)) ?? 0) >= 200)
        }
    }
}

/// Files that programs under test wrote.
enum FileContent {
    /// All of a file; empty when there is none.
    static func bytes(_ path: String) -> [UInt8] {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return [] }
        defer { close(number) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(number, &buffer, buffer.count), count > 0 { content += buffer[..<count] }
        return content
    }
}
