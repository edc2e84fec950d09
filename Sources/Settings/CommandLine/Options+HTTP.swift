extension Options {
    /// What whoever asks by HTTP has to know; nil when that is not asked for. Blocks.
    ///
    /// - Throws: `UsageError` when the file cannot be read or holds nothing.
    package func httpToken() throws(UsageError) -> String? {
        guard let path = self[\.httpTokenFile] else { return nil }
        return try UsageError.about(SettingTable.rows.httpTokenFile.flag) { () throws(UsageError) in
            try Secret.file(path).read(environment: [:])
        }
    }
}
