extension String {
    /// Whether these bytes stand somewhere in the string.
    ///
    /// By hand, since `contains` of a string links the regular expressions: 1.5 MB of text, half a megabyte resident.
    package func holds(_ part: String) -> Bool {
        let bytes = Array(utf8)
        let wanted = Array(part.utf8)
        guard wanted.count <= bytes.count else { return false }
        return (0...bytes.count - wanted.count).contains { bytes[$0...].starts(with: wanted) }
    }
}
