import Inputs
import LineRules
import Reactor
import TestSupport
import Testing

@testable import Feed

/// Random documents and random extractions, compared with a reader that takes the document apart first.
@Suite(.limited) struct ExtractionTwinTests {
    private static let arrival = Timestamp(seconds: 1_800_000_000)

    @Test(arguments: [51, 52, 53] as [UInt64])
    func agreesWithTheTwin(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        for round in 0..<JSONGenerator.rounds(150, long: 50_000) {
            let bytes = generator.document()[...]
            let tree = JSONTree(try JSONMinifier.minify(bytes))
            let extraction = try generator.extraction(for: tree)
            let extractor = Extractor(extraction, of: .lines)
            let document = try extractor.read(bytes)
            #expect(Array(document.json.minified) == tree.raw)
            var batch = EventBatch()
            var outcome: Extractor.Outcome?
            do throws(Failure) {
                outcome = try extractor.add(document, from: SourceID(index: 0), at: Self.arrival, to: &batch)
            } catch {
                #expect(error.code == .pointer)
            }
            let twin = ExtractionTwin.read(tree, extraction)
            let comment: Comment =
                "seed \(seed), round \(round): \(extraction) of \(tree.rawText)"
            #expect((outcome == nil) == (twin == nil), comment)
            guard let twin, let outcome else { continue }
            #expect(eventTexts(batch, arrival: Self.arrival) == twin.events, comment)
            #expect((outcome.problem != nil) == (twin.faulty > 0), comment)
            if let problem = outcome.problem { #expect(problem.message.hasPrefix("\(twin.faulty) of "), comment) }
        }
    }
}

/// What an extraction asks for, looked up in a tree, step by step as its documentation says.
enum ExtractionTwin {
    static func read(_ tree: JSONTree, _ extraction: Extraction) -> (events: [String], faulty: Int)? {
        guard let items = extraction.items else {
            let fields = fields(tree, extraction)
            guard fields.key != .bad, fields.value != .bad, fields.time != .bad, !fields.isTextMissing else {
                return nil
            }
            if fields.value == .unknown { return ([line(fields, tree)], 1) }
            guard fields.value != .null || extraction.value == .first else { return nil }
            return ([line(fields, tree)], 0)
        }
        guard let list = tree.find(items.text),
            list.raw.first == UInt8(ascii: "[") || list.raw.first == UInt8(ascii: "{")
        else { return nil }
        var events: [String] = []
        var faulty = 0
        /// Where the first number was.
        var settled: String?
        for (index, item) in list.values.enumerated() {
            var fields = fields(item, extraction)
            let isLenient = extraction.number == .lenient
            if let settled {
                let number = item.number(isLenient) ?? item.find(settled)?.number(isLenient)
                fields.value = number.map { .text("\($0)") } ?? .none
            }
            // The generator makes no U+FFFD that is none.
            fields.isNameAltered =
                (extraction.key == nil || extraction.key == .position) && list.keys[index].contains("\u{FFFD}")
            let isObject = list.raw.first == UInt8(ascii: "{")
            switch extraction.key {
            case .position: fields.key = .text(isObject ? list.keys[index] : "\(index + 1)")
            case nil: fields.key = isObject ? .text(list.keys[index]) : .none
            case .at: break
            }
            if fields.key == .bad || [.bad, .unknown].contains(fields.value) || fields.time == .bad { faulty += 1 }
            guard fields.key != .bad else { continue }
            events.append(line(fields, item))
            guard extraction.value == .first, settled == nil else { continue }
            if item.number(isLenient) == nil { settled = firstNumber(of: item, extraction)?.pointer }
        }
        return (events, faulty)
    }

    /// Of the first eight numbers the first one that is the value: by the first of doubled keys, and neither key nor time.
    private static func firstNumber(of item: JSONTree, _ extraction: Extraction) -> (pointer: String, number: Double)? {
        let isLenient = extraction.number == .lenient
        var others = [extraction.time]
        if case .at(let key) = extraction.key { others.append(key) }
        for (pointer, _) in item.all().filter({ $0.value.number(isLenient) != nil }).prefix(8) {
            guard pointer.utf8.count <= 256,
                !others.contains(where: { $0 != nil && $0 == (try? JSONPointer(pointer)) }),
                let number = item.find(pointer)?.number(isLenient)
            else { continue }
            return (pointer, number)
        }
        return nil
    }

    private enum Field: Equatable {
        case none, null, bad
        /// A word that is none of the states.
        case unknown
        case text(String)
    }

    private struct Fields {
        var key = Field.none
        var value = Field.none
        var word: String?
        var text: String?
        var isTextMissing = false
        var time = Field.none
        var isNameAltered = false
    }

    private static func line(_ fields: Fields, _ item: JSONTree) -> String {
        var parts: [String] = []
        if case .text(let key) = fields.key { parts.append("key=\(key)") }
        if case .text(let value) = fields.value { parts.append("value=\(value)") }
        if let word = fields.word { parts.append("word=\(word)") }
        if let text = fields.text { parts.append("text=\(text)") }
        if case .text(let time) = fields.time { parts.append("time=\(time)") }
        let faults = LineRules.faults(of: item.raw)
        if !faults.isSubset(of: [.loneSurrogate]) {
            parts.append("truncated")
        } else {
            var data = item.raw
            data.withUnsafeMutableBufferPointer { JSONText.replaceLoneSurrogates(in: $0) }
            parts.append("data=" + String(decoding: data, as: UTF8.self))
        }
        if fields.isNameAltered || faults.contains(.loneSurrogate) { parts.append("altered") }
        return parts.joined(separator: " ")
    }

    private static func fields(_ item: JSONTree, _ extraction: Extraction) -> Fields {
        var fields = Fields()
        let isLenient = extraction.number == .lenient
        if case .at(let pointer) = extraction.key {
            let found = item.find(pointer.text)
            fields.key = (found?.text ?? found?.number.map { _ in found?.rawText ?? "" }).map { .text($0) } ?? .bad
            if found?.isNumber == true { fields.key = .text(found?.rawText ?? "") }
        }
        switch extraction.value {
        case .nowhere: break
        case .first:
            let number = item.number(isLenient) ?? firstNumber(of: item, extraction)?.number
            fields.value = number.map { .text("\($0)") } ?? .none
        case .at(let pointer):
            let found = item.find(pointer.text)
            fields.value = found?.rawText == "null" ? .null : found?.number(isLenient).map { .text("\($0)") } ?? .bad
            let states = extraction.states
            if found?.rawText == "true" || found?.rawText == "false" {
                fields.word = found?.rawText
                fields.value = .text(found?.rawText == "true" ? "1.0" : "0.0")
            } else {
                fields.word = states.isEmpty ? nil : found?.text
            }
            if let word = fields.word, found?.text != nil || states.contains("true") || states.contains("false") {
                if let state = states.firstIndex(where: { $0.utf8.elementsEqual(word.utf8) }) {
                    fields.value = .text("\(Double(state))")
                } else {
                    fields.word = nil
                    if found?.text == nil || !isLenient || fields.value == .bad { fields.value = .unknown }
                }
            }
        }
        switch extraction.text {
        case .nowhere: break
        case .first: fields.text = item.all().lazy.compactMap { $0.value.text }.first
        case .at(let pointer):
            let found = item.find(pointer.text)
            fields.text = found?.text ?? found.flatMap { ["true", "false"].contains($0.rawText) ? $0.rawText : nil }
            fields.isTextMissing = fields.text == nil
        }
        if let pointer = extraction.time {
            // Random documents hold no dates.
            let number = item.find(pointer.text)?.number(isLenient).map { $0 >= 1e11 ? $0 / 1_000 : $0 }
            fields.time = .bad
            if let number, number >= -62_167_219_200, number < 253_402_300_800 {
                let whole = number.rounded(.down)
                fields.time = .text("\(Int(whole) * 1_000_000 + Int(((number - whole) * 1e6).rounded()))")
            }
        }
        return fields
    }
}

extension JSONGenerator {
    /// Half of the time some words, most of which are in the document.
    private mutating func states(of tree: JSONTree) -> [String] {
        guard Bool.random(using: &random) else { return [] }
        var states: [String] = []
        let words = tree.all().compactMap(\.value.text) + ["true", "false", "a"]
        for word in words.shuffled(using: &random).prefix(8)
        where 1...64 ~= word.utf8.count && !states.contains(where: { $0.utf8.elementsEqual(word.utf8) }) {
            states.append(word)
        }
        return states
    }

    /// An extraction whose pointers mostly lead somewhere in this document, or in its first items.
    mutating func extraction(for tree: JSONTree) throws -> Extraction {
        let containers = tree.all().filter { "[{".utf8.contains($0.value.raw[0]) }
        let items = Bool.random(using: &random) ? containers.randomElement(using: &random)?.pointer : nil
        let inside = items.flatMap { tree.find($0)?.values.randomElement(using: &random) } ?? tree
        let pointers = inside.all().map(\.pointer) + ["/a", "/0"]
        func pointer() throws -> JSONPointer { try JSONPointer(pointers.randomElement(using: &random) ?? "") }
        func place() throws -> Extraction.Place {
            switch Int.random(in: 0..<5, using: &random) {
            case 0: .nowhere
            case 1: .first
            default: .at(try pointer())
            }
        }
        // The key of an only event has no position.
        let key: Extraction.Key? =
            switch Int.random(in: 0..<3, using: &random) {
            case 0: nil
            case 1: items == nil ? nil : .position
            default: .at(try pointer())
            }
        return Extraction(
            items: try items.map { try JSONPointer($0) }, key: key, value: try place(), states: states(of: tree),
            text: try place(), time: Int.random(in: 0..<3, using: &random) == 0 ? try pointer() : nil,
            number: Bool.random(using: &random) ? .strict : .lenient)
    }
}
