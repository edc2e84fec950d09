import TestSupport
import Testing

/// The check that other tests make of what is written can fail.
@Suite(.limited) struct LineSchemaTests {
    @Test(
        arguments: [
            (#"{"type":"gap","time":"t","from":1,"to":2,"reason":"r"}"#, 0),
            (#"{"type":"gap","time":"t","from":1,"to":2}"#, 1),
            (#"{"time":"t","type":"gap","from":1,"to":2,"reason":"r"}"#, 1),
            (#"{"type":"gap","time":"t","from":1,"to":2,"reason":"r","more":1}"#, 1),
            (#"{"seq":1,"time":"t","type":"x","source":"s","series":"s","value":1}"#, 0),
            (#"{"type":"stats","time":"t","as_of":1,"endpoints":[],"sources":[{"source":"s","state":"ok"}]}"#, 1),
            (#"{"type":"error","time":"t","code":"c","message":"m"}"#, 0),
        ] as [(String, Int)])
    func namesWhatIsWrong(line: String, count: Int) throws {
        let faults = try LineSchema().faults(of: Array(line.utf8))
        #expect(faults.count == count, "\(faults)")
    }
}
