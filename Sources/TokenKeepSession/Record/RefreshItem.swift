import TokenKeepCore

/// A refresh token stored at a stricter level than its session, as an item of its own (docs/format.md, section 11).
///
/// The item is written before the session's record. While a sign-in is being written, the item has the refresh tokens
/// of the new and of the previous sign-in. After a crash, whichever record is stored finds its refresh token.
struct RefreshItem {
    /// The service of these items. Their account is the ID of the session's name, or this ID with "-2" appended.
    static let service = "org.tokenkeep.session.refresh"
    private static let versionMember = "tokenkeep_refresh"

    /// The refresh token of one sign-in.
    struct Entry {
        let epoch: String
        /// The generation of the answer in which the server sent the token.
        let generation: UInt64
        let token: SecretBytes
        /// The provider that issued the token; nil if none is named.
        let provider: String?
        /// The level of the item from which the entry was read; nil if the entry was not read from an item.
        fileprivate(set) var level: AccessLevel?

        init(epoch: String, generation: UInt64, token: SecretBytes, provider: String?) {
            self.epoch = epoch
            self.generation = generation
            self.token = token
            self.provider = provider
        }

        fileprivate init?(_ json: JSONValue) throws(TokenKeepError) {
            guard let epoch = json["epoch"]?.text, !epoch.isEmpty, let token = try json["refresh_token"]?.secret(),
                TokenResponse.isToken(token)
            else { return nil }
            self.init(
                epoch: epoch, generation: UInt64(clamping: json["generation"]?.integer ?? 0), token: token,
                provider: json["provider"]?.text)
        }

        fileprivate func write(to json: JSONValue) throws(TokenKeepError) {
            try json.set("epoch", epoch)
            try json.set("generation", Int64(clamping: generation))
            try json.set("refresh_token", token)
            if let provider { try json.set("provider", provider) }
        }
    }

    let entry: Entry
    let previous: Entry?
    /// The level of the item that was read; nil if the item is yet to be written.
    var level: AccessLevel?

    init(_ entry: Entry, previous: Entry? = nil) {
        self.entry = entry
        self.previous = previous
    }

    /// Parses the secret of an item.
    ///
    /// - Throws: ``Status/corrupt`` if the secret is not in the format of these items; ``Status/unsupported`` if a
    ///   later version of TokenKeep wrote it.
    init(_ secret: SecretBytes) throws(TokenKeepError) {
        guard let json = secret.withUnsafeBytes({ JSONValue(parsing: $0) }),
            let version = json[RefreshItem.versionMember]?.integer
        else { throw RefreshItem.damaged }
        guard version == 1 else {
            throw TokenKeepError(.unsupported, "a later TokenKeep wrote the refresh token", hint: "upgrade TokenKeep")
        }
        guard let entry = try Entry(json) else { throw RefreshItem.damaged }
        self.entry = entry
        previous = try json["previous"].flatMap { json throws(TokenKeepError) in try Entry(json) }
    }

    /// The refresh token of the sign-in with that epoch; nil if the item does not have it.
    func entry(of epoch: String?) -> Entry? {
        guard var found = [entry, previous].compactMap({ $0 }).first(where: { $0.epoch == epoch }) else { return nil }
        found.level = level
        return found
    }

    func serialized() throws(TokenKeepError) -> SecretBytes {
        let json = try JSONValue.object()
        try json.set(RefreshItem.versionMember, 1)
        try entry.write(to: json)
        if let previous {
            let earlier = try JSONValue.object()
            try previous.write(to: earlier)
            try json.set("previous", earlier)
        }
        return try json.serialized()
    }

    static let damaged = TokenKeepError(
        .corrupt, "the item of the refresh token is damaged", hint: "nothing was deleted; sign in again")
}

extension AccessLevel {
    /// The conditions that a level requires in addition to the first unlock, named by the levels that introduce them.
    private var conditions: Set<AccessLevel> {
        switch self {
        case .afterFirstUnlock: []
        case .whenUnlocked: [.whenUnlocked]
        case .afterFirstUnlockThisDeviceOnly: [.afterFirstUnlockThisDeviceOnly]
        case .whenUnlockedThisDeviceOnly: [.whenUnlocked, .afterFirstUnlockThisDeviceOnly]
        case .whenPasscodeSetThisDeviceOnly:
            [.whenUnlocked, .afterFirstUnlockThisDeviceOnly, .whenPasscodeSetThisDeviceOnly]
        case .memoryOnly: Set(AccessLevel.allCases)
        }
    }

    /// Whether the level sets all conditions of the other level, and at least one more.
    func isStricter(than other: AccessLevel) -> Bool { conditions.isStrictSuperset(of: other.conditions) }
}
