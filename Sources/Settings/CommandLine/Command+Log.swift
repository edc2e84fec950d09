extension Command {
    /// Parses the words of `catwatch log`.
    ///
    /// - Parameter words: the words after `log`.
    /// - Throws: `UsageError`.
    static func log(
        _ words: ArraySlice<String>, environment: [String: String], load: Loader
    ) throws(UsageError) -> Command {
        let line = try ParsedArguments(words, of: .log, environment: environment)
        if let request = line.request { return request }
        guard line.words.count < 2 else {
            throw UsageError("log reads one journal, and \(UsageError.quoted(line.words[1])) is another word")
        }
        let options = Options(line.values)
        try check(options)
        return .log(journal: try line.journal(line.words.first, load: load), options)
    }

    /// Refuses combinations of options that contradict each other.
    private static func check(_ options: Options) throws(UsageError) {
        let rows = SettingTable.rows
        func refuse(_ row: any Setting, _ isThere: Bool, with other: any Setting, _ why: String) throws(UsageError) {
            guard isThere else { return }
            throw UsageError("does not go with \(other.flag): \(why)", option: row.flag)
        }
        if options[\.summary] {
            let why = "a table has no order, and no end that it could wait for"
            try refuse(rows.follow, options[\.follow], with: rows.summary, why)
            try refuse(rows.reverse, options[\.reverse], with: rows.summary, why)
            try refuse(rows.limit, options[\.limit] != nil, with: rows.summary, "it counts all that is chosen")
            try refuse(rows.format, options.values.isSaid(rows.format), with: rows.summary, "a table is text")
        }
        if options[\.follow] {
            try refuse(rows.reverse, options[\.reverse], with: rows.follow, "what comes is the newest")
            try refuse(rows.until, options[\.until] != nil, with: rows.follow, "it has no end")
        }
    }
}
