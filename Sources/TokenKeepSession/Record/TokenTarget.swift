public import TokenKeepCore

/// A resource (RFC 8707), a narrower scope (RFC 6749 section 6), or both, for which a separate access token is
/// requested. Each target has its own access token; the session's one refresh token renews them all.
public struct TokenTarget: Sendable, Hashable {
    /// The resource, an absolute URI; nil for the resource of the sign-in.
    public let resource: String?
    /// The scopes, separated by spaces; nil for those of the sign-in.
    public let scope: String?

    private static let longest = 4096

    /// Creates a target. At least one of resource and scope must be given.
    ///
    /// - Throws: ``Status/invalid`` if a text is empty, longer than 4096 bytes, or has characters that its RFC forbids.
    public init(resource: String?, scope: String?) throws(TokenKeepError) {
        guard resource != nil || scope != nil else {
            throw TokenKeepError(.invalid, "neither a resource nor a scope is given")
        }
        self.resource = resource
        self.scope = scope
        if let resource {
            // A resource is an absolute URI without a fragment (RFC 8707 section 2).
            guard TokenTarget.isPrintable(resource), resource.contains(":"), !resource.contains("#") else {
                throw TokenKeepError(
                    .invalid, "the resource is no absolute URI", hint: "as in https://api.example.com")
            }
        }
        if let scope {
            // A scope is a list of printable words (RFC 6749 section 3.3).
            let words = scope.split(separator: " ", omittingEmptySubsequences: false)
            guard words.allSatisfy({ TokenTarget.isPrintable($0) && !$0.contains("\"") && !$0.contains("\\") }),
                scope.utf8.count <= TokenTarget.longest
            else { throw TokenKeepError(.invalid, "the scope is no list of scopes", hint: "as in \"read write\"") }
        }
    }

    private static func isPrintable(_ text: some StringProtocol) -> Bool {
        (1...longest).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// The name of the record's member for this target. Resource and scope can be told apart, because a resource
    /// contains no space.
    var key: String { "\(resource ?? "") \(scope ?? "")" }
}

/// An access token from a record.
struct AccessToken {
    let value: SecretBytes
    /// The provider that the sealed record names; nil if it names none.
    let provider: String?
    let type: String
    let scope: String?
    let life: TokenLife
}

extension SessionRecord {
    /// The maximum number of targets whose access tokens a record stores. If there are more, the oldest are removed.
    private static let mostTargets = 32
    static let targetsMember = "resources"

    /// The access token for a target, or that of the sign-in if `target` is nil; nil if there is none.
    func access(for target: TokenTarget?) throws(TokenKeepError) -> AccessToken? {
        guard let target else {
            return AccessToken(value: accessToken, provider: provider, type: tokenType, scope: scope, life: life)
        }
        guard let json = json[SessionRecord.targetsMember]?[target.key],
            let token = try json["access_token"]?.secret(), TokenResponse.isToken(token)
        else { return nil }
        return AccessToken(
            value: token, provider: provider, type: json["token_type"]?.text ?? "Bearer", scope: json["scope"]?.text,
            life: TokenLife(json))
    }

    /// Stores the tokens with which the server answered a refresh of a target. The access token of the sign-in is not changed.
    mutating func apply(
        _ response: TokenResponse, for target: TokenTarget, generation: UInt64, now: SessionTime, offset: Int64
    ) throws(TokenKeepError) {
        var others = response
        others.accessToken = nil
        others.scope = nil
        others.tokenType = nil
        others.others = []
        try apply(others, generation: generation, now: now, offset: offset)
        guard let token = response.accessToken else { return }
        let member = try JSONValue.object()
        try member.set("access_token", token)
        if let type = response.tokenType { try member.set("token_type", type) }
        if let scope = response.scope { try member.set("scope", scope) }
        if let lifetime = response.lifetime(at: now, offset: offset) { try member.set("expires_in", lifetime) }
        try member.set("obtained", SessionRecord.moment(now))
        try member.set("offset", offset)
        let present = json[SessionRecord.targetsMember]
        let targets = if let present, present.isObject { present } else { try JSONValue.object() }
        targets.remove(target.key)
        SessionRecord.makeRoom(in: targets)
        try targets.set(target.key, member)
        try json.set(SessionRecord.targetsMember, targets)
    }

    /// Removes the oldest access tokens of targets until another one can be added.
    private static func makeRoom(in targets: JSONValue) {
        let names = targets.names
        guard names.count >= mostTargets else { return }
        let byAge = names.sorted {
            (targets[$0]?["obtained"]?["wall"]?.integer ?? 0) < (targets[$1]?["obtained"]?["wall"]?.integer ?? 0)
        }
        for name in byAge.prefix(names.count - mostTargets + 1) { targets.remove(name) }
    }
}
