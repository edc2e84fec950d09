/// Bytes read from standard input and not yet parsed. There is one standard input, however often a reload changes how
/// it is read.
package final class StdinLines {
    /// Its limit is set by the input that reads.
    var buffer = LineBuffer(limit: 1 << 20)

    package init() {}
}
