package import TokenKeepCore
package import TokenKeepSession

/// A server that signs users in, as its file describes it.
package struct Provider: Sendable {
    /// A value with its place, `FILE:LINE`.
    package struct Value: Sendable {
        package let text: String
        package let place: String
    }

    package let name: String
    /// The path of the provider's file.
    package let source: String
    package internal(set) var values: [ProviderKey: Value] = [:]

    init(name: String, source: String) {
        self.name = name
        self.source = source
    }

    package subscript(key: ProviderKey) -> String? { values[key]?.text }

    /// The treatment of used refresh tokens; nil if the file does not say.
    package var rotation: RotationProfile? { self[.rotation].flatMap(Provider.rotation) }

    /// The item that holds the client's secret; nil if the client has none.
    package var secretItem: (service: String, account: String)? { self[.clientSecret].flatMap(Provider.item) }

    /// An amount of seconds in the unit of ``ProviderKey/extendUnit``, rounded up.
    func inExtendUnit(_ seconds: UInt32) -> UInt32 {
        let unit = Provider.units.first { $0.word == self[.extendUnit] }?.seconds ?? 1
        return (seconds + unit - 1) / unit
    }

    static let units: [(word: String, seconds: UInt32)] = [
        ("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86_400),
    ]

    static func rotation(_ text: String) -> RotationProfile? {
        switch text {
        case "strict": return .strict
        case "none": return RotationProfile.none
        default:
            let words = text.split(separator: " ")
            guard words.count == 2, words[0] == "overlap", let seconds = UInt32(words[1]), seconds <= 86_400 else {
                return nil
            }
            return .overlap(seconds: seconds)
        }
    }

    static func item(_ text: String) -> (service: String, account: String)? {
        let words = text.split(separator: " ")
        guard (2...3).contains(words.count), words[0] == "item" else { return nil }
        return (String(words[1]), words.count == 3 ? String(words[2]) : "")
    }

    /// An endpoint; nil if neither the file nor the server's metadata has it.
    package func endpoint(_ key: ProviderKey, until deadline: Deadline) throws(TokenKeepError) -> WebAddress? {
        if let text = self[key] { return try WebAddress(text) }
        guard ProviderKey.discoverable.contains(key), let metadata = try metadata(until: deadline) else { return nil }
        return try metadata[key.rawValue]?.text.map { text throws(TokenKeepError) in try WebAddress(text) }
    }

    /// Whether the server's metadata promise an issuer in the answer of each sign-in (RFC 9207 section 3).
    func promisesIssuer(until deadline: Deadline) throws(TokenKeepError) -> Bool {
        try metadata(until: deadline)?["authorization_response_iss_parameter_supported"]?.isTrue ?? false
    }

    /// The metadata of the file's issuer; nil if the file has none.
    private func metadata(until deadline: Deadline) throws(TokenKeepError) -> JSONValue? {
        guard let issuer = self[.issuer] else { return nil }
        return try Discovery(issuer: WebAddress(issuer), caFile: self[.caFile]).metadata(until: deadline)
    }
}
