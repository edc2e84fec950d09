internal import Feed

/// A pointer of a configuration, and a document to follow it in, a line each.
enum JSONPointerTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        let parts = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        guard let pointer = try? JSONPointer(String(decoding: parts[0], as: UTF8.self)) else { return }
        precondition(pointer.text.isEmpty || pointer.text.utf8.first == 0x2F, "a pointer starts with a slash")
        guard parts.count > 1, let document = try? JSONReader().read(parts[1]) else { return }
        let found = document.withUnsafeBytes { JSONSelection([pointer]).find(in: $0)[0] }
        let value = try? document.value(at: pointer)
        precondition((found == nil) == (value == nil), "the two ways to follow a pointer differ")
        if let found, let value {
            document.withUnsafeBytes {
                precondition(value.minified.elementsEqual($0[found]), "they found different values")
            }
        }
    }
}
