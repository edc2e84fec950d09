internal import Reactor

/// Turns requests into replies: the routes, the faults when they are allowed, and the randomness of both.
struct Responder {
    private let allowsFaults: Bool
    private let wallClock: any WallClock
    private var random: SplitMix
    private var desk = FaultDesk()

    init(allowsFaults: Bool, seed: UInt64, wallClock: any WallClock) {
        self.allowsFaults = allowsFaults
        self.wallClock = wallClock
        random = SplitMix(seed: seed)
    }

    /// Whether the reply to a request for this path needs `If-None-Match` and `If-Modified-Since`.
    func takesConditions(_ path: String) -> Bool { allowsFaults && FaultDesk.covers(path) }

    /// Whether the reply to a request for this path needs to know whether a WebSocket is asked for.
    func takesUpgrade(_ path: String) -> Bool { path == AirQualityOrder.path || takesConditions(path) }

    mutating func reply(to request: Request) -> Reply {
        if allowsFaults, FaultDesk.covers(request.path) {
            return desk.reply(to: request, using: &random, now: wallClock.now)
        }
        if request.path == AirQualityOrder.path { return AirQualityOrder.reply(to: request) }
        return Reply(CatAPI.answer(request, using: &random))
    }
}
