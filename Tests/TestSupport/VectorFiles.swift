import Glibc

/// The files of test vectors, which the page's tests read as well.
package enum VectorFiles {
    /// The folder Tests/Vectors, whatever the working folder is.
    private static let root =
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
        .joined(separator: "/") + "/Vectors/"

    /// The path of a folder of vectors.
    package static func folder(_ topic: String) -> String { root + topic }

    /// A vector; none when its file cannot be read.
    package static func vector(_ name: String, in topic: String) throws -> VectorJSON {
        guard let bytes = read(folder(topic) + "/" + name) else { throw VectorJSON.Malformed(offset: 0) }
        return try VectorJSON(parsing: bytes)
    }

    /// The elements of a member of a vector; there is at least one.
    package static func elements(_ key: String, of name: String, in topic: String) throws -> [VectorJSON] {
        guard let elements = try vector(name, in: topic)[key]?.elements, !elements.isEmpty else {
            throw VectorJSON.Malformed(offset: 0)
        }
        return elements
    }

    /// The lines of a vector: text, or what `{"from": 1, "to": 9, "line": "… %n …"}` stands for, `%n` being the number.
    package static func lines(_ lines: VectorJSON?) -> [[UInt8]] {
        (lines?.elements ?? []).flatMap { line -> [[UInt8]] in
            if let text = line.string { return [Array(text.utf8)] }
            guard let from = line["from"]?.number, let to = line["to"]?.number, let text = line["line"]?.string else {
                return []
            }
            // Cut by hand, as nothing of Foundation is linked.
            let parts = text.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false)
            return (Int(from)...Int(to)).map { number in
                parts.dropFirst().reduce(Array(parts[0])) { $0 + Array("\(number)".utf8) + $1.dropFirst() }
            }
        }
    }

    /// The names of a topic's vectors, sorted.
    package static func names(of topic: String) -> [String] { names(in: folder(topic)) }

    /// The names of the JSON files in a folder, sorted; none when there is no such folder.
    package static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".json") { names.append(name) }
        }
        return names.sorted()
    }

    /// The file's bytes; nil when it cannot be read.
    package static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            if count == 0 { return bytes }
            bytes += chunk[..<count]
        }
    }
}
