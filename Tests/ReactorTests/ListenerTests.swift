import Glibc
import Reactor
import TestSupport
import Testing

/// What every kind of listener must do.
@Suite(.limited) struct ListenerTests {
    enum Kind: CaseIterable {
        case socket, simulated

        func open(on loop: EventLoop) throws -> Entrance {
            switch self {
            case .socket:
                let folder = try TemporaryFolder()
                let path = folder.path("s")
                // Blocking, as an inherited one is: the listener must see to it.
                let listener = try SocketListener(owning: UnixSocket.listen(at: path), on: loop)
                return Entrance(listener: listener) {
                    _ = folder  // lives as long as this
                    return try DescriptorStream(owning: UnixSocket.connect(to: path), on: loop)
                }
            case .simulated:
                let listener = SimulatedListener(on: loop)
                return Entrance(listener: listener) { try listener.connect() }
            }
        }
    }

    /// A listener and the way to it. Unchecked: used by tasks of one loop.
    final class Entrance: @unchecked Sendable {
        let listener: any Listener
        let connect: () throws -> any ByteStream

        init(listener: any Listener, connect: @escaping () throws -> any ByteStream) {
            self.listener = listener
            self.connect = connect
        }
    }

    private static func withEntrance(
        of kind: Kind, _ body: @escaping @Sendable (Entrance) async throws -> Void
    ) async throws {
        try await withLoop(virtual: kind == .simulated) { loop in try await body(try kind.open(on: loop)) }
    }

    @Test(arguments: Kind.allCases) func letsManyInInTheOrderTheyCame(kind: Kind) async throws {
        try await Self.withEntrance(of: kind) { entrance in
            for round in 0..<10 {
                var clients: [any ByteStream] = []
                for number: UInt8 in 0..<20 {
                    clients.append(try entrance.connect())
                    try #expect(clients[Int(number)].write([number]) == 1)
                }
                for number: UInt8 in 0..<20 {
                    let server = try await entrance.listener.accept()
                    try #expect(await server.next(upTo: 10) == [number], "round \(round)")
                    try #expect(server.write([number, number]) == 2)
                    try #expect(await clients[Int(number)].next(upTo: 10) == [number, number])
                }
            }
        }
    }

    @Test(arguments: Kind.allCases) func wakesWhoWaitsForSomebodyToCome(kind: Kind) async throws {
        try await Self.withEntrance(of: kind) { entrance in
            for _ in 0..<5 {
                async let first = { () async throws -> [UInt8] in
                    try await entrance.listener.accept().next(upTo: 10)
                }()
                await letOthersRun()
                let client = try entrance.connect()
                try #expect(client.write([5]) == 1)
                try #expect(await first == [5])
            }
        }
    }

    @Test(arguments: Kind.allCases) func whoeverLeftBeforeItWasLetInHasEnded(kind: Kind) async throws {
        try await Self.withEntrance(of: kind) { entrance in
            try entrance.connect().close()
            let server = try await entrance.listener.accept()
            try await server.waitUntilHungUp()
            try #expect(server.read(upTo: 1) == [])
        }
    }

    @Test(arguments: Kind.allCases) func closingItWakesAcceptAndTurnsTheOthersAway(kind: Kind) async throws {
        try await Self.withEntrance(of: kind) { entrance in
            async let code = errorCode { _ = try await entrance.listener.accept() }
            await letOthersRun()
            entrance.listener.close()
            entrance.listener.close()
            #expect(await code == EBADF)
            for _ in 0..<2 {
                #expect(await errorCode { _ = try await entrance.listener.accept() } == EBADF)
                #expect(await errorCode { _ = try entrance.connect() } == ECONNREFUSED)
            }
        }
    }

    @Test(arguments: Kind.allCases) func closingItHangsUpOnThoseWhoStillWaitOutside(kind: Kind) async throws {
        try await Self.withEntrance(of: kind) { entrance in
            let client = try entrance.connect()
            entrance.listener.close()
            try await client.waitUntilHungUp()
            let code = await errorCode { _ = try client.write([1]) }
            #expect(code == EPIPE)
        }
    }

    @Test(arguments: Kind.allCases) func aCancelledAcceptLeavesNothingBehind(kind: Kind) async throws {
        try await Self.withEntrance(of: kind) { entrance in
            await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await entrance.listener.accept() }
                await letOthersRun()
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.next() }
            }
            let client = try entrance.connect()
            let server = try await entrance.listener.accept()
            try #expect(server.write([3]) == 1)
            try #expect(await client.next(upTo: 10) == [3])
        }
    }
}
