/// A reference to an item: `tokenkeep://[NAMESPACE@]SERVICE/ACCOUNT`, each part percent-encoded.
package struct ItemReference: Sendable {
    /// The beginning of every reference.
    package static let scheme = "tokenkeep://"

    package let name: ItemName

    /// Whether a value begins with ``scheme``, so that the value must be parsed as a reference. The rest may be
    /// malformed.
    package static func isMeant(by value: String) -> Bool { value.hasPrefix(scheme) }

    /// Parses a reference.
    ///
    /// - Parameters:
    ///   - subject: the words that stand for the reference in errors. An error does not quote `text`, because `text`
    ///     may be a secret.
    ///   - namespace: the namespace that applies if the text contains none.
    /// - Throws: ``Status/invalid`` if the text is not a reference.
    package init(_ text: String, of subject: String, namespace: String = "") throws(TokenKeepError) {
        let parts = text.dropFirst(ItemReference.scheme.count)
            .split(separator: "/" as Character, omittingEmptySubsequences: false)
        guard ItemReference.isMeant(by: text), parts.count == 2, let place = parts.first, let last = parts.last else {
            throw ItemReference.malformed(subject)
        }
        let names = place.split(separator: "@" as Character, omittingEmptySubsequences: false)
        guard (1...2).contains(names.count), let service = names.last.flatMap(ItemReference.decoded),
            let account = ItemReference.decoded(last),
            let named = names.count == 2 ? names.first.flatMap(ItemReference.decoded) : namespace
        else { throw ItemReference.malformed(subject) }
        name = try ItemName(namespace: named, service: service, account: account)
    }

    private static func malformed(_ subject: String) -> TokenKeepError {
        TokenKeepError(
            .invalid, "\(subject) is no reference to an item",
            hint: "tokenkeep://SERVICE/ACCOUNT, with %40 for @, %2F for / and %25 for %")
    }

    /// Decodes percent-encoded UTF-8; nil if an escape or the UTF-8 is malformed, or if the text contains `?` or `#`.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { return nil }
                bytes.append(byte)
                continue
            }
            guard let escaped = HexadecimalDigit.takeByte(from: &rest) else {
                return nil
            }
            bytes.append(escaped)
        }
        return bytes.withUnsafeBytes { String(checking: $0) }
    }
}
