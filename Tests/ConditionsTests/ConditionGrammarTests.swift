import Feed
import Reactor
import TestSupport
import Testing

@testable import Conditions

@Suite(.limited) struct ConditionGrammarTests {
    private static func pointer(_ text: String) throws -> JSONPointer { try JSONPointer(text) }

    @Test func readsAllPartsOfALine() throws {
        let condition = try Condition(" hot: rooms/kitchen > 1000 and ms < 0.5s for 2m until < 800 for 10s ")
        #expect(condition.name == "hot")
        #expect(condition.text == "hot: rooms/kitchen > 1000 and ms < 0.5s for 2m until < 800 for 10s")
        #expect(condition.literalSubject == "rooms/kitchen")
        #expect(condition.subject.scope == .each)
        #expect(condition.hold == .seconds(120))
        #expect(
            condition.tests == [
                ConditionTest(.compares(.value, .greater, .number(1_000))),
                ConditionTest(.compares(.ms, .less, .number(500))),
            ])
        #expect(
            condition.end
                == .init(
                    test: ConditionTest(.compares(.ms, .less, .number(800))), hold: .seconds(10)))
    }

    @Test func isItsOwnNameWithoutOne() throws {
        let condition = try Condition("status = 200")
        #expect(condition.name == "status = 200")
        #expect(condition.isAboutAll && condition.literalSubject == nil)
    }

    @Test(arguments: [
        ("> 1", ConditionTest.Kind.compares(.value, .greater, .number(1))),
        ("value>=1", .compares(.value, .atLeast, .number(1))),
        ("value = true", .compares(.value, .equal, .bool(true))),
        ("value != running", .compares(.value, .unequal, .text("running"))),
        ("text = \"a\\u0062\"", .compares(.text, .equal, .text("ab"))),
        ("band = poor", .compares(.band, .equal, .text("poor"))),
        ("band = \"very poor\"", .compares(.band, .equal, .text("very poor"))),
        ("status not in 200..299", .isIn(.status, 200...299, isNegated: true)),
        ("in -1.5 .. 1e3", .isIn(.value, -1.5...1_000, isNegated: false)),
        ("in 1.. 2", .isIn(.value, 1...2, isNegated: false)),
        ("ms in 1s..2s", .isIn(.ms, 1_000...2_000, isNegated: false)),
        ("text contains \"x\"", .contains(.text, "x", isNegated: false)),
        ("text not contains \"x\"", .contains(.text, "x", isNegated: true)),
        ("last < 3", .compares(.window(.last), .less, .number(3))),
        ("mean over 5m <= 2", .compares(.over(.mean, .seconds(300)), .atMost, .number(2))),
        ("count over 1h = 0", .compares(.over(.count, .seconds(3_600)), .equal, .number(0))),
        ("p95 over 1m < 300ms", .compares(.percentile(95, .seconds(60)), .less, .number(300))),
        ("p50 over 90 > 1s", .compares(.percentile(50, .seconds(90)), .greater, .number(1_000))),
        ("errors over 5m > 5%", .compares(.errors(.seconds(300)), .greater, .number(5))),
        ("fails", .fails(code: nil)), ("fails dns", .fails(code: "dns")),
        ("silent 500ms", .isSilent(.milliseconds(500))),
        ("> -0", .compares(.value, .greater, .number(-0.0))),
        ("= 9007199254740993", .compares(.value, .equal, .number(9_007_199_254_740_992))),
    ])
    func readsATest(_ line: String, _ kind: ConditionTest.Kind) throws {
        #expect(try Condition(line).tests.map(\.kind) == [kind])
        #expect(try Condition("fact \(line)").tests.map(\.kind) == [kind])
        #expect(try Condition("any fact/* \(line) for 1s").hold == .seconds(1))
    }

    @Test func readsPointers() throws {
        func kind(_ line: String) throws -> ConditionTest.Kind { try Condition(line).tests[0].kind }
        #expect(try kind("/a~1b = 1") == .compares(.pointer(Self.pointer("/a~1b")), .equal, .number(1)))
        #expect(try kind("/a/0 != null") == .compares(.pointer(Self.pointer("/a/0")), .unequal, .null))
        #expect(try kind("/a = \"true\"") == .compares(.pointer(Self.pointer("/a")), .equal, .text("true")))
        #expect(try kind("/\"a b\"/c exists") == .exists(Self.pointer("/a b/c"), isNegated: false))
        #expect(try kind("/a missing") == .exists(Self.pointer("/a"), isNegated: true))
        #expect(try kind("x /a contains \"\\\"\"") == .contains(.pointer(Self.pointer("/a")), "\"", isNegated: false))
    }

    @Test(arguments: [
        ("\"status\" > 400", "status"), ("\"for\" > 1", "for"), ("\"a:b\" > 1", "a:b"), ("\"*\" > 1", "*"),
        ("rooms/\"a b\" > 1", "rooms/a b"), ("\"rooms/agent\" > 1", "rooms/agent"), ("5g > 1", "5g"),
        ("n: \"m:\" > 1", "m:"), ("\"\" > 1", ""),
    ])
    func readsASubjectInQuotes(_ line: String, _ subject: String) throws {
        #expect(try Condition(line).literalSubject == subject)
    }

    @Test func readsSetsAndAgents() throws {
        #expect(try Condition("any rooms/* > 1").subject == .init(scope: .any, pattern: NamePattern("rooms/*")))
        #expect(try Condition("all * > 1").subject == .init(scope: .all, pattern: NamePattern("*")))
        #expect(try Condition("agent web1 silent 30s").subject == .init(scope: .agent, pattern: NamePattern("web1")))
        #expect(try Condition("\"my alert\": agent * fails").name == "my alert")
    }

    /// The message, and the column of the caret.
    @Test(arguments: [
        ("", 1, "a test is missing"), ("x:", 3, "a test is missing"), (": > 1", 1, "a name is missing"),
        ("fact", 5, "a test is missing"), ("> 1 or < 2", 5, "there is no 'or'"),
        ("> 1 for 2 m", 11, "'m' must follow the number at once; write 2m"), ("> 1 for", 8, "behind 'for'"),
        ("> 1 for ever", 9, "'for' takes a duration"), ("> 1 for 31d", 9, "between 1ms and 30d"),
        ("> 1 for 0s", 9, "between 1ms and 30d"), ("> 1e400", 3, "out of the range of a double"),
        ("> NaN", 3, "only numbers have an order"), ("> 01", 3, "a number is missing"),
        ("= 1x", 3, "'x' is no unit here; value has no unit"), ("ms < 3%", 6, "'%' is no unit here; write ms or s"),
        ("> \"5\"", 3, "only numbers have an order"), ("status = \"200\"", 10, "compared with a number"),
        ("/state = Succeeded", 10, "a text stands in quotes: \"Succeeded\""), ("== 1", 1, "write ="),
        ("<> 1", 1, "write !="), ("=! 1", 1, "there is no '=!'"), ("text = \"abc", 8, "have no end"),
        ("text = \"\\x\"", 8, "no string of JSON"), ("/a~2 = 1", 1, "in a pointer ~ is written ~0"),
        ("p95 > 3", 5, "'p95' is of a time: p95 over 5m"), ("ms over 5m > 3", 4, "'ms' has no 'over'"),
        ("last over 5m > 3", 6, "'last' has no 'over'"), ("agent web1 > 3", 12, "an agent 'fails'"),
        ("agent > 3", 7, "stands an agent"), ("any > 3", 5, "stands a source"), ("in 5", 4, "stands a range"),
        ("in 5..1", 4, "ends before it begins"), ("band in 1..2", 9, "band is no number"),
        ("value contains \"x\"", 16, "value is no text"),
        ("contains \"x\"", 10, "value is no text; write text contains"),
        ("fact statsu = 200", 6, "did you mean 'status'?"), ("> 1 fro 5m", 5, "did you mean 'for'?"),
        ("> 1 for 5m and < 2", 12, "the order is"), ("/a exsts", 4, "is compared"), ("not > 1", 5, "behind 'not'"),
        ("text contains \"\"", 15, "every text contains nothing"), ("a:b > 1", 1, "stands in quotes"),
        ("rooms missing", 7, "'missing' follows a pointer: /a missing"), ("for > 1", 1, "stands in quotes: \"for\""),
        ("\"latency:fact\" silent 5s", 1, "write fact in front of it"),
    ])
    func saysWhatIsWrongAndWhere(_ line: String, _ column: Int, _ message: String) {
        do {
            _ = try Condition(line)
            Issue.record("\(line) is a condition")
        } catch {
            #expect(error.message.contains(message), "\(line): \(error.message)")
            #expect(error.column == column, "\(line): \(error)")
        }
    }

    @Test func pointsAtTheCharacterInALineWithHiddenOnes() {
        let fault = #expect(throws: ConditionFault.self) { try Condition("\"ä\u{1b}\\u0001\" > x>") }
        #expect(
            fault?.description
                == "no string of JSON: a backslash is written \\\\, a quote \\\", a control character \\u001b\n  \"ä␛\\u0001\" > x>\n  ^"
        )
        let second = #expect(throws: ConditionFault.self) { try Condition("ä\u{202e}b ms over") }
        #expect(second?.line == "ä\\u{202e}b ms over")
        #expect(second?.column == 15)
    }

    @Test func hasAnEnd() {
        #expect(throws: ConditionFault.self) { try Condition("> 1" + String(repeating: " and > 1", count: 16)) }
        #expect((try? Condition("> 1" + String(repeating: " and > 1", count: 15)))?.tests.count == 16)
        #expect(throws: ConditionFault.self) { try Condition(String(repeating: "a", count: 5_000) + " > 1") }
    }

    /// Any run of the grammar's words is a condition, or has a fault within the line.
    @Test func survivesAnyWords() {
        let words = [
            "any", "all", "agent", "each", "and", "for", "until", "value", "text", "band", "status", "ms", "last",
            "min",
            "p99", "errors", "over", "in", "not", "contains", "fails", "silent", "exists", "missing", "<", ">=", "!=",
            "=", "1", "-2.5e3", "5m", "1..2", "..", "300ms", "5%", "\"a b\"", "\"", "/a/b", "/", "/~", "rooms/*", "x:",
            "true", "null", "ä", "\u{1b}[2J", "9e999", "or", "*", ":", "\\",
        ]
        var random = SeededGenerator(seed: 25)
        var accepted = 0
        for _ in 0..<LongRun.rounds(short: 20_000, long: 10_000_000) {
            let count = Int(random.next() % 9)
            let line = (0..<count).map { _ in words[Int(random.next() % UInt64(words.count))] }
                .joined(separator: random.next() % 4 == 0 ? "" : " ")
            do {
                let condition = try Condition(line)
                accepted += 1
                #expect(try Condition(condition.text) == condition, "seed \(random.seed): \(line)")
            } catch {
                #expect(1...error.line.unicodeScalars.count + 1 ~= error.column, "seed \(random.seed): \(line)")
            }
        }
        #expect(accepted > 0)
    }
}
