import Journal
import Reactor
import TestSupport
import Testing

/// A suite with a journal in a folder of its own.
protocol JournalSuite {
    var folder: TemporaryFolder { get }
    var path: String { get }
}

extension JournalSuite {
    var path: String { folder.path("journal") }
    /// When lines are committed.
    var now: Timestamp { Timestamp(seconds: 2_000_000) }

    /// Opens it, where nothing is in the way.
    func openStore(
        age: Duration = JournalSettings().age, bytes: Int = JournalSettings().bytes,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> SQLiteLineStore {
        var settings = JournalSettings()
        (settings.age, settings.bytes) = (age, bytes)
        let store = SQLiteLineStore(path: path, settings)
        #expect(try store.open().notice == nil, sourceLocation: sourceLocation)
        return store
    }
}
