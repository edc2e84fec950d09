extension FeedState {
    package struct Limits: Sendable {
        /// The width of a window.
        package var interval: Duration = .seconds(10)
        /// The period for which windows and lines are kept.
        package var history: Duration = .seconds(120)
        /// The memory for recent lines, in bytes.
        package var logCapacity = 8 << 20
        /// The most series with windows.
        package var series = usualSeries
        /// The memory for encoded names of series, in bytes; names of further series are encoded for each line.
        package var nameBytes = 4 << 20
        /// The most endpoints with statistics.
        package var endpoints = 10_000
        /// The most agents of a fleet, beyond which only configured ones are accepted.
        package var members = 10_000
        /// The most that one agent of a fleet may have of each.
        package var memberSeries = 1_000
        package var memberSources = 100
        package var memberEndpoints = 100
        /// The most released sources to remember, with their windows and statistics.
        package var released = 1_000
        /// The most sources of a relayed feed.
        package var remoteSources = 10_000
        /// The number of data events after which the feed ends; nil for no limit.
        package var data: Int?

        package static let usualSeries = 10_000
        /// The most series that a user may configure.
        package static let mostSeries = 100_000

        package init() {}

        /// Limits for this number of series, with the usual memory for each.
        package init(series: Int) {
            self.series = series
            nameBytes = Self.scaled(nameBytes, series)
        }

        /// A limit that all series share, scaled up if there are more series than usual.
        package static func scaled(_ amount: Int, _ series: Int) -> Int {
            amount * max(series, usualSeries) / usualSeries
        }
    }
}
