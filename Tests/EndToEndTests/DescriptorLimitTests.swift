import TestSupport
import Testing

/// How many readers there may be does not depend on the soft limit that the program was started with.
@Suite(.limited) struct DescriptorLimitTests {
    @Test func thereIsADescriptorForEveryReader() async throws {
        try await Stage.run { stage in
            let program = try await stage.bash(
                """
                ulimit -Sn 100
                "$catwatch" --demo --listen="$folder/feed.sock" --max-readers 200 -o none -q &
                agent=$!
                limit=100
                until [[ $limit != 100 ]]; do
                    read -rt 0.01 <> <(:) || :
                    limit=$(awk '/^Max open files/ { print $4 }' /proc/$agent/limits)
                done
                echo "$limit"
                kill $agent
                wait $agent
                """)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0), "\(run.errors)")
            let limit = try #require(Int(run.outputText.filter(\.isNumber)))
            #expect(limit > 200)
        }
    }
}
