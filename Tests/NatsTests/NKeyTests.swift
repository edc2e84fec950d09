import Nats
import TestSupport
import Testing

/// Seeds and keys that others' tools have made.
@Suite(.limited) struct NKeyTests {
    @Test(arguments: [
        (
            "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y",
            "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK"
        ),
        (
            "SUAH2KMU2ANHP3EUP2MS676J4X7CHJJCF6XPZEHBM3ROEYOIJPRABNRZHI",
            "UDJVOUIMYTWMDZEETDXDMAQFCOXLUBAFLB3QA7D4F6KDRD2L3RZ5E5FO"
        ),
    ])
    func aUsersSeedHasItsPublicKey(_ seed: String, _ key: String) {
        #expect(NKey.publicKey(ofSeed: seed) == key)
    }

    /// A wrong checksum, one letter less, an account's, one in lower case.
    @Test(arguments: [
        "", "SU", "hello", "SUAAAAICAMCAKBQHBAEQUCYMBUHB6EARCIJRIFIWC4MBSGQ3DQOR4H776Y",
        "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776",
        "SAAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4HYMHI",
        "suaaaaicamcakbqhbaequcymbuha6earcijrifiwc4mbsgq3dqor4h776y",
    ])
    func nothingElseHasOne(_ text: String) { #expect(NKey.publicKey(ofSeed: text) == nil) }
}
