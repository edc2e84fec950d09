/// A family of metrics: the samples with one name. All of them, with their labels, are in docs/metrics.md.
struct MetricFamily {
    enum Kind: String {
        case gauge, counter, histogram, info
    }

    /// Without the suffix of its kind: `_total`, `_info`, `_bucket`.
    let name: StaticString
    let kind: Kind
    /// The base unit, which ends the name; nil for a plain number.
    let unit: StaticString?
    /// ASCII, on one line, with nothing to escape.
    let help: StaticString

    private init(_ name: StaticString, _ kind: Kind = .gauge, unit: StaticString? = nil, help: StaticString) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.help = help
    }

    // MARK: The agent

    static let build = MetricFamily("catwatch_build", .info, help: "Which version runs.")
    static let start = MetricFamily(
        "catwatch_start_time_seconds", unit: "seconds", help: "When the agent started, since the Unix epoch.")
    static let window = MetricFamily(
        "catwatch_window_seconds", unit: "seconds",
        help: "How wide windows are, and with a source those of that source.")
    static let history = MetricFamily(
        "catwatch_history_seconds", unit: "seconds", help: "How far back windows and lines are kept.")
    static let resident = MetricFamily(
        "catwatch_process_resident_memory_bytes", unit: "bytes", help: "Resident memory, shared pages included.")
    static let peak = MetricFamily(
        "catwatch_process_peak_memory_bytes", unit: "bytes", help: "The most memory that was ever resident.")
    static let privateMemory = MetricFamily(
        "catwatch_process_private_memory_bytes", unit: "bytes", help: "Resident memory that no other process shares.")
    static let processor = MetricFamily(
        "catwatch_process_cpu_seconds", .counter, unit: "seconds", help: "Processor time used, user and system.")
    static let lag = MetricFamily(
        "catwatch_loop_lag_seconds", unit: "seconds", help: "How late the loop was at worst in the newest sample.")
    static let lines = MetricFamily("catwatch_lines", .counter, help: "Numbered lines so far.")
    static let events = MetricFamily("catwatch_events", .counter, help: "Data events so far.")
    static let readers = MetricFamily("catwatch_readers", help: "Readers of the feed now, outputs included.")
    static let gaps = MetricFamily("catwatch_reader_gaps", .counter, help: "Times that a slow reader missed lines.")
    static let stalled = MetricFamily(
        "catwatch_stalled_readers", .counter, help: "Readers that were closed because they took nothing.")
    static let late = MetricFamily("catwatch_late_values", .counter, help: "Values older than the history.")
    static let future = MetricFamily(
        "catwatch_future_values", .counter, help: "Values from more than a window ahead of the clock.")
    static let series = MetricFamily("catwatch_series", help: "Series with windows.")
    static let refusedSeries = MetricFamily(
        "catwatch_refused_series", .counter, help: "Events without windows, as there are too many series.")
    static let refusedEndpoints = MetricFamily(
        "catwatch_refused_endpoints", .counter, help: "Answers and errors not counted, as there are too many endpoints."
    )
    static let refusedAgents = MetricFamily(
        "catwatch_refused_agents", .counter, help: "What came of agents that are not read, as there are too many.")
    static let attached = MetricFamily(
        "catwatch_attached", help: "Whether the attached agent's lines come: 1, or 0 while it is lost.")
    static let silence = MetricFamily(
        "catwatch_attached_silence_seconds", unit: "seconds", help: "Time since the attached agent's newest line.")

    // MARK: Agents of a fleet

    static let agentUp = MetricFamily(
        "catwatch_agent_up",
        help: "Whether an agent of the fleet is live: its lines come, from one of its name: 1 or 0.")
    static let agentAge = MetricFamily(
        "catwatch_agent_age_seconds", unit: "seconds", help: "Time since something came of an agent of the fleet.")
    static let agentLost = MetricFamily(
        "catwatch_agent_lost_lines", .counter, help: "Lines of an agent of the fleet that are lost.")
    static let agentRepeated = MetricFamily(
        "catwatch_agent_repeated_lines", .counter,
        help: "Lines of an agent of the fleet that were here already, and are not taken again.")
    static let agentUnknown = MetricFamily(
        "catwatch_agent_unknown_lines", .counter,
        help: "Lines of an agent of the fleet that are of a type that this version does not know, and are passed over.")

    // MARK: Sources, endpoints, series

    static let up = MetricFamily(
        "catwatch_source_up",
        help: "Whether what came from a source last was no error: 1, or 0, also before anything came.")
    static let ready = MetricFamily(
        "catwatch_source_ready", help: "Whether a source has said something good in time, as for /readyz: 1 or 0.")
    static let polls = MetricFamily(
        "catwatch_polls", .counter, help: "Requests of a source that were answered, by the status of the answer.")
    static let errors = MetricFamily("catwatch_errors", .counter, help: "Errors of a source, by their code.")
    static let latency = MetricFamily(
        "catwatch_request_duration_seconds", .histogram, unit: "seconds",
        help: "Time from the start of a request to the last byte of its answer.")
    static let newestLatency = MetricFamily(
        "catwatch_newest_request_duration_seconds", unit: "seconds", help: "The newest answer's time.")
    static let value = MetricFamily(
        "catwatch_series_value", help: "The newest value of a series, in the unit of its source.")
    static let age = MetricFamily(
        "catwatch_window_age_seconds", unit: "seconds",
        help: "Age of the newest value of a series, in its newest window.")
    static let state = MetricFamily(
        "catwatch_series_state", help: "The word that the newest value of a series stands for: 1.")

    // MARK: Alerts

    static let alerts = MetricFamily(
        "catwatch_alerts",
        help: "For how many series, sources or sets of series an alert's condition is met, or is pending.")
    static let alertStart = MetricFamily(
        "catwatch_alert_start_time_seconds", unit: "seconds",
        help: "Since when the condition of an alert that fires is met, since the Unix epoch.")

    // MARK: The end

    static let leftOut = MetricFamily(
        "catwatch_metrics_left_out",
        help: "What this answer has no room for, or no names of its own; see --metrics-series.")

    /// In the order of the answer.
    static let all = [
        build, start, window, history, resident, peak, privateMemory, processor, lag, lines, events, readers, gaps,
        stalled, late, future, series, refusedSeries, refusedEndpoints, refusedAgents, attached, silence, agentUp,
        agentAge, agentLost, agentRepeated, agentUnknown, up, ready, polls, errors,
        latency, newestLatency, value, age, state, alerts, alertStart, leftOut,
    ]
}
