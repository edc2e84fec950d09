internal import CMicroHTTPD

// What libmicrohttpd calls. Plain functions: a closure in an isolated context would be isolated too, and trap.
// Every context pointer below is the one that was passed along with the function.

/// A request line came: what is made here comes back as `state` of all later calls, until `noteCompletion` releases it.
func noteTarget(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let context, let target, let connection else { return nil }
    let daemon = Unmanaged<HTTPDaemon>.fromOpaque(context).takeUnretainedValue()
    let exchange = Exchange(target: String(cString: target), connection: connection, daemon: daemon)
    return Unmanaged.passRetained(exchange).toOpaque()
}

/// The header fields came, or some of the body, or all of it; only then is there an answer, since libmicrohttpd closes
/// a connection that is answered earlier.
func handleAccess(
    _: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ uploadSize: UnsafeMutablePointer<Int>?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let method, let uploadSize, let pointer = state?.pointee else { return .NO }
    let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
    if !exchange.isUnderWay {
        exchange.isUnderWay = true
        return .YES
    }
    if uploadSize.pointee > 0 {
        uploadSize.pointee = 0  // no route takes a body: it is read and dropped
        return .YES
    }
    return exchange.daemon.answer(exchange, method: method)
}

/// The answer that ends HTTP on a connection was sent: from here on it is a session's.
func noteUpgrade(
    _: UnsafeMutableRawPointer?, _: OpaquePointer?, _ state: UnsafeMutableRawPointer?,
    _ extra: UnsafePointer<CChar>?, _ extraSize: Int, _ socket: MHD_socket, _ handle: OpaquePointer?
) {
    guard let state, let handle else { return }
    let exchange = Unmanaged<Exchange>.fromOpaque(state).takeUnretainedValue()
    let received = UnsafeRawBufferPointer(start: extra, count: extra == nil ? 0 : extraSize)
    exchange.daemon.upgrade(exchange, socket, handle, received: Array(received))
}

/// A request is over, in whichever way.
func noteCompletion(
    _: UnsafeMutableRawPointer?, _: OpaquePointer?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _: MHD_RequestTerminationCode
) {
    guard let pointer = state?.pointee else { return }
    Unmanaged<Exchange>.fromOpaque(pointer).release()
    state?.pointee = nil
}

/// More of a streamed body is wanted.
func readBody(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ room: Int
) -> Int {
    guard let context, let buffer else { return -2 }
    let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    return exchange.read(at: Int(position), into: UnsafeMutableRawPointer(buffer), room: room)
}

/// A streamed response is gone.
func releaseReader(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<Exchange>.fromOpaque(context).release()
}
