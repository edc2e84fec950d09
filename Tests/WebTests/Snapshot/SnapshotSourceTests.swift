import TestSupport
import Testing
import WebSocket

@testable import Web

@Suite(.limited)
struct SnapshotSourceTests {
    private func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8).map { $0 < 0x60 ? $0 - 0x30 : $0 - 0x61 + 10 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Those of FIPS 180-4's examples, and lengths around the end of a block, as Python's hashlib has them.
    @Test(arguments: [
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        ("a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
        ("a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        ("a", 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
        ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func namesATextByItsDigest(_ text: String, _ times: Int, _ digest: String) {
        let source = SnapshotPage.source(of: Array(String(repeating: text, count: times).utf8))
        #expect(source == "'sha256-\(Base64.encode(bytes(digest)))'")
    }
}
