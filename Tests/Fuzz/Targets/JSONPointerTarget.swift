internal import Feed

/// A pointer of a configuration, and a document to follow it in, a line each.
enum JSONPointerTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        let parts = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        guard let pointer = try? JSONPointer(String(decoding: parts[0], as: UTF8.self)) else { return }
        precondition(pointer.text.isEmpty || pointer.text.utf8.first == 0x2F, "a pointer starts with a slash")
        guard parts.count > 1, let document = try? JSONDocument(parts[1]) else { return }
        // Once where white space stays, and once in what is left without it.
        let places = JSONSelection.Found()
        _ = try? Array(parts[1]).withUnsafeBufferPointer { try JSONSelection([pointer]).read($0, places) }
        let found = places[0].flatMap {
            try? JSONMinifier.minify(Bytes(parts[1].dropFirst($0.lowerBound).prefix($0.count)))
        }
        let value = try? document.value(at: pointer)
        precondition((found == nil) == (value == nil), "white space makes a difference")
        if let found, let value {
            precondition(value.minified.elementsEqual(found), "they found different values")
        }
    }
}
