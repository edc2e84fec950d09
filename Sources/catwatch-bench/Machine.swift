internal import Glibc

/// The machine on which figures are measured.
struct Machine {
    let cores: Int
    let kernel: String
    let processor: String
    /// The average number of runnable threads over the last minute, including other work of the machine.
    let load: Double

    static func current() -> Machine {
        var names = utsname()
        uname(&names)
        var load = 0.0
        getloadavg(&load, 1)
        let kernel = withUnsafeBytes(of: &names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return Machine(
            cores: sysconf(Int32(_SC_NPROCESSORS_ONLN)), kernel: kernel,
            processor: TextFile.value(of: "model name", in: "/proc/cpuinfo") ?? architecture, load: load)
    }

    /// `x86_64`, `aarch64`.
    static var architecture: String {
        var names = utsname()
        uname(&names)
        return withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
