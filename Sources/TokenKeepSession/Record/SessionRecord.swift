package import TokenKeepCore
import TokenKeepKeys

/// The record of a session: one line of JSON, stored as the secret of an item (docs/format.md, section 11). Unknown
/// members are preserved.
package struct SessionRecord {
    private static let version: Int64 = 1
    private static let versionMember = "tokenkeep_session"

    private static let refreshItemMember = "refresh_item"
    private static let refreshLevelMember = "refresh_accessibility"

    let json: JSONValue

    package private(set) var accessToken: SecretBytes
    /// The refresh token; nil if the session has none, or if it is stored in a separate item that was not read.
    package private(set) var refreshToken: SecretBytes?
    /// The generation of the refresh token that was read from a separate item; 0 if none was read.
    private(set) var refreshGeneration: UInt64 = 0
    package private(set) var life: TokenLife

    package var kind: SessionKind { json["kind"]?.text == SessionKind.guest.word ? .guest : .user }
    package var tokenType: String { json["token_type"]?.text ?? "Bearer" }
    package var scope: String? { json["scope"]?.text }
    package var provider: String? { json["provider"]?.text }
    /// The account of the separate item that stores the refresh token; nil if the record itself stores it, or if there
    /// is no refresh token.
    var refreshItem: String? {
        json[SessionRecord.refreshItemMember]?.text.flatMap { 1...Limits.account ~= $0.utf8.count ? $0 : nil }
    }
    /// The level of the separate item that has the refresh token; 0 if there is no such item.
    var refreshLevel: UInt32 {
        refreshItem == nil ? 0 : UInt32(clamping: json[SessionRecord.refreshLevelMember]?.integer ?? 0)
    }
    /// Whether the session has a refresh token.
    package var canRenew: Bool { refreshToken != nil || refreshItem != nil }
    package var generation: UInt64 { UInt64(clamping: json["generation"]?.integer ?? 0) }
    /// Identifies the sign-in, as 32 random hexadecimal digits; nil if another program wrote the record.
    package var epoch: String? {
        guard let text = json["epoch"]?.text, !text.isEmpty else { return nil }
        return text
    }

    /// The id of the vault in which the session began, in hexadecimal; nil if the record names none.
    var vault: String? { json["vault"]?.text }

    /// Creates the record of a new session.
    ///
    /// - Parameters:
    ///   - vault: the id of the vault that stores the session's note.
    ///   - offset: the server's clock minus the wall clock, in seconds.
    package init(
        _ kind: SessionKind, _ response: TokenResponse, epoch: String, vault: String, provider: String?,
        now: SessionTime, offset: Int64 = 0
    ) throws(TokenKeepError) {
        json = try JSONValue.object()
        guard let token = response.accessToken else {
            throw TokenKeepError(.invalid, "the token response has no access_token")
        }
        accessToken = token
        life = TokenLife(obtained: now)
        try json.set(SessionRecord.versionMember, SessionRecord.version)
        try json.set("kind", kind.word)
        try json.set("epoch", epoch)
        try json.set("vault", vault)
        if let provider { try json.set("provider", provider) }
        try apply(response, generation: 1, now: now, offset: offset)
    }

    /// Parses the secret of an item.
    ///
    /// - Throws: ``Status/unsupported`` for a record of a later version; ``Status/corrupt`` if the secret is no
    ///   session.
    package init(_ secret: SecretBytes, now: SessionTime) throws(TokenKeepError) {
        guard let parsed = secret.withUnsafeBytes({ JSONValue(parsing: $0) }) else { throw SessionRecord.noSession }
        let json = parsed[SessionRecord.versionMember] == nil ? try SessionRecord.migrated(parsed, now: now) : parsed
        guard let version = json[SessionRecord.versionMember]?.integer else { throw SessionRecord.noSession }
        guard version == SessionRecord.version else {
            throw TokenKeepError(
                .unsupported, "the session has version \(version) of the format, which a later TokenKeep wrote",
                hint: "upgrade TokenKeep")
        }
        guard let token = try json["access_token"]?.secret(), TokenResponse.isToken(token) else {
            throw SessionRecord.noSession
        }
        self.json = json
        accessToken = token
        refreshToken = try json["refresh_token"]?.secret()
        life = TokenLife(json)
    }

    /// Whether the secret of an item is the record of a session, of any version.
    package static func isRecord(_ secret: SecretBytes) -> Bool {
        secret.withUnsafeBytes { bytes in
            bytes.first == UInt8(ascii: "{") && JSONValue(parsing: bytes)?[versionMember] != nil
        }
    }

    /// Applies the answer to a refresh. If the answer has no refresh token, the old one stays valid (RFC 6749 section
    /// 6).
    package mutating func apply(
        _ response: TokenResponse, generation: UInt64, now: SessionTime, offset: Int64
    ) throws(TokenKeepError) {
        if let token = response.accessToken {
            accessToken = token
            try json.set("access_token", token)
            life = TokenLife(
                obtained: now, lifetime: response.lifetime(at: now, offset: offset) ?? guestLife, offset: offset)
            if let lifetime = life.lifetime { try json.set("expires_in", lifetime) } else { json.remove("expires_in") }
            try json.set("obtained", SessionRecord.moment(now))
            try json.set("offset", offset)
        }
        if let token = response.refreshToken {
            refreshToken = token
            try json.set("refresh_token", token)
        }
        try keepIdentity(response)
        if let token = response.idToken, try replacesIDToken(token) { try json.set("id_token", token) }
        json.remove(SessionRecord.unreadMember)
        if let scope = response.scope { try json.set("scope", scope) }
        try json.set("token_type", response.tokenType ?? tokenType)
        try json.set("generation", Int64(clamping: generation))
        try keep(response.others)
    }

    /// Whether a new ID token replaces the present ID token. An unreadable ID token does not replace a readable one.
    private func replacesIDToken(_ token: SecretBytes) throws(TokenKeepError) -> Bool {
        guard let present = try json["id_token"]?.secret() else { return true }
        return UnverifiedClaims(unverified: token) != nil || UnverifiedClaims(unverified: present) == nil
    }

    static func moment(_ time: SessionTime) throws(TokenKeepError) -> JSONValue {
        let json = try JSONValue.object()
        try json.set("wall", time.wall)
        try json.set("boottime", time.boottime)
        try json.set("boot", time.boot)
        return json
    }

    /// Replaces the lifetime of the present access token, after the server has extended it.
    mutating func extend(lifetime: Int64, now: SessionTime, offset: Int64) throws(TokenKeepError) {
        life = TokenLife(obtained: now, lifetime: lifetime, offset: offset)
        try json.set("expires_in", lifetime)
        try json.set("obtained", SessionRecord.moment(now))
        try json.set("offset", offset)
    }

    /// Sets the refresh token that was read from a separate item.
    mutating func join(_ entry: RefreshItem.Entry) {
        refreshToken = entry.token
        refreshGeneration = entry.generation
    }

    /// Sets the separate item that will store the refresh token; with nil, the record itself stores it.
    func separate(_ item: (account: String, level: AccessLevel)?) throws(TokenKeepError) {
        guard let item else {
            json.remove(SessionRecord.refreshItemMember)
            json.remove(SessionRecord.refreshLevelMember)
            return
        }
        try json.set(SessionRecord.refreshItemMember, item.account)
        try json.set(SessionRecord.refreshLevelMember, Int64(item.level.rawValue))
    }

    /// The refresh token in the form of its separate item; nil if the record names no such item, or if the token is not
    /// in memory.
    func ownRefreshEntry() throws(TokenKeepError) -> RefreshItem.Entry? {
        guard refreshItem != nil, let epoch, let token = try json["refresh_token"]?.secret() else { return nil }
        return RefreshItem.Entry(epoch: epoch, generation: generation, token: token, provider: provider)
    }

    private func keep(_ others: [(name: String, value: JSONValue)]) throws(TokenKeepError) {
        guard !others.isEmpty else { return }
        let present = json["response"]
        let kept = if let present, present.isObject { present } else { try JSONValue.object() }
        for other in others { try kept.set(other.name, other.value) }
        try json.set("response", kept)
    }

    private var guestLife: Int64? { kind == .guest ? 900 : nil }

    /// Gives an epoch to a record that another program wrote.
    package func adopt(epoch: String) throws(TokenKeepError) { try json.set("epoch", epoch) }

    /// The application's profile as JSON; nil if none was set.
    package func profile() throws(TokenKeepError) -> SecretBytes? { try json["profile"]?.serialized() }

    /// Sets the application's profile: one JSON object of at most 64 KiB.
    package func setProfile(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) {
        guard bytes.count <= 65_536 else { throw TokenKeepError(.invalid, "the profile is longer than 64 KiB") }
        guard let profile = JSONValue(parsing: bytes) else {
            throw TokenKeepError(.invalid, "the profile is not a JSON object")
        }
        try json.set("profile", profile)
    }

    /// Encodes the record for its item. Leaves out the refresh token if a separate item stores it.
    package func serialized() throws(TokenKeepError) -> SecretBytes {
        var bytes = try json.serialized()
        if refreshItem != nil, json["refresh_token"] != nil,
            let copy = bytes.withUnsafeBytes({ JSONValue(parsing: $0) })
        {
            copy.remove("refresh_token")
            bytes = try copy.serialized()
        }
        guard bytes.count <= JSONValue.maximumLength else {
            throw TokenKeepError(.invalid, "the session's record would be longer than 256 KiB")
        }
        return bytes
    }

    /// Replaces the tokens by those of a later generation of the same session.
    package mutating func replaceTokens(by later: SessionRecord) throws(TokenKeepError) {
        for name in SessionRecord.tokenMembers {
            if let value = later.json[name] { try json.set(name, value) } else { json.remove(name) }
        }
        for name in ["id_token", SessionRecord.identityMember, "response", SessionRecord.targetsMember] {
            if let value = later.json[name] { try json.set(name, value) }
        }
        json.remove(SessionRecord.unreadMember)
        accessToken = later.accessToken
        refreshToken = later.refreshToken
        life = later.life
    }

    private static let tokenMembers = [
        "access_token", "refresh_token", "token_type", "scope", "expires_in", "obtained", "offset", "generation",
    ]

    /// Whether the record is longer than 256 KiB, the maximum.
    package func isTooLong() throws(TokenKeepError) -> Bool { try json.serialized().count > JSONValue.maximumLength }

    /// Removes members that the session does not need, until the record is short enough: first an unread answer,
    /// unknown members of answers and the ID token, then the access tokens of targets.
    package func removeExtras() throws(TokenKeepError) {
        for name in [SessionRecord.unreadMember, "response", "id_token"] { json.remove(name) }
        if try isTooLong() { json.remove(SessionRecord.targetsMember) }
    }

    /// Encodes the record for the stash: without the profile, and without members that the session does not need if it
    /// is too long.
    package func serializedForStash() throws(TokenKeepError) -> SecretBytes {
        guard let copy = try json.serialized().withUnsafeBytes({ JSONValue(parsing: $0) }) else {
            throw SessionRecord.noSession
        }
        copy.remove("profile")
        copy.remove(SessionRecord.unreadMember)
        let whole = try copy.serialized()
        guard whole.count > SessionRecord.longestStash else { return whole }
        copy.remove("response")
        copy.remove("id_token")
        let short = try copy.serialized()
        guard short.count > SessionRecord.longestStash else { return short }
        copy.remove(SessionRecord.targetsMember)
        return try copy.serialized()
    }

    /// The maximum length of a record in the stash, in bytes. The kernel allows 20 000 bytes for all keys of a user.
    private static let longestStash = 12_288

    /// Converts `{accessToken, refreshToken, expiresAt}`, which other programs store, to the present format.
    private static func migrated(_ old: JSONValue, now: SessionTime) throws(TokenKeepError) -> JSONValue {
        guard let token = try old["accessToken"]?.secret(), TokenResponse.isToken(token) else { throw noSession }
        let json = try JSONValue.object()
        try json.set(versionMember, version)
        try json.set("kind", SessionKind.user.word)
        try json.set("access_token", token)
        if let token = try old["refreshToken"]?.secret(), token.count > 0 { try json.set("refresh_token", token) }
        if let end = old["expiresAt"]?.integer {
            let (left, isOver) = end.subtractingReportingOverflow(now.wall)
            try json.set("expires_in", isOver ? 0 : max(0, left))
            try json.set("obtained", SessionRecord.moment(now))
        } else if let left = TokenResponse.lifetime(of: token, at: now) {
            try json.set("expires_in", left)
            try json.set("obtained", SessionRecord.moment(now))
        }
        try json.set("generation", 0)
        let kept = try JSONValue.object()
        for name in old.names where !["accessToken", "refreshToken", "expiresAt"].contains(name) {
            if let value = old[name] { try kept.set(name, value) }
        }
        if !kept.isEmpty { try json.set("response", kept) }
        return json
    }

    private static let noSession = TokenKeepError(
        .corrupt, "the item is no session",
        hint: "nothing was changed; begin the session: tokenkeep session begin SERVICE ACCOUNT")
}
