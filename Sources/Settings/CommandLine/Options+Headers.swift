extension Options {
    /// All headers to send: `--header`, then those of the header file, then the bearer token. Reads files, so it blocks.
    ///
    /// Each line of a header file is `Name: value`; empty lines and lines that begin with `#` are skipped.
    /// - Throws: `UsageError` when a file cannot be read, a line is not a header, the environment variable is not set,
    ///   or there are two `Authorization` headers.
    package func headerFields(environment: [String: String]) throws(UsageError) -> [HeaderField] {
        let rows = SettingTable.rows
        var fields = self[\.header]
        if let path = self[\.headerFile] {
            fields += try UsageError.about(rows.headerFile.flag) { () throws(UsageError) in try Self.readHeaders(path) }
        }
        if let path = self[\.bearerFile] {
            fields += try UsageError.about(rows.bearerFile.flag) { () throws(UsageError) in
                [try HeaderField(bearer: SecretFile.read(path), from: UsageError.quoted(path))]
            }
        }
        if let name = self[\.bearerVariable] {
            fields += try UsageError.about(rows.bearerVariable.flag) { () throws(UsageError) -> [HeaderField] in
                let variable = "the environment variable \(UsageError.quoted(name))"
                guard let token = environment[name] else { throw UsageError("\(variable) is not set") }
                return [try HeaderField(bearer: token, from: variable)]
            }
        }
        guard fields.count(where: { $0.name.lowercased() == "authorization" }) <= 1 else {
            throw UsageError("there is more than one Authorization header; give one of --header and --bearer-…")
        }
        return fields
    }

    private static func readHeaders(_ path: String) throws(UsageError) -> [HeaderField] {
        let text = try SecretFile.read(path)
        var fields: [HeaderField] = []
        // Splits bytes, because a carriage return and a line feed are one Character.
        for (index, line) in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let line = Substring(line.last == 0x0D ? line.dropLast() : line)
            if line.allSatisfy(\.isWhitespace) || line.hasPrefix("#") { continue }
            do throws(UsageError) {
                fields.append(try HeaderField(String(line)))
            } catch {
                throw UsageError("line \(index + 1) of \(UsageError.quoted(path)): \(error.message)")
            }
        }
        return fields
    }
}
