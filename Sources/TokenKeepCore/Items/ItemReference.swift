/// An item as text: `tokenkeep://[NAMESPACE@]SERVICE/ACCOUNT`, each part in percent-encoding.
package struct ItemReference: Sendable, Equatable {
    /// The beginning of each reference.
    package static let scheme = "tokenkeep://"

    package let name: ItemName

    /// Reads a reference. A slash in a service and an at sign in a service or a namespace are `%2F` and `%40`.
    ///
    /// - Throws: ``Status/invalid`` if the text is no reference, or a part is outside its limits.
    package init(_ text: String) throws(TokenKeepError) {
        guard text.hasPrefix(ItemReference.scheme) else {
            throw TokenKeepError(
                .invalid, "a reference does not begin with \(ItemReference.scheme)", hint: ItemReference.form)
        }
        let parts = text.dropFirst(ItemReference.scheme.count).split(
            separator: "/" as Character, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw TokenKeepError(
                .invalid, "a reference has not one slash between service and account", hint: ItemReference.form)
        }
        let place = parts[0].split(separator: "@" as Character, maxSplits: 1, omittingEmptySubsequences: false)
        name = try ItemName(
            namespace: place.count == 2 ? ItemReference.decoded(place[0]) : "",
            service: ItemReference.decoded(place[place.count - 1]), account: ItemReference.decoded(parts[1]))
    }

    private static let form = "tokenkeep://SERVICE/ACCOUNT; a slash in a service is %2F"

    /// The text of a part in percent-encoding.
    private static func decoded(_ part: Substring) throws(TokenKeepError) -> String {
        var bytes: [UInt8] = []
        var rest = part.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = digit(rest.popFirst()), let low = digit(rest.popFirst()) else {
                throw TokenKeepError(
                    .invalid, "a reference has a percent sign without two hexadecimal digits", hint: form)
            }
            bytes.append(high << 4 | low)
        }
        guard let text = bytes.withUnsafeBytes({ String(checking: $0) }) else {
            throw TokenKeepError(.invalid, "a reference is not UTF-8", hint: form)
        }
        return text
    }

    private static func digit(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case let byte? where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte): byte - UInt8(ascii: "0")
        case let byte? where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte): byte - UInt8(ascii: "a") + 10
        case let byte? where (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
