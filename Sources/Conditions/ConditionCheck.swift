package import Feed

// What can be said of a condition from single lines, before it runs.

extension Condition {
    /// Whether it may be about a source or one of its series.
    package func mayConcern(source: String) -> Bool {
        // Decides most at once.
        guard subject.pattern?.mayMatch(beginning: source) ?? true else { return false }
        return isOfSources ? isAbout(source: source) : mayBeAbout(source: source)
    }

    /// Whether it may be about an agent of a fleet, or about a source of that agent.
    package func mayConcern(agent: String) -> Bool {
        isAboutAgents ? subject.pattern?.matches(agent) ?? true : mayBeAbout(agent: agent)
    }

    /// How people write each test.
    package var testTexts: [String] { allTests.map(\.text) }

    /// Why each test can never hold if all data is like this, a sentence; nil for a test that can.
    ///
    /// - Parameter bands: the scale of the source; nil if it is not known whether there is one.
    package func obstacles(in data: Line.Data, bands: BandScale??) -> [String?] {
        allTests.map { $0.obstacle(in: data, bands: bands) }
    }
}

extension ConditionTest {
    fileprivate func obstacle(in data: Line.Data, bands: BandScale??) -> String? {
        let noValue = "there is no value"
        switch measure {
        case .window(.count), .over(.count, _): return nil
        case .window, .over: return data.value == nil ? noValue : nil
        default: break
        }
        // Whether there is something is what the test asks.
        if case .exists = kind { return nil }
        if measure == .band, bands == nil { return nil }
        let (verdict, value) = read(data, bands: bands ?? nil)
        let found = measure.flatMap { measure in
            value.shown(in: measure).map { "\(Sanitizer.visible(measure.text, limit: 100)) is \($0)" }
        }
        switch (verdict, measure) {
        case (.unknown(.missing), .band): return data.value == nil ? noValue : "the values have no bands"
        case (.unknown(.missing), .value): return noValue
        case (.unknown(.missing), .text): return "there is no text"
        case (.unknown(.missing), .pointer(let pointer)):
            return "there is no \(Sanitizer.visible(pointer.text, limit: 100))"
        case (.unknown(.notComparable), _): return found
        case (.doesNot, .pointer): return isOfOtherKind(than: value) ? found : nil
        default: return nil
        }
    }

    /// Whether a value of JSON that is not equal is of another kind than what it is compared with; null may become anything.
    private func isOfOtherKind(than value: Reading.Value) -> Bool {
        guard case .compares(_, _, let literal) = kind, case .text(let json) = value else { return false }
        switch (JSONKind(firstByte: json.utf8.first), literal) {
        case (.null, _), (_, .null), (.number, .number), (.string, .text), (.true, .bool), (.false, .bool): return false
        default: return true
        }
    }

    fileprivate var text: String {
        let measure = Sanitizer.visible(measure?.text ?? "", limit: 100)
        func shown(_ number: Double) -> String { Reading.Value.number(number).shown(in: self.measure) ?? "" }
        func negation(_ isNegated: Bool) -> String { isNegated ? " not" : "" }
        switch kind {
        case .compares(_, let comparison, let literal):
            let other =
                switch literal {
                case .number(let number): shown(number)
                case .text(let text): Reading.Value.string(text).shown(in: nil) ?? ""
                case .bool(let flag): "\(flag)"
                case .null: "null"
                }
            return "\(measure) \(comparison.rawValue) \(other)"
        case .isIn(_, let range, let isNegated):
            return "\(measure)\(negation(isNegated)) in \(shown(range.lowerBound))..\(shown(range.upperBound))"
        case .contains(_, let text, let isNegated):
            return "\(measure)\(negation(isNegated)) contains \(Reading.Value.string(text).shown(in: nil) ?? "")"
        case .exists(_, let isNegated): return "\(measure) \(isNegated ? "missing" : "exists")"
        case .fails: return "fails"
        case .isSilent: return "silent"
        }
    }
}
