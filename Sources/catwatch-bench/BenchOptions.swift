internal import Glibc

/// The parsed command line.
struct BenchOptions {
    enum Command {
        case list, run, help
        case feed(FeedOptions)
        case journalFill(JournalFill.Order)
    }

    var command = Command.help
    var names: [String] = []
    var runs: Int?
    var json: String?
    var isLong = false
    /// The path of catwatch; by default, the one next to this program.
    var binary = BenchOptions.ownFolder + "catwatch"

    static let usage = """
        usage: catwatch-bench list
               catwatch-bench run [NAME…] [--runs N] [--json FILE] [--binary PATH] [--long]
               catwatch-bench journal-fill FILE LINES [MS]

          --runs N        runs of each scenario (its own number, mostly 5)
          --json FILE     write the figures with all their runs there as well
          --binary PATH   the catwatch to measure (the one next to this program)
          --long          measure for as long as docs/performance.md does: 10 minutes where it says so

        Exit: 0 when every limit is met, 1 when one is missed or could not be measured, 2 on wrong usage.

        """

    /// - Throws: `BenchError` that says what is wrong with the arguments.
    init(_ arguments: [String]) throws(BenchError) {
        var rest = arguments[...]
        switch rest.popFirst() {
        case "list": command = .list
        case "run": command = .run
        case "feed":
            command = .feed(try FeedOptions(rest))
            return
        case "journal-fill":
            command = .journalFill(try JournalFill.Order(rest))
            return
        case nil, "--help", "-h": return
        case let word?: throw BenchError("there is no command \(word); there are list and run")
        }
        while let word = rest.popFirst() {
            func value() throws(BenchError) -> String {
                guard let value = rest.popFirst() else { throw BenchError("\(word) needs a value") }
                return value
            }
            switch word {
            case "--help", "-h": command = .help
            case "--long": isLong = true
            case "--json": json = try value()
            case "--binary": binary = try value()
            case "--runs":
                guard let number = Int(try value()), (1...1_000).contains(number) else {
                    throw BenchError("--runs is a number from 1 to 1000")
                }
                runs = number
            default:
                guard Catalogue.all.contains(where: { $0.name == word }) else {
                    throw BenchError(
                        "there is no \(word.hasPrefix("-") ? "option" : "scenario") \(word); see catwatch-bench list")
                }
                names.append(word)
            }
        }
    }

    /// The folder of this program, with a slash at the end.
    private static var ownFolder: String {
        let path = ownPath
        guard let slash = path.lastIndex(of: "/") else { return "./" }
        return String(path[...slash])
    }

    /// The path of this program.
    static var ownPath: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
