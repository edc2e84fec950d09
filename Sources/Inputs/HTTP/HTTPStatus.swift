/// Explanations for the statuses that users ask about (RFC 9110, section 15).
enum HTTPStatus {
    /// ` (not found)`; empty when the number says it all.
    static func words(_ status: Int) -> String {
        switch status {
        case 300...399: " (a redirect without a usable target)"
        case 400: " (bad request)"
        case 401: " (unauthorized: a token may be missing or wrong)"
        case 403: " (forbidden)"
        case 404: " (not found)"
        case 410: " (gone)"
        case 500: " (internal server error)"
        case 502: " (bad gateway)"
        case 503: " (service unavailable)"
        case 504: " (gateway timeout)"
        default: ""
        }
    }
}
