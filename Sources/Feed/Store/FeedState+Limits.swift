extension FeedState {
    package struct Limits: Sendable {
        /// The width of a window.
        package var interval: Duration = .seconds(10)
        /// The period for which windows and lines are kept.
        package var history: Duration = .seconds(120)
        // Bound: log | 8 MiB with bookkeeping (`--log-bytes`), and `--history`; one long line more for a lossless
        //   output | oldest chunk dropped; who needed it gets a `gap`
        /// The memory for recent lines, in bytes.
        package var logCapacity = 8 << 20
        /// The memory for the newest lines of series that the log has let go of, in bytes.
        package var keptCapacity = 8 << 20
        // Bound: series with values | 10,000 (`--max-series`, up to 100,000) | events without windows; counted in
        //   `refused_series`, one `error` line
        // Bound: series without values: newest lines kept | as many as with values | oldest dropped
        /// The most series with windows.
        package var series = usualSeries
        // Bound: endpoints with statistics, by source | 10,000 | counted in `refused_endpoints`, one `error` line;
        //   beyond about 3,000 in `more_endpoints` of `stats`
        /// The most endpoints with statistics.
        package var endpoints = 10_000
        // Bound: agents of a fleet | 10,000 | refused and counted, unless configured
        /// The most agents of a fleet.
        package var members = 10_000
        // Share of an agent of a fleet: 1,000 series, 100 sources, 100 endpoints; no windows, lines of sources `lost`,
        // no statistics; each reported once.
        /// The most that one agent of a fleet may have of each.
        package var memberSeries = 1_000
        package var memberSources = 100
        package var memberEndpoints = 100
        // Bound: sources removed by a reload | the history and one window; 1,000, or what the limits of series and
        //   endpoints leave | first removed, first forgotten
        /// The most released sources to remember, with their windows and statistics.
        package var released = 1_000
        // Bound: sources of a relayed feed | 10,000 | relayed but not counted
        /// The most sources of a relayed feed.
        package var remoteSources = 10_000
        /// The number of data events after which the feed ends; nil for no limit.
        package var data: Int?

        package static let usualSeries = 10_000
        /// The most series that a user may configure.
        package static let mostSeries = 100_000

        package init() {}

        /// A limit that all series share, scaled up if there are more series than usual.
        package static func scaled(_ amount: Int, _ series: Int) -> Int {
            amount * max(series, usualSeries) / usualSeries
        }
    }
}
