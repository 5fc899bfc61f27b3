public import TokenKeepCore

/// An access token, as a session returns it.
public struct SessionToken: Sendable {
    /// The token, in guarded memory.
    public let value: SecretBytes
    /// The type, `Bearer`.
    public let type: String
    /// The scope that the server granted; nil if it did not say.
    public let scope: String?
    /// Seconds left when the token was returned; nil if unknown.
    public let secondsLeft: Int64?
    /// The number of tokens that the session has had.
    public let generation: UInt64
    /// Whether the token ends sooner than the caller asked for, because no better one could be had.
    public let isShort: Bool
    /// The use of the token; nil for that of the sign-in.
    public let target: TokenTarget?
    /// The provider whose token it is, as the session's sealed record names it; nil for none.
    package let provider: String?
    /// The seconds that the token lasts from its issue; nil if unknown.
    package let lifetime: Int64?
}

/// A session without its tokens.
public struct SessionInfo: Sendable, Equatable {
    /// The session's service.
    public let service: String
    /// The session's account.
    public let account: String
    /// The state of the session.
    public let state: SessionState
    /// The reason why the session ended.
    public let reason: SessionReason
    /// User or guest.
    public let kind: SessionKind
    /// Whether the session is the active one of its service.
    public let isActive: Bool
    /// Whether there is a refresh token.
    public let canRenew: Bool
    /// The provider that the application named; nil if it named none.
    public let provider: String?
    /// The scope that the server granted; nil if it did not say.
    public let scope: String?
    /// The level of the session's item; nil if unknown.
    public let level: AccessLevel?
    /// The level of the refresh token's own item; nil if the token is not kept apart.
    public let refreshLevel: AccessLevel?
    /// When the access token ends; nil if unknown.
    public let expiresAt: UnixTime?
    /// When the access token is to be renewed; nil if unknown.
    public let refreshAt: UnixTime?
    /// When the server last accepted a token of the session; nil if unknown.
    public internal(set) var validatedAt: UnixTime?
    /// The fault of the server's last answer, or its words about the end of the session; nil if there is none.
    public let problem: String?
    /// The server is asked again after this time; nil if it can be asked now.
    public let coolDownUntil: UnixTime?
    /// The number of tokens that the session has had.
    public let generation: UInt64
    /// The server's treatment of used refresh tokens, as the sign-in said.
    public let rotation: RotationProfile
    /// Whether the newest tokens are in the kernel's memory alone until their place opens. A restart of the machine would
    /// lose them.
    public let isStashed: Bool
    /// The process that is renewing the token, or that died during the renewal; nil if there is none.
    public internal(set) var refreshingProcess: UInt32?

    /// Whether a watch need not report a state after another: a refresh that begins is no change, nor is a validation.
    func isSame(as other: SessionInfo?) -> Bool {
        var (one, other) = (self, other)
        one.refreshingProcess = nil
        one.validatedAt = other?.validatedAt
        other?.refreshingProcess = nil
        return one == other
    }
}

extension SessionInfo {
    init(name: ItemName, _ note: SessionNote, state: SessionState, isActive: Bool) {
        service = name.service
        account = name.account
        self.state = state
        reason = note.reason
        kind = note.kind
        self.isActive = isActive && state != .signedOut
        canRenew = note.canRenew
        provider = note.provider.isEmpty ? nil : note.provider
        scope = note.scope.isEmpty ? nil : note.scope
        level = AccessLevel(rawValue: note.level)
        refreshLevel = AccessLevel(rawValue: note.refreshLevel)
        expiresAt = note.expiresAt == 0 ? nil : UnixTime(note.expiresAt)
        refreshAt = note.refreshAt == 0 ? nil : UnixTime(note.refreshAt)
        validatedAt = note.validatedAt == 0 ? nil : UnixTime(note.validatedAt)
        problem = note.problem.isEmpty ? nil : note.problem
        coolDownUntil = note.coolDownEnd(at: .now)
        generation = note.generation
        rotation = note.rotation
        isStashed = note.isStashed
        refreshingProcess = note.isStashed ? nil : note.refreshing?.process
    }
}
