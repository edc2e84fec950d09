internal import Reactor

/// The results, for people and for programs.
struct Report {
    let machine: Machine
    let time: Timestamp
    var results: [(scenario: String, figure: Figure)] = []

    /// Whether every limit is met and every figure was measured.
    var isMet: Bool { results.allSatisfy { $0.figure.isMet ?? ($0.figure.runs.isEmpty == false) } }

    var table: String {
        let head = ["scenario", "figure", "value", "unit", "limit", "verdict", "runs", "least", "most"]
        var rows = [head]
        for (scenario, figure) in results {
            rows.append([
                scenario, figure.name, figure.value.map(Text.number) ?? "-", figure.unit, Self.text(figure.limit),
                Self.verdict(figure), figure.runs.isEmpty ? "" : "\(figure.runs.count)",
                figure.runs.min().map(Text.number) ?? "", figure.runs.max().map(Text.number) ?? "",
            ])
        }
        let widths = head.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let isNumber = [false, false, true, false, true, false, true, true, true]
        let load = Text.number(machine.load)
        var text = "\(machine.cores) cores, \(machine.processor), Linux \(machine.kernel), load \(load)\n\n"
        for (index, row) in rows.enumerated() {
            let cells = row.indices.map { Text.cell(row[$0], widths[$0], right: isNumber[$0]) }
            var line = cells.joined(separator: "  ")
            if index > 0, let note = results[index - 1].figure.note { line += "  (\(note))" }
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        return text
    }

    var json: String {
        let rows = results.map { scenario, figure in
            var members = [
                "\"scenario\":\(Self.quoted(scenario))", "\"figure\":\(Self.quoted(figure.name))",
                "\"unit\":\(Self.quoted(figure.unit))",
                "\"runs\":[\(figure.runs.map { "\($0)" }.joined(separator: ","))]",
                "\"median\":\(figure.runs.isEmpty ? "null" : "\(figure.runs.median)")",
                "\"statistic\":\(Self.quoted(figure.statistic.rawValue))",
                "\"value\":\(figure.value.map { "\($0)" } ?? "null")",
            ]
            switch figure.limit {
            case .atMost(let most): members.append("\"at_most\":\(most)")
            case .atLeast(let least): members.append("\"at_least\":\(least)")
            case nil: break
            }
            if figure.limit != nil { members.append("\"verdict\":\"\(Self.verdict(figure))\"") }
            if let note = figure.note { members.append("\"note\":\(Self.quoted(note))") }
            return "{\(members.joined(separator: ","))}"
        }
        let about = [
            "\"cores\":\(machine.cores)", "\"processor\":\(Self.quoted(machine.processor))",
            "\"kernel\":\(Self.quoted(machine.kernel))", "\"load\":\(machine.load)",
        ]
        return """
            {"time":"\(Text.utc(time))","machine":{\(about.joined(separator: ","))},"results":[
            \(rows.joined(separator: ",\n"))
            ]}

            """
    }

    private static func verdict(_ figure: Figure) -> String {
        switch figure.isMet {
        case true?: "met"
        case false?: "missed"
        case nil: figure.limit == nil ? "" : "not measured"
        }
    }

    private static func text(_ limit: Figure.Limit?) -> String {
        switch limit {
        case .atMost(let most): "≤ \(Text.number(most))"
        case .atLeast(let least): "≥ \(Text.number(least))"
        case nil: ""
        }
    }

    /// A JSON string (RFC 8259, section 7).
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\0"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
