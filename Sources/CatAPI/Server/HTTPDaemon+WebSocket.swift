internal import CMicroHTTPD
internal import Reactor

extension HTTPDaemon {
    /// Takes over a connection on which HTTP has ended.
    ///
    /// - Parameters:
    ///   - socket: libmicrohttpd's, which closes it when it gets `handle` back.
    ///   - received: what the client has sent behind its handshake.
    func upgrade(_ exchange: Exchange, _ socket: Int32, _ handle: OpaquePointer, received: [UInt8]) {
        guard !isStopping, case .webSocket(let order)? = exchange.reply?.delivery,
            let session = AirQualitySession(order, socket, handle, daemon: self)
        else { return cw_mhd_close_upgraded(handle) }
        add(session)
        session.start(received: received)
    }
}
