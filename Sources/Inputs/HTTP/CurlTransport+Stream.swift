internal import CCurl
internal import Feed
package import Reactor

extension CurlTransport: StreamTransport {
    package func connect(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (stream: LoopBound<any ByteStream>, timing: HTTPTiming) {
        let handle = try await run(request, on: EasyHandle(connectOnly: true))
        let timing = handle.connectionTiming
        // Streams keep the transport alive, as requests do.
        let release = { self.remove(handle) }
        do throws(SystemError) {
            return (LoopBound(try CurlStream(handle, on: loop, release: release)), timing)
        } catch {
            throw HTTPFailure(.internal, "the connection cannot be used: \(error.reason)")
        }
    }

    package func open(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (status: Int, body: LoopBound<any ByteStream>) {
        let arrival = Wakeup(loop: loop)
        let handle = try await run(request, on: EasyHandle(arrival: arrival))
        return (handle.status, LoopBound(CurlBody(handle, arrival: arrival, of: self)))
    }
}
