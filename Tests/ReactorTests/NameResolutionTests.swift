import Glibc
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct NameResolutionTests {
    @Test(arguments: [false, true]) func takesNumericAddressesWhoeverIsAsked(isNumeric: Bool) throws {
        #expect(try SocketAddress.resolve(host: "127.0.0.1", port: 1, isNumeric: isNumeric).count == 1)
        #expect(try SocketAddress.resolve(host: "::1", port: 1, isNumeric: isNumeric).count == 1)
    }

    @Test func saysInTheResolversWordsWhatIsWrong() {
        let error = #expect(throws: SystemError.self) {
            try SocketAddress.resolve(host: "localhost", port: 1, isNumeric: true)
        }
        #expect(error?.reason == "Name or service not known")
        #expect(error?.description == "getaddrinfo localhost: Name or service not known")
        let failure = SystemError(resolving: "cats.test", answer: EAI_AGAIN)
        #expect(failure.reason == "Temporary failure in name resolution")
        errno = EMFILE
        #expect(SystemError(resolving: "cats.test", answer: EAI_SYSTEM).reason == "Too many open files")
    }
}
