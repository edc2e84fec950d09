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
            $0.duplicateWindow = .seconds(300)
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

    @Test func aDuplicateWindowThatAConflictOutlastsIsAFault() {
        for window in [Duration.seconds(120), NatsFence.silence] {
            let (report, isFine) = check { $0.duplicateWindow = window }
            #expect(!isFine && report.contains("duplicate_window of") && report.contains("let it be five minutes"))
            #expect(report.contains(window.shortText), "\(report)")
        }
        #expect(check { $0.duplicateWindow = NatsFence.silence + .seconds(1) }.isFine)
    }

    @Test func everythingElseThatDoesNotFitIsSaid() {
        let (report, isFine) = check {
            $0.subjects = ["other.>"]
            $0.mostMessage = 1_000
            ($0.discardsOld, $0.isOnDisk, $0.allowsDirect) = (false, false, false)
        }
        #expect(!isFine)
        for words in [
            "takes other.>, and not", "max_msg_size of 1000", "let discard be old", "storage be file", "allow_direct",
        ] {
            #expect(report.contains(words), "\(words): \(report)")
        }
    }
}
