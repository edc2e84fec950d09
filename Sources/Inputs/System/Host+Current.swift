package import Feed
internal import Glibc

extension AgentIdentity.Host {
    /// This machine's identity, in words a person knows.
    package static func current() -> AgentIdentity.Host {
        var host = AgentIdentity.Host()
        var names = utsname()
        if uname(&names) == 0 {
            host.name = text(&names.nodename)
            host.kernel = text(&names.sysname) + " " + text(&names.release)
            host.arch = text(&names.machine)
        }
        host.os = osName() ?? host.kernel
        host.device = deviceName() ?? ""
        return host
    }

    /// The text of a C array that ends in a zero byte.
    private static func text<Characters>(_ characters: inout Characters) -> String {
        withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// `PRETTY_NAME` of os-release(5).
    private static func osName() -> String? {
        guard let text = ProcFile.text("/etc/os-release") ?? ProcFile.text("/usr/lib/os-release") else { return nil }
        let key = "PRETTY_NAME="
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(key) }) else { return nil }
        return String(line.dropFirst(key.count).filter { $0 != "\"" })
    }

    /// Vendor and model by DMI, the model by the device tree, or the name of the hypervisor.
    private static func deviceName() -> String? {
        let dmi = "/sys/class/dmi/id/"
        let parts = [ProcFile.line(dmi + "sys_vendor"), ProcFile.line(dmi + "product_name")].compactMap(\.self)
        if !parts.isEmpty { return parts.joined(separator: " ") }
        return ProcFile.line("/proc/device-tree/model") ?? ProcFile.line("/sys/hypervisor/type")
    }
}
