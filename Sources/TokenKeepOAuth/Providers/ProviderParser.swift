package import TokenKeepCore

/// Parses a provider file: lines `key = value` and `parameter NAME = value`, and comments that begin with `#`.
package enum ProviderParser {
    private static let longestValue = 4096

    /// Adds the values of a file to a provider.
    ///
    /// - Throws: ``Status/invalid`` if a line has an error, naming file and line.
    package static func read(_ file: ConfigurationFile, into provider: inout Provider) throws(TokenKeepError) {
        var number = 0
        for line in file.text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let place = "\(file.path):\(number)"
            let line = trimmed(line)
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            do throws(TokenKeepError) {
                let (word, text) = try entry(line)
                let value = Provider.Value(text: text, place: place)
                let isNew =
                    if let name = parameter(word) {
                        provider.parameters.updateValue(value, forKey: try SignInScope.checked(parameter: name)) == nil
                    } else {
                        provider.values.updateValue(value, forKey: try key(word, text)) == nil
                    }
                guard isNew else { throw TokenKeepError(.invalid, "\(word) is given twice") }
            } catch {
                throw TokenKeepError(error.status, "\(place): \(error.message)", hint: error.hint)
            }
        }
    }

    private static func entry(_ line: Substring.UTF8View) throws(TokenKeepError) -> (String, String) {
        guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else {
            throw TokenKeepError(.invalid, "expected a line \"key = value\"")
        }
        let value = trimmed(line[line.index(after: equals)...])
        guard !value.isEmpty, value.count <= longestValue, value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw TokenKeepError(.invalid, "expected a value of 1 to \(longestValue) bytes without control characters")
        }
        return (String(decoding: trimmed(line[..<equals]), as: UTF8.self), String(decoding: value, as: UTF8.self))
    }

    /// The name in `parameter NAME`; nil if the text before the equals sign does not begin with `parameter`.
    private static func parameter(_ word: String) -> String? {
        let parts = word.utf8.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == 0x20 || $0 == 0x09 }
        guard parts.count == 2, parts[0].elementsEqual("parameter".utf8) else { return nil }
        return String(decoding: trimmed(parts[1]), as: UTF8.self)
    }

    private static func key(_ word: String, _ value: String) throws(TokenKeepError) -> ProviderKey {
        guard let key = ProviderKey(rawValue: word) else {
            let known = ProviderKey.allCases.map(\.rawValue).joined(separator: " ")
            throw TokenKeepError(
                .invalid, "the key \(word) is unknown", hint: "known are: \(known), and parameter NAME")
        }
        try key.check(value)
        return key
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text = text.dropLast() }
        return text
    }
}
