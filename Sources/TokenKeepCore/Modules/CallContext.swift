/// The conditions under which a module must complete a call.
public struct CallContext: Sendable {
    /// The moment at which the call must end, with the cancellation that can end it earlier.
    public let deadline: Deadline
    /// Whether modules may show prompts to the user.
    public let promptsAllowed: Bool
    /// The keys for items that need the password at each use, opened for this call alone; nil if not opened.
    package private(set) var presence: PresenceGrant?
    /// Encrypts (seals) the secrets of items that this call has locked, and decrypts sealed secrets.
    ///
    /// nil if the call does neither.
    package private(set) var sealer: (any SecretSealer)?
    /// Copies of the vault's keys, with which this call can encrypt secrets even after the vault is locked.
    ///
    /// nil if the call has no such copies.
    package private(set) var lease: SealingLease?

    /// Makes a context that cannot seal secrets, and has no keys for items that need the password at each use.
    public init(deadline: Deadline, promptsAllowed: Bool = false) {
        self.deadline = deadline
        self.promptsAllowed = promptsAllowed
    }

    private init(_ other: CallContext, _ deadline: Deadline, promptsAllowed: Bool) {
        self.init(deadline: deadline, promptsAllowed: promptsAllowed)
        presence = other.presence
        sealer = other.sealer
        lease = other.lease
    }

    /// A copy of this context that does not allow prompts.
    public var withoutPrompts: CallContext { allowingPrompts(false) }

    /// A copy of this context that allows prompts or forbids them.
    public func allowingPrompts(_ allowed: Bool) -> CallContext {
        CallContext(self, deadline, promptsAllowed: allowed)
    }

    /// A copy that cannot be cancelled, for work that must be finished once it has begun.
    public var withoutCancellation: CallContext {
        CallContext(self, deadline.withoutCancellation, promptsAllowed: promptsAllowed)
    }

    /// A copy with an earlier deadline; unchanged if `earlier` is later. The cancellation stays the same.
    public func until(_ earlier: Deadline) -> CallContext {
        CallContext(self, deadline.noLater(than: earlier), promptsAllowed: promptsAllowed)
    }

    /// A copy with the keys for items that need the password at each use, after the user has entered the password.
    package func granting(_ presence: PresenceGrant) -> CallContext {
        var call = self
        call.presence = presence
        return call
    }

    /// A copy that encrypts secrets with these copies of the vault's keys, even after the vault is locked; nil for
    /// none.
    package func leasing(_ lease: SealingLease?) -> CallContext {
        var call = self
        call.lease = lease
        return call
    }

    /// A copy with an object that seals (encrypts) and opens secrets for the call.
    package func sealing(with sealer: any SecretSealer) -> CallContext {
        var call = self
        call.sealer = sealer
        return call
    }
}

/// The keys for items that need the password at each use, opened when the user enters the password. Never stored.
package struct PresenceGrant: Sendable {
    /// The keys. The first one encrypts and decrypts. The others were replaced by it, and only decrypt.
    package let keys: [SecretBytes]

    /// A copy that has only the key that encrypts.
    package var current: PresenceGrant { PresenceGrant(keys: Array(keys.prefix(1))) }

    package init(keys: [SecretBytes]) { self.keys = keys }
}
