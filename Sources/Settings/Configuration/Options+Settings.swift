internal import Inputs
internal import Outputs

extension Options {
    /// Every option's value as a configuration has it, in the order of the table; without secrets.
    ///
    /// What is off, or was not given and has no default, is left out.
    var settings: [JSONTree.Member] {
        Configuration.options.compactMap { entry in
            value(of: entry.long).map { JSONTree.Member(entry.key, $0) }
        }
    }

    /// What says which sources there are and how they are asked: a reload needs no restart for these.
    static let sourceSettings: Set<String> = [
        "url", "preset", "every", "value", "text", "items", "key", "time", "number", "timeout", "max-body",
        "max-redirects", "header", "header-file", "bearer-file", "bearer-env", "cacert", "cert", "key-file",
    ]

    private func value(of long: String) -> JSONTree? {
        sourceValue(of: long) ?? requestValue(of: long) ?? programValue(of: long)
    }

    private func sourceValue(of long: String) -> JSONTree? {
        switch long {
        case "url": urls.isEmpty ? nil : .strings(urls.map(\.description))
        case "preset": presets.isEmpty ? nil : .strings(presets.map(\.rawValue))
        case "every": explicit.contains(long) ? .string(DurationText.format(every)) : nil
        case "value": value.map(JSONTree.string)
        case "text": text.map(JSONTree.string)
        case "items": items.map(JSONTree.string)
        case "key": key.map(JSONTree.string)
        case "time": time.map(JSONTree.string)
        case "number": explicit.contains(long) ? .string(number.rawValue) : nil
        case "demo": demo ? .boolean(true) : nil
        default: nil
        }
    }

    private func requestValue(of long: String) -> JSONTree? {
        switch long {
        case "timeout": return .string(DurationText.format(request.timeout))
        case "max-body": return .string(ByteSize.format(request.maxBody))
        case "max-redirects": return .integer(request.maxRedirects)
        case "header": return request.headers.isEmpty ? nil : .strings(request.headers.map(\.description))
        case "header-file": return request.headerFile.map(JSONTree.string)
        case "bearer-file":
            if case .file(let path)? = request.bearer { return .string(path) }
        case "bearer-env":
            if case .environment(let name)? = request.bearer { return .string(name) }
        case "cacert": return request.caFile.map(JSONTree.string)
        case "cert": return request.certificate.map(JSONTree.string)
        case "key-file": return request.key.map(JSONTree.string)
        default: break
        }
        return nil
    }

    private func programValue(of long: String) -> JSONTree? {
        switch long {
        case "interval": .string(DurationText.format(interval))
        case "history": .string(DurationText.format(resolvedHistory))
        case "output": output.map { .string($0.rawValue) }
        case "once": once ? .boolean(true) : nil
        case "mouse": mouse ? .boolean(true) : nil
        case "count": count.map(JSONTree.integer)
        case "duration": duration.map { .string(DurationText.format($0)) }
        case "verbose": verbosity == .verbose ? .boolean(true) : nil
        case "quiet": verbosity == .quiet ? .boolean(true) : nil
        case "listen": listen.map { $0.path.map(JSONTree.string) ?? .boolean(true) }
        case "listen-mode": .string(String(listenMode, radix: 8))
        case "max-readers": .integer(maxReaders)
        case "reader-timeout": .string(DurationText.format(readerTimeout))
        case "attach": attach.map { $0.path.map(JSONTree.string) ?? .boolean(true) }
        case "no-reconnect": reconnects ? nil : .boolean(true)
        case "connect": connect.isEmpty ? nil : .strings(connect.map(\.description))
        case "output-file": outputFile.map(JSONTree.string)
        case "log-bytes": .string(ByteSize.format(logBytes))
        default: nil
        }
    }
}
