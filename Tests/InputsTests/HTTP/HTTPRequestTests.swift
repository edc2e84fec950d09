import TestSupport
import Testing

@testable import Inputs

@Suite(.limited) struct HTTPRequestTests {
    private static var request: HTTPRequest {
        var request = HTTPRequest(url: "https://cats.test/first?key=1")
        request.headers = ["X-Api-Key: SECRET"]
        request.credentials = HTTPRequest.Credentials(name: "cat", password: "SECRET")
        request.certificate = "cert.pem"
        request.key = "key.pem"
        request.caFile = "ca.pem"
        request.maxBody = 7
        request.timeout = .seconds(3)
        return request
    }

    @Test(arguments: [
        "https://dogs.test/first", "http://cats.test/first", "https://cats.test:8443/first", "https://a.cats.test/",
        "https://cats.test@dogs.test/", "nonsense",
    ])
    func whatMayBeSecretStaysWithItsOrigin(target: String) {
        for next in [Self.request.moved(to: target), Self.request.redirected(to: target, timeLeft: .seconds(2))] {
            #expect(next.url == target && next.headers.isEmpty && next.credentials == nil)
            #expect(next.certificate == nil && next.key == nil)
            // What is said of every server holds on, and back at the first one nothing is there again.
            #expect(next.caFile == "ca.pem" && next.maxBody == 7 && next.timeout == .seconds(3))
            let back = next.moved(to: Self.request.url)
            #expect(back.headers.isEmpty && back.credentials == nil && back.certificate == nil && back.key == nil)
        }
    }

    @Test(arguments: ["https://cats.test/second", "https://cats.test:443/", "https://cats.test"])
    func theSameOriginGetsEverythingAgain(target: String) {
        let next = Self.request.moved(to: target)
        #expect(next.headers == Self.request.headers && next.credentials == Self.request.credentials)
        #expect(next.certificate == "cert.pem" && next.key == "key.pem")
    }
}
