package import Feed

extension MemberPosition {
    /// The member's line that a line of a hub is, or the last of those that it says are lost; nil for any other line.
    package init?(ofLine text: String) {
        let tree = JSONTree(Array(text.utf8))
        func word(_ key: String) -> String? {
            tree.keys.firstIndex(of: key).map {
                String(decoding: tree.values[$0].raw, as: UTF8.self).replacing("\"", with: "")
            }
        }
        guard let member = word("agent"), let run = word("origin_run"),
            let number = (word("origin_seq") ?? word("to")).flatMap({ Int($0) })
        else { return nil }
        self.init(member, LineID(run, number))
    }
}
