import Nats
import TestSupport
import Testing

/// Seeds and keys that nk made, the NATS project's own tool.
@Suite(.limited) struct NKeyTests {
    @Test func nothingButAUsersSeedHasAKey() {
        for text in ["", "SU", "hello", "SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC5"] {
            #expect(NKey.publicKey(ofSeed: text) == nil, "\(text)")
        }
    }
}
