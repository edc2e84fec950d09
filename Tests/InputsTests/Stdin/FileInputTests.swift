import Feed
import Glibc
import Inputs
import Reactor
import TestSupport
import Testing

/// Many files at once, in virtual time; the loop itself reads them.
@Suite(.limited) struct FileInputTests {
    private struct Place {
        let store: EventStore
        let loop: EventLoop
        let factory: InputFactory
        let folder: TestSupport.TemporaryFolder
        /// How many each file has.
        static let lines = 1_500

        init(on loop: EventLoop) throws {
            let wall = SteppedWallClock(following: loop.clock, startingAt: StdinRun.wallStart)
            var limits = FeedState.Limits()
            limits.logCapacity = 1 << 18
            store = EventStore(
                on: loop, wall: wall, identity: AgentIdentity(run: "r", version: "0", started: StdinRun.wallStart),
                limits: limits)
            factory = InputFactory(
                on: loop, wall: wall, transport: try CurlTransport(on: loop), disk: loop, computer: loop,
                random: { SystemRandomNumberGenerator() },
                connectSocket: { _ in throw SystemError(code: ENOENT, call: "connect") },
                makeWorker: { _ in loop },
                broker: { _ in MemoryBroker(MemoryStream()) },
                openStandardInput: { _ throws(SystemError) in throw SystemError(code: EBADF, call: "read") })
            self.loop = loop
            folder = try TestSupport.TemporaryFolder()
        }

        /// Begins to read it as a source of its own.
        func read(_ name: String) -> Task<Void, Never> {
            var source = StdinSource(SourceDescription(name: name), extraction: Extraction(text: .nowhere))
            source.path = folder.path(name)
            let input = factory.input(of: .stdin(source), into: store, polls: PollRequests(on: loop))
            return Task(executorPreference: loop) { try? await input.run() }
        }

        /// The names of files in the folder that are open, with those of each file as often as it is open.
        func open() throws -> [String] {
            try FolderListing.names(in: "/proc/self/fd").compactMap { number in
                var target = [UInt8](repeating: 0, count: 512)
                let count = readlink("/proc/self/fd/\(number)", &target, target.count)
                let path = String(decoding: target.prefix(max(count, 0)), as: UTF8.self)
                return path.hasPrefix(folder.path + "/") ? String(path.dropFirst(folder.path.utf8.count + 1)) : nil
            }
        }

        /// Writes files of numbers, more than one batch each, so that a slow output holds all of them up.
        func makeFiles(_ count: Int) throws -> [String] {
            let text = (1...Self.lines).map { "\($0)\n" }.joined()
            return try (0..<count).map {
                try folder.write(text, to: "\($0)")
                return "\($0)"
            }
        }

        /// Reads everything until the feed's end, and says how many data events each source had.
        func collect(_ reader: ReaderID) async throws -> [String: Int] {
            var counts: [String: Int] = [:]
            var splitter = LineSplitter(limit: 2 << 20)
            while true {
                switch try await store.next(for: reader) {
                case .lines(let span): span.withUnsafeBytes { splitter.push(Bytes($0)) }
                case .gap: Issue.record("something was lost")
                case .greeting, .ended, .kept, .interrupted: continue
                case .end: return counts
                }
                while let item = splitter.next() {
                    guard case .line(let bytes) = item, case .data(let data) = try LineDecoder.decode(bytes).body
                    else { continue }
                    counts[data.series, default: 0] += 1
                }
            }
        }
    }

    @Test func opensSixteenFilesAtATimeAndReadsAllOfThem() async throws {
        try await withLoop(virtual: true) { loop in
            let place = try Place(on: loop)
            let names = try place.makeFiles(40)
            // It takes nothing yet, so no file comes to its end.
            let (reader, _) = await place.store.open("slow", holdsInputs: true)
            let tasks = names.map { place.read($0) }
            try await loop.sleep(for: .seconds(1))
            #expect(try Set(place.open()) == Set(names.prefix(16)) && place.open().count == 16)
            // Who goes makes room for the next ones, also one that has not come in.
            for task in tasks[10..<20] { task.cancel() }
            try await loop.sleep(for: .seconds(1))
            #expect(try Set(place.open()) == Set(names[..<10] + names[20..<26]) && place.open().count == 16)
            async let counts = place.collect(reader)
            for task in tasks { await task.value }
            await place.store.finish("end")
            let read = try await counts
            for name in names[..<10] + names[20...] { #expect(read[name] == Place.lines, "file \(name)") }
            #expect(try place.open().isEmpty)
        }
    }

    @Test func aFIFOWaitsForNoFileAndNoFileForIt() async throws {
        try await withLoop(virtual: true) { loop in
            let place = try Place(on: loop)
            let fifos = (0..<20).map { "fifo\($0)" }
            for name in fifos { #expect(mkfifo(place.folder.path(name), 0o600) == 0) }
            let names = try place.makeFiles(20)
            let (reader, _) = await place.store.open("slow", holdsInputs: true)
            let first = fifos.dropLast().map { place.read($0) }
            let tasks = names.map { place.read($0) }
            try await loop.sleep(for: .seconds(1))
            #expect(try Set(place.open()) == Set(fifos.dropLast() + names.prefix(16)))
            // One that comes while the files are held up.
            let last = place.read(fifos[19])
            try await loop.sleep(for: .seconds(1))
            #expect(try place.open().contains(fifos[19]))
            async let counts = place.collect(reader)
            for task in tasks { await task.value }
            let writers = try fifos.map { try Descriptor.open(place.folder.path($0), flags: O_WRONLY).release() }
            for writer in writers {
                _ = write(writer, "7\n", 2)
                close(writer)
            }
            for task in first + [last] { await task.value }
            await place.store.finish("end")
            let read = try await counts
            for name in fifos { #expect(read[name] == 1) }
            for name in names { #expect(read[name] == Place.lines, "file \(name)") }
        }
    }
}
