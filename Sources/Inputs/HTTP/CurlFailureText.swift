internal import CCurl
internal import Feed
internal import Glibc
internal import Reactor

/// The words for a failed request, for a person.
struct CurlFailureText {
    let handle: EasyHandle
    let request: HTTPRequest

    private var endpoint: Endpoint { request.endpoint }
    private var systemError: Int32 { handle.systemError }
    /// libcurl's own message; may be empty.
    private var detail: String { String(cString: handle.errorText) }
    private var isRedirected: Bool { handle.spent != nil }
    private var received: Int { handle.timing.bytes }
    private var wasResolved: Bool { cw_get_size(handle.pointer, CURLINFO_NAMELOOKUP_TIME_T) > 0 }
    /// Whether there was a connection; for a request, one that it could be sent on.
    private var wasConnected: Bool {
        cw_get_size(handle.pointer, handle.isConnectOnly ? CURLINFO_CONNECT_TIME_T : CURLINFO_PRETRANSFER_TIME_T) > 0
    }

    /// The failure for a libcurl code (libcurl-errors(3)).
    func failure(_ code: CURLcode) -> HTTPFailure {
        let host = endpoint.host
        let peer = endpoint.authority
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return HTTPFailure(.dns, "the name \(host) was not found")
        case CURLE_COULDNT_RESOLVE_PROXY: return HTTPFailure(.dns, "the proxy's name was not found")
        case CURLE_COULDNT_CONNECT: return HTTPFailure(.connect, connectMessage)
        case CURLE_OPERATION_TIMEDOUT: return HTTPFailure(.timeout, timeoutMessage)
        case CURLE_UNSUPPORTED_PROTOCOL where wasConnected:  // libcurl takes an answer that is not HTTP for HTTP/0.9
            return HTTPFailure(.protocol, "\(peer) does not speak HTTP")
        case CURLE_UNSUPPORTED_PROTOCOL where isRedirected:
            return HTTPFailure(.redirect, "a redirect leads to something other than http or https")
        case CURLE_UNSUPPORTED_PROTOCOL: return HTTPFailure(.config, "only http and https URLs can be polled")
        case CURLE_URL_MALFORMAT where isRedirected:
            return HTTPFailure(.redirect, "a redirect leads to what is not a URL")
        case CURLE_URL_MALFORMAT: return HTTPFailure(.config, "this is not a URL")
        case CURLE_RECV_ERROR where detail.hasPrefix("Too large response headers"),
            CURLE_WRITE_ERROR where handle.isHeadTooLong,
            CURLE_OUT_OF_MEMORY where wasConnected && received == 0:  // libcurl's code for an endless header line
            return HTTPFailure(.tooLarge, "the headers of the answer of \(peer) are larger than can be taken")
        case CURLE_WRITE_ERROR where handle.isTooLarge, CURLE_FILESIZE_EXCEEDED:
            return HTTPFailure(.tooLarge, "the answer of \(peer) is larger than \(request.maxBody) bytes")
        case CURLE_WRITE_ERROR where handle.isStream:
            return HTTPFailure(.encoding, "\(peer) sends a compressed feed, which nobody asked for")
        case CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR:
            return HTTPFailure(.encoding, "the compressed answer of \(peer) cannot be unpacked")
        case CURLE_PARTIAL_FILE:
            return HTTPFailure(.closed, "\(peer) closed the connection after \(received) bytes of a longer answer")
        case CURLE_GOT_NOTHING: return HTTPFailure(.closed, "\(peer) closed the connection without an answer")
        case CURLE_RECV_ERROR where detail.holds("chunked-encoding"):
            return HTTPFailure(.protocol, "\(peer) does not speak HTTP as it should: \(reason(code))")
        case CURLE_RECV_ERROR where detail.holds("SSL routines:"),
            CURLE_SEND_ERROR where detail.holds("SSL routines:"):
            return HTTPFailure(.tls, "\(peer) ended the secure connection: \(alert)")
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR: return HTTPFailure(.reset, resetMessage)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED, CURLE_SSL_CLIENTCERT:
            return HTTPFailure(.tls, "no secure connection to \(peer): \(reason(code))")
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_WEIRD_SERVER_REPLY, CURLE_CHUNK_FAILED, CURLE_HTTP3,
            CURLE_PROXY:
            return HTTPFailure(.protocol, "\(peer) does not speak HTTP as it should: \(reason(code))")
        default: return HTTPFailure(.internal, "the request to \(peer) failed: \(reason(code))")
        }
    }

    private func reason(_ code: CURLcode) -> String {
        detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    }

    /// OpenSSL's message without its version and code: `tlsv13 alert certificate required`.
    private var alert: String {
        let marker = "SSL routines:"
        var rest = Substring(detail)
        while !rest.isEmpty, !rest.hasPrefix(marker) { rest.removeFirst() }
        return String(rest.dropFirst(marker.count).drop { $0 == ":" }.prefix { $0 != "," })
    }

    /// The address that was tried: the endpoint, or a proxy, which only libcurl's message names.
    private var connectPeer: String {
        let words = detail.split(separator: " ")
        guard detail.hasPrefix("Failed to connect to "), words.count > 6, words[5] == "port" else {
            return endpoint.authority
        }
        let host = words[4]
        let isEndpoint = host == endpoint.host || "[\(host)]" == endpoint.host
        return isEndpoint ? endpoint.authority : "the proxy \(host):\(words[6])"
    }

    private var connectMessage: String {
        let peer = connectPeer
        // libcurl names the address it tried, which is not the endpoint when there is a proxy.
        if !detail.isEmpty, !detail.holds(endpoint.host), !isRedirected {
            return "no connection to \(peer) through its proxy: \(detail)"
        }
        switch systemError {
        case ECONNREFUSED: return "\(peer) refused the connection: nothing listens there"
        case ENETUNREACH, EHOSTUNREACH: return "there is no way to \(peer): \(Self.words(systemError))"
        case 0: return "no connection to \(peer)" + (detail.isEmpty ? "" : ": \(detail)")
        default: return "no connection to \(peer): \(Self.words(systemError))"
        }
    }

    private var timeoutMessage: String {
        let limit = request.timeout.shortText
        if !wasResolved { return "the name \(endpoint.host) was not resolved within \(limit)" }
        if !wasConnected { return "no connection to \(endpoint.authority) within \(limit)" }
        if handle.status > 0 { return "the answer of \(endpoint.authority) was not complete within \(limit)" }
        return "no answer from \(endpoint.authority) within \(limit)"
    }

    private var resetMessage: String {
        systemError == 0
            ? "the connection to \(endpoint.authority) broke" + (detail.isEmpty ? "" : ": \(detail)")
            : "the connection to \(endpoint.authority) broke: \(Self.words(systemError))"
    }

    private static func words(_ code: Int32) -> String { SystemError(code: code, call: "").reason }
}
