internal import Glibc
package import Reactor

/// Two connected stream sockets, blocking as they come; the caller closes them.
///
/// - Throws: what socketpair(2) says.
package func socketPair() throws(SystemError) -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    try systemCall("socketpair") { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) }
    return (ends[0], ends[1])
}
