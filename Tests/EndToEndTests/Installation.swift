import Glibc
import TestSupport

/// What the tests run, and where it is.
enum Installation {
    /// The program under test: `CATWATCH_BINARY`, else what was built with these tests.
    static let program = variable("CATWATCH_BINARY") ?? buildFolder + "/catwatch"

    /// A Python with the packages of Tests/python/requirements.txt: `CATWATCH_PYTHON`.
    static let python = variable("CATWATCH_PYTHON")

    /// Tests/run.sh sets both variables, so with it nothing is ever left out.
    static let hasPython = python != nil || variable("CATWATCH_BINARY") != nil

    /// Whether the program is the one that is shipped, and not a debug build.
    static let isRelease = program.contains("/release/")

    /// The top of the working copy.
    static let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }

    static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The folder of this test's executable, found by its name beside the bundle or the runner that it is.
    private static let buildFolder: String = {
        guard let resolved = realpath("/proc/self/exe", nil) else { return root + "/.build/debug" }
        defer { free(resolved) }
        let folder = String(cString: resolved).split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
        // The runner may be the toolchain's own.
        return access(folder + "/catwatch", X_OK) == 0 ? folder : root + "/.build/debug"
    }()
}
