/// The byte order mark, which programs on Windows write before a text (Unicode Standard, section 23.8).
package enum ByteOrderMark {
    private static let utf8: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let utf16: [[UInt8]] = [[0xFF, 0xFE], [0xFE, 0xFF]]

    /// The length of the mark of UTF-8 at the beginning of a text, in bytes: 3, or 0 without a mark.
    package static func length(of text: some Sequence<UInt8>) -> Int { text.starts(with: utf8) ? utf8.count : 0 }

    /// Whether a text begins with a mark of UTF-16, of either byte order.
    package static func isUTF16(_ text: some Sequence<UInt8>) -> Bool { utf16.contains { text.starts(with: $0) } }
}
