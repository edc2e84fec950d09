extension FeedState {
    package struct Limits: Sendable {
        /// The width of a window.
        package var interval: Duration = .seconds(10)
        /// The period for which windows and lines are kept.
        package var history: Duration = .seconds(120)
        // Bound: log | 8 MiB including bookkeeping (`--log-bytes`), and `--history`; one long line more while a
        //   lossless output has not seen what that line would push out | the oldest chunk is dropped; a reader that had
        //   not seen it gets a `gap`, counted in `gaps`
        /// The memory for recent lines, in bytes.
        package var logCapacity = 8 << 20
        /// The memory for the newest lines of series that the log has let go of, in bytes.
        package var keptCapacity = 8 << 20
        // Bound: series with windows; only values make one | 10,000 (`--max-series`, up to 100,000) | events of
        //   further ones flow without windows; counted in `refused_series`, one `error` line
        // Bound: series without values, whose newest line is kept | as many as with | those with the oldest lines go
        /// The most series with windows.
        package var series = usualSeries
        // Bound: endpoints with statistics, counted separately for each source that polls them | 10,000 | counted in
        //   `refused_endpoints`, one `error` line; a `stats` line has room for about 3,000 and counts the others in
        //   `more_endpoints`
        /// The most endpoints with statistics.
        package var endpoints = 10_000
        // Bound: agents of a fleet | 10,000 | further ones are refused and counted, unless they are configured
        /// The most agents of a fleet.
        package var members = 10_000
        // Bound: what one agent of a fleet may have | 1,000 series, 100 sources, 100 endpoints | further series have no
        //   windows, lines of further sources are `lost`, further endpoints have no statistics; each is reported once
        /// The most that one agent of a fleet may have of each.
        package var memberSeries = 1_000
        package var memberSources = 100
        package var memberEndpoints = 100
        // Bound: sources that a reload took out, with their series, names and endpoints | the history and one window;
        //   1,000, or what the limits of series and endpoints leave | after their windows had their lines, the sources
        //   that were taken out first are forgotten
        /// The most released sources to remember, with their windows and statistics.
        package var released = 1_000
        // Bound: sources of a feed that is passed on | 10,000 | lines of further ones are passed on, but not counted
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
