package import TokenKeepCore
package import TokenKeepSession

/// A server at which users sign in, with the values of its provider file.
package struct Provider: Sendable {
    /// A value, with the file and line (`FILE:LINE`) where it was found.
    package struct Value: Sendable {
        package let text: String
        package let place: String
    }

    package let name: String
    /// The path of the provider's file.
    package let source: String
    package internal(set) var values: [ProviderKey: Value] = [:]
    /// The additional parameters of authorization requests, by name.
    package internal(set) var parameters: [String: Value] = [:]

    /// Creates a provider without values.
    package init(name: String, source: String) {
        self.name = name
        self.source = source
    }

    package subscript(key: ProviderKey) -> String? { values[key]?.text }

    /// Whether the server keeps used refresh tokens valid; nil if the file has no valid `rotation`.
    package var rotation: RotationProfile? { self[.rotation].flatMap(Provider.rotation) }

    /// The item that stores the client's secret; nil if the file names no such item.
    package var secretItem: (service: String, account: String)? { self[.clientSecret].flatMap(Provider.item) }

    /// Converts seconds to the unit in which the server expects an extension (``ProviderKey/extendUnit``), rounded up.
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

    /// Returns the address of an endpoint from the file, otherwise from the server's metadata, which are fetched if
    /// needed; nil if neither names the endpoint.
    package func endpoint(_ key: ProviderKey, until deadline: Deadline) throws(TokenKeepError) -> WebAddress? {
        if let text = self[key] { return try WebAddress(text) }
        guard ProviderKey.discoverable.contains(key) else { return nil }
        return try endpoint(key, in: metadata(until: deadline))
    }

    /// Returns the address of an endpoint from the file, otherwise from the metadata; nil if neither names the
    /// endpoint.
    func endpoint(_ key: ProviderKey, in metadata: JSONValue?) throws(TokenKeepError) -> WebAddress? {
        if let text = self[key] { return try WebAddress(text) }
        guard let metadata else { return nil }
        return try discovery()?.endpoint(key, in: metadata)
    }

    /// Marks the server's cached metadata as expired if the server answered 404 or 410 at an endpoint that the metadata
    /// name.
    ///
    /// - Parameter keys: the keys of the endpoint. If the provider file itself has one of these keys, the metadata are
    ///   not the cause and stay valid.
    func forgetMetadata(after status: Int, of keys: [ProviderKey]) {
        guard status == 404 || status == 410, !keys.contains(where: { self[$0] != nil }) else { return }
        (try? discovery())?.forget()
    }

    /// Returns the metadata of the file's issuer; nil if the file names no issuer, or if the server has no metadata.
    func metadata(until deadline: Deadline) throws(TokenKeepError) -> JSONValue? {
        try discovery()?.metadataIfAny(until: deadline)
    }

    /// Creates the discovery for the file's issuer; nil if the file names no issuer.
    private func discovery() throws(TokenKeepError) -> Discovery? {
        guard let issuer = self[.issuer] else { return nil }
        return try Discovery(issuer: WebAddress(issuer), caFile: self[.caFile])
    }
}
