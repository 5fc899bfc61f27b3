public import TokenKeepCore

/// An access token, as a session returns it.
public struct SessionToken: Sendable {
    /// The token, in guarded memory.
    public let value: SecretBytes
    /// The type, `Bearer`.
    public let type: String
    /// The scope that the server granted; nil if the server did not state it.
    public let scope: String?
    /// The remaining lifetime of the token when it was returned, in seconds; nil if unknown.
    public let secondsLeft: Int64?
    /// The number of the token within its session; each renewal increments it.
    public let generation: UInt64
    /// Whether the token expires sooner than the caller asked for, because no token with more time was available.
    public let isShort: Bool
    /// The resource or scope for which the token is valid; nil for the access token of the sign-in.
    public let target: TokenTarget?
    /// The provider that issued the token, as named in the session's sealed record; nil if the record names none.
    package let provider: String?
    /// The token's whole lifetime from its issue, in seconds; nil if unknown.
    package let lifetime: Int64?
}

/// The state of a session, without its tokens.
public struct SessionInfo: Sendable, Equatable {
    /// The session's service.
    public let service: String
    /// The session's account.
    public let account: String
    /// The state of the session.
    public let state: SessionState
    /// The reason why the session ended.
    public let reason: SessionReason
    /// The kind of the session: user or guest.
    public let kind: SessionKind
    /// Whether the session's account is the active account of its service.
    public let isActive: Bool
    /// Whether the session has a refresh token.
    public let canRenew: Bool
    /// The provider that the application named; nil if it named none.
    public let provider: String?
    /// The scope that the server granted; nil if the server did not state it.
    public let scope: String?
    /// The level of the session's item; nil if unknown.
    public let level: AccessLevel?
    /// The level of the separate item that stores the refresh token; nil if there is no such item.
    public let refreshLevel: AccessLevel?
    /// The time at which the access token expires; nil if unknown.
    public let expiresAt: UnixTime?
    /// The time from which the access token is renewed; nil if unknown.
    public let refreshAt: UnixTime?
    /// The time at which the server last accepted a token of the session; nil if unknown.
    public internal(set) var validatedAt: UnixTime?
    /// A description of the last failed answer, or the server's message about the end of the session; nil if there is
    /// none.
    public let problem: String?
    /// The time before which no process asks the server again; nil if the server can be asked now.
    public let coolDownUntil: UnixTime?
    /// The number of the session's present tokens; each renewal increments it.
    public let generation: UInt64
    /// Whether the server keeps used refresh tokens valid, as the sign-in's options stated.
    public let rotation: RotationProfile
    /// Whether the newest tokens are stored only in the kernel's memory, until the session's item can be written. A
    /// restart of the machine would lose them.
    public let isStashed: Bool
    /// The id of the process that is renewing the token, or that died during the renewal; nil if there is none.
    public internal(set) var refreshingProcess: UInt32?

    /// Whether a watch treats two states as equal. The beginning of a refresh and a validation are not reported as
    /// changes.
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
