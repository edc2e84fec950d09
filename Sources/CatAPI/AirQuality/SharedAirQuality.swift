internal import Reactor

/// The air that everybody breathes who does not ask for a walk of their own: it goes one step a second.
final class SharedAirQuality {
    private let loop: EventLoop
    private let seed: UInt64
    private var air: AirQuality
    /// When the next step is due; nil until somebody looks.
    private var nextStep: LoopInstant?

    init(seed: UInt64, on loop: EventLoop) {
        self.loop = loop
        self.seed = seed
        air = AirQuality(seed: seed)
    }

    /// The air as it is in this second.
    var now: AirQuality {
        let now = loop.clock.now
        // Not more than a minute is made up for: nobody has seen it.
        var next = max(nextStep ?? now.advanced(by: .seconds(1)), now.advanced(by: .seconds(-60)))
        while next <= now {
            air.advance()
            next = next.advanced(by: .seconds(1))
        }
        nextStep = next
        return air
    }

    /// A walk of one client's own, always the same one.
    var fresh: AirQuality { AirQuality(seed: seed) }
}
