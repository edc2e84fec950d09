import Nats
import Reactor
import TestSupport
import Testing

@testable import catwatch

/// What `check --online` says of a stream that is published to.
@Suite(.limited) struct NatsCheckTests {
    private func check(_ change: (inout NatsStream) -> Void) -> (report: String, isFine: Bool) {
        let stream = MemoryStream()
        stream.setUp {
            $0.replicas = 3
            change(&$0)
        }
        let settings = NatsSettings(to: NatsServers([NatsAddress(host: "h")]))
        return NatsCheck.run(settings, as: "web1", MemoryBroker(stream, mostMessage: 2 << 20))
    }

    @Test func aStreamAsItIsToBeIsFine() {
        let (report, isFine) = check { _ in }
        #expect(isFine && report == "nats: catwatch.v1.web1 can be published to CATWATCH\n", "\(report)")
    }

    @Test func everythingElseThatDoesNotFitIsSaid() {
        let (report, isFine) = check {
            $0.subjects = ["other.>"]
            $0.mostMessage = 1_000
            ($0.discardsOld, $0.isOnDisk) = (false, false)
        }
        #expect(!isFine)
        for words in [
            "takes other.>, and not", "max_msg_size of 1000", "let discard be old", "storage be file",
        ] {
            #expect(report.contains(words), "\(words): \(report)")
        }
    }
}
