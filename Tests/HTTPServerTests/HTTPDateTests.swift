import HTTPServer
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct HTTPDateTests {
    @Test(
        arguments: [
            // The example of RFC 9110.
            (784_111_777_000_000, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_709_251_199_999_999, "Thu, 29 Feb 2024 23:59:59 GMT"), (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (.min, "Thu, 01 Jan 1970 00:00:00 GMT"),
        ] as [(Int64, String)])
    func aDateHasTheFormOfHTTP(microseconds: Int64, text: String) {
        #expect(HTTPDate.text(of: Timestamp(microseconds: microseconds)) == text)
    }
}
