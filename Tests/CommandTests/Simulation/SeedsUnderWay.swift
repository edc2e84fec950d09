import Glibc

/// Which seeds live at this moment, for a life that ends the process: it is said before that happens.
enum SeedsUnderWay {
    private static let most = 8
    // Written by the thread whose place it is; read when the process ends.
    nonisolated(unsafe) private static let seeds = {
        let seeds = UnsafeMutablePointer<UInt64>.allocate(capacity: most)
        seeds.initialize(repeating: 0, count: most)
        return seeds
    }()
    nonisolated(unsafe) private static let before = {
        let actions = UnsafeMutablePointer<sigaction>.allocate(capacity: 1)
        actions.initialize(to: sigaction())
        return actions
    }()
    private static let isWatched: Void = {
        _ = before
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { number in
            SeedsUnderWay.tell()
            // Whoever was to be told before says where it was.
            sigaction(number, SeedsUnderWay.before, nil)
            raise(number)
        }
        action.sa_flags = Int32(bitPattern: UInt32(SA_NODEFER))
        sigaction(SIGILL, &action, before)
    }()

    /// - Parameter place: from 0 to 7.
    static func begin(_ seed: UInt64, at place: Int) {
        _ = isWatched
        seeds[place % most] = seed
    }

    static func end(at place: Int) { seeds[place % most] = 0 }

    /// Prints them by nothing but write(2), as a signal may come at any moment.
    private static func tell() {
        for place in 0..<most where seeds[place] > 0 {
            withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { text in
                var end = text.count
                func put(_ byte: UInt8) {
                    end -= 1
                    text[end] = byte
                }
                for byte in "\nyaw rednu si ".utf8 { put(byte) }
                var rest = seeds[place]
                while rest > 0 {
                    put(UInt8(ascii: "0") + UInt8(rest % 10))
                    rest /= 10
                }
                for byte in " dees".utf8 { put(byte) }
                _ = write(2, text.baseAddress.map { $0 + end }, text.count - end)
            }
        }
    }
}
