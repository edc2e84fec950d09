import TestSupport
import Testing

@testable import Web

@Suite(.limited) struct MetricsFormatTests {
    @Test(arguments: [
        // What Prometheus 2.42 and 3 send.
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;"
            + "version=0.0.4;q=0.5,*/*;q=0.1",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;"
            + "version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,"
            + "*/*;q=0.2",
        "application/openmetrics-text", "Application/OpenMetrics-Text ; Version=\"1.0.0\"",
        "text/plain, application/openmetrics-text", "text/plain;q=0.5,application/openmetrics-text;q=0.5",
        "application/openmetrics-text;q=0.1, */*;q=0.1",
        "*/*;q=0.9, text/plain;q=0.1, application/openmetrics-text;q=0.2",
    ])
    func givesOpenMetricsToWhoNamesItAndWantsNothingMore(_ accept: String) {
        #expect(MetricsFormat(accept: accept) == .openMetrics)
    }

    @Test(arguments: [
        nil, "", "*/*", "text/*", "text/plain", "text/plain;version=0.0.4", "text/html,*/*;q=0.8", "application/json",
        "application/openmetrics-text;q=0", "application/openmetrics-text;version=0.0.1",
        "application/openmetrics-text;version=2.0.0", "application/openmetrics-text;q=0.5,text/plain",
        "application/openmetrics-text;q=0.5,*/*", "application/openmetrics-text;q=x", "text/plain;version=0.0.4;q=0.3",
        ",;,=;q=", "application/openmetrics-text;q=0.4, text/*;q=0.5, */*;q=0.1",
    ])
    func givesTextToEverybodyElse(_ accept: String?) {
        #expect(MetricsFormat(accept: accept) == .text)
    }
}
