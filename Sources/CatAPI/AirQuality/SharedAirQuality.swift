internal import Reactor

/// The air quality that clients share unless they have a walk of their own: it advances one step a second.
final class SharedAirQuality {
    private let loop: EventLoop
    private let seed: UInt64
    private var air: AirQuality
    /// When the next step is due; nil before the first look.
    private var nextStep: LoopInstant?

    init(seed: UInt64, on loop: EventLoop) {
        self.loop = loop
        self.seed = seed
        air = AirQuality(seed: seed)
    }

    /// The air quality in this second.
    var now: AirQuality {
        let now = loop.clock.now
        // At most a minute is caught up: nobody has seen the earlier steps.
        var next = max(nextStep ?? now.advanced(by: .seconds(1)), now.advanced(by: .seconds(-60)))
        while next <= now {
            air.advance()
            next = next.advanced(by: .seconds(1))
        }
        nextStep = next
        return air
    }

    /// A walk for one client, always the same one.
    var fresh: AirQuality { AirQuality(seed: seed) }
}
