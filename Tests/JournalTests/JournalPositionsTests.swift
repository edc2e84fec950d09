import Feed
import Journal
import Reactor
import TestSupport
import Testing

/// Where the members of a fleet are, as its journal has it.
@Suite(.limited) struct JournalPositionsTests {
    private let folder: TemporaryFolder
    private let path: String
    private let now = Timestamp(seconds: 2_000_000)

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("journal")
    }

    private func commit(_ positions: [MemberPosition], to store: SQLiteLineStore) throws {
        try store.commit([.positions(positions)], at: now)
    }

    /// Opens it anew.
    private func positions(of store: SQLiteLineStore) throws -> [MemberPosition] {
        store.close()
        return try store.open().positions
    }

    @Test func theyAreWrittenWithTheCommitAndTheNewestIsLast() throws {
        let store = SQLiteLineStore(path: path, JournalSettings())
        #expect(try store.open().positions == [])
        let first = [
            MemberPosition("web1", LineID("a", 42), stored: now), MemberPosition("web2", LineID("b", 9)),
            MemberPosition("nats", LineID("1700000000000000000", 7)),
        ]
        try commit(first, to: store)
        #expect(try positions(of: store) == first)
        try commit([MemberPosition("web2", LineID("c", 0)), MemberPosition("web1", LineID("a", 43))], to: store)
        #expect(
            try positions(of: store) == [
                first[1], first[2], MemberPosition("web2", LineID("c", 0)), MemberPosition("web1", LineID("a", 43)),
            ])
        store.close()
    }

    @Test func theLastEightRunsOfAMemberAreKnown() throws {
        let store = SQLiteLineStore(path: path, JournalSettings())
        _ = try store.open()
        for number in 1...10 {
            try commit([MemberPosition("web1", LineID("r\(number)", number))], to: store)
            // One that goes on is as new as any.
            if number > 2 { try commit([MemberPosition("web1", LineID("r2", number))], to: store) }
        }
        #expect(try positions(of: store).map(\.line.run) == (4...10).map { "r\($0)" } + ["r2"])
        store.close()
    }

    /// Names are without end.
    @Test func tenThousandMembersAreKnown() throws {
        let store = SQLiteLineStore(path: path, JournalSettings())
        _ = try store.open()
        try commit((1...10_000).map { MemberPosition("web\($0)", LineID("a", 1)) }, to: store)
        try commit([MemberPosition("web1", LineID("b", 1)), MemberPosition("other", LineID("a", 1))], to: store)
        let members = try positions(of: store).map(\.member)
        #expect(members.count == 10_001 && members.first == "web1" && members[1] == "web3" && members.last == "other")
        store.close()
    }
}
