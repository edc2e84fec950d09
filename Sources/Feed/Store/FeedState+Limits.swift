extension FeedState {
    package struct Limits: Sendable {
        /// The width of a window.
        package var interval: Duration = .seconds(10)
        /// How far back windows and lines are kept.
        package var history: Duration = .seconds(120)
        /// Bytes of memory for recent lines.
        package var logCapacity = 8 << 20
        /// How many series have windows.
        package var series = usualSeries
        /// Bytes of memory for names of series as lines have them; those of further ones are encoded for each line.
        package var nameBytes = 4 << 20
        /// How many endpoints have statistics.
        package var endpoints = 10_000
        /// How many agents of a fleet there may be, if no configuration names them.
        package var members = 10_000
        /// How many of each one agent of a fleet may have.
        package var memberSeries = 1_000
        package var memberSources = 100
        package var memberEndpoints = 100
        /// How many sources are remembered, with their windows and statistics, that nothing more comes from.
        package var released = 1_000
        /// How many sources of a feed that is passed on are known.
        package var remoteSources = 10_000
        /// Data events after which no more are taken; nil for no limit.
        package var data: Int?

        package static let usualSeries = 10_000
        /// How many there may be at the most, where a person asks for it.
        package static let mostSeries = 100_000

        package init() {}

        /// So many series, and of what there is of each as much as usual.
        package init(series: Int) {
            self.series = series
            nameBytes = Self.scaled(nameBytes, series)
        }

        /// What all series have together, when there are more than usual.
        package static func scaled(_ amount: Int, _ series: Int) -> Int {
            amount * max(series, usualSeries) / usualSeries
        }
    }
}
