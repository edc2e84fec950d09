internal import Glibc

/// Whether random tests run at their full size: `CATWATCH_LONG=1` in the environment.
package enum LongRun {
    package static let isOn = getenv("CATWATCH_LONG").map { String(cString: $0) } == "1"

    /// How many rounds a random test makes: `short`, or `long` when asked for the full size.
    package static func rounds(short: Int, long: Int) -> Int { isOn ? long : short }
}
