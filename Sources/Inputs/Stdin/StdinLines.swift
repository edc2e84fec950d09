/// What was read of standard input and not looked at yet: there is one standard input, however often a reload changes how
/// it is read.
package final class StdinLines {
    /// Its limit is the reading input's.
    var buffer = LineBuffer(limit: 1 << 20)

    package init() {}
}
