import Terminal
import TestSupport
import Testing

@Suite(.limited) struct TerminalCapabilitiesTests {
    @Test(
        arguments: [
            ([:], true), (["LANG": "de_DE.UTF-8"], false), (["LANG": "C.utf8"], false), (["LANG": "C"], true),
            (["LANG": "de_DE.ISO-8859-1"], true), (["LANG": "de_DE.UTF-8@euro"], false),
            (["LANG": "C.UTF-8", "LC_ALL": "POSIX"], true),
            (["LANG": "C", "LC_CTYPE": "C.UTF-8", "LC_ALL": ""], false),
        ] as [([String: String], Bool)])
    func theLocaleDecidesWhetherOnlyASCIIIsUnderstood(environment: [String: String], isASCII: Bool) {
        let capabilities = { (terminal: String?) in
            TerminalCapabilities { $0 == "TERM" ? terminal : environment[$0] }
        }
        #expect(capabilities("xterm").isASCII == isASCII)
        for terminal in ["dumb", "", nil] { #expect(capabilities(terminal).isASCII, "\(terminal ?? "no TERM")") }
    }

    @Test(
        arguments: [
            ([:], ScreenSize(columns: 80, rows: 24)), (["COLUMNS": "132"], ScreenSize(columns: 132, rows: 24)),
            (["COLUMNS": "0", "LINES": "-5"], ScreenSize(columns: 80, rows: 24)),
            (["COLUMNS": "x", "LINES": "50"], ScreenSize(columns: 80, rows: 50)),
        ] as [([String: String], ScreenSize)])
    func theEnvironmentSaysHowLargeAScreenIsThatIsNoTerminal(environment: [String: String], size: ScreenSize) {
        #expect(ScreenSize.of(-1, environment: environment) == size)
    }
}
