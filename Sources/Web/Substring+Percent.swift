extension Substring {
    /// Decodes percent-encoding (RFC 3986, section 2.1); nil when it is malformed, or not UTF-8.
    ///
    /// - Parameter isForm: whether `+` is a blank, as in forms.
    func percentDecoded(isForm: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(isForm && byte == UInt8(ascii: "+") ? 0x20 : byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
