import Glibc

// Checks and comparisons of UTF-8. They are several times as fast as the standard library's, and a load calls them
// often.
extension String {
    /// A copy of UTF-8 bytes; nil if the bytes are not UTF-8.
    package init?(checking bytes: UnsafeRawBufferPointer) {
        guard let utf8 = try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span) else { return nil }
        self.init(copying: utf8)
    }

    /// Whether two texts have the same UTF-8 bytes. `==` is true also for canonically equivalent texts with other
    /// bytes.
    package func hasBytes(of other: String) -> Bool {
        other.lendingUTF8 { hasBytes($0) }
    }

    /// Whether the text's UTF-8 is `bytes`.
    package func hasBytes(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        lendingUTF8 { own in
            guard own.count == bytes.count, let start = own.baseAddress, let other = bytes.baseAddress else {
                return own.count == bytes.count
            }
            return memcmp(start, other, own.count) == 0
        }
    }

    /// Whether the text has a control character: U+0000–U+001F or U+007F–U+009F.
    package var hasControlCharacter: Bool {
        lendingUTF8 { utf8 in
            // The control characters U+0080 to U+009F are the bytes C2 80 to C2 9F in UTF-8.
            var before: UInt8 = 0
            for byte in utf8 {
                if byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte < 0xA0) { return true }
                before = byte
            }
            return false
        }
    }

    private func lendingUTF8(_ body: (UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
        var text = self
        return text.withUTF8(body)
    }
}
