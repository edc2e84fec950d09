internal import CCurl
internal import Feed
package import Reactor

extension CurlTransport: StreamTransport {
    package func connect(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (stream: LoopBound<any ByteStream>, timing: HTTPTiming) {
        installCallbacks()
        guard let handle = EasyHandle() else {
            throw HTTPFailure(.internal, "there is no memory for another connection")
        }
        let attempt = CurlConnect(request, handle: handle)
        if let problem = attempt.configure() { throw problem }
        let failure: HTTPFailure? = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(returning: HTTPFailure(.closed, "the connection was cancelled"))
                } else {
                    attempt.continuation = continuation
                    connecting[handle.pointer] = attempt
                    curl_multi_add_handle(multi.pointer, handle.pointer)
                }
            }
        } onCancel: {
            loop.post { self.assumeIsolated { $0.cancel(attempt) } }
        }
        if let failure { throw failure }
        let timing = handle.connectionTiming
        // Streams keep the transport alive, as requests do.
        let release = { self.assumeIsolated { $0.disconnect(handle) } }
        do throws(SystemError) {
            return (LoopBound(try CurlStream(handle, on: loop, release: release)), timing)
        } catch {
            throw HTTPFailure(.internal, "the connection cannot be used: \(error.reason)")
        }
    }

    /// Completes a connection attempt, when libcurl has connected or given up.
    func connectEnded(_ key: UnsafeMutableRawPointer, _ code: CURLcode) {
        guard let attempt = connecting.removeValue(forKey: key) else { return }
        let failure = code == CURLE_OK ? nil : attempt.failure(code)
        if failure != nil { curl_multi_remove_handle(multi.pointer, key) }
        attempt.continuation?.resume(returning: failure)
        attempt.continuation = nil
    }

    private func cancel(_ attempt: CurlConnect) {
        let key = attempt.handle.pointer
        guard connecting[key] === attempt else { return }
        connecting[key] = nil
        curl_multi_remove_handle(multi.pointer, key)
        attempt.continuation?.resume(returning: HTTPFailure(.closed, "the connection was cancelled"))
        attempt.continuation = nil
    }

    /// Closes a connection: libcurl does so when its handle is removed.
    private func disconnect(_ handle: EasyHandle) {
        curl_multi_remove_handle(multi.pointer, handle.pointer)
    }
}
