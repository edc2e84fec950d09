internal import Outputs

extension Options {
    /// The token that HTTP clients must send; nil when none is required. Blocks.
    ///
    /// - Throws: `UsageError` when the file cannot be read or holds no token.
    func httpToken() throws(UsageError) -> WebToken? {
        guard let path = self[\.httpTokenFile] else { return nil }
        return try UsageError.about(SettingTable.rows.httpTokenFile.flag) { () throws(UsageError) in
            guard let token = try Secret.file(path).read(environment: [:]).flatMap({ WebToken($0) }) else {
                let lengths = WebToken.lengths
                throw UsageError(
                    "a token has \(lengths.lowerBound) to \(lengths.upperBound) letters, digits and signs of ASCII")
            }
            return token
        }
    }
}
