/// The conditions under which a module must complete a call.
public struct CallContext: Sendable {
    /// The moment at which the call must end, with the cancellation that can end the call earlier.
    public let deadline: Deadline
    /// Whether modules may show prompts to the user.
    public let promptsAllowed: Bool
    /// The keys for items that require the password at each use; nil if the user has not entered it for this call.
    package private(set) var presence: PresenceGrant?
    /// Seals (encrypts) and opens secrets for this call; nil if the call can do neither.
    ///
    /// The sealer seals an item only if this call holds the item's lock.
    package private(set) var sealer: (any SecretSealer)?
    /// Copies of the vault's keys that this call can use even after the vault is locked; nil if it has none.
    package private(set) var lease: SealingLease?

    /// Makes a context without a sealer and without keys for items that require the password at each use.
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

    /// A copy of this context that allows or forbids prompts.
    public func allowingPrompts(_ allowed: Bool) -> CallContext {
        CallContext(self, deadline, promptsAllowed: allowed)
    }

    /// A copy of this context that cannot be cancelled, for work that must be finished once it has begun.
    public var withoutCancellation: CallContext {
        CallContext(self, deadline.withoutCancellation, promptsAllowed: promptsAllowed)
    }

    /// A copy of this context whose deadline is the earlier of its own deadline and `earlier`. Keeps the cancellation.
    public func until(_ earlier: Deadline) -> CallContext {
        CallContext(self, deadline.noLater(than: earlier), promptsAllowed: promptsAllowed)
    }

    /// A copy of this context with the keys for items that require the password at each use.
    package func granting(_ presence: PresenceGrant) -> CallContext {
        var call = self
        call.presence = presence
        return call
    }

    /// A copy of this context with copies of the vault's keys, which stay usable after the vault is locked.
    ///
    /// - Parameter lease: the copies of the keys; nil for none.
    package func leasing(_ lease: SealingLease?) -> CallContext {
        var call = self
        call.lease = lease
        return call
    }

    /// A copy of this context with the object that seals (encrypts) and opens its secrets.
    package func sealing(with sealer: any SecretSealer) -> CallContext {
        var call = self
        call.sealer = sealer
        return call
    }
}

/// The keys for items that require the password at each use. The user's password opens them; they are never stored.
package struct PresenceGrant: Sendable {
    /// The newest key, for encryption and decryption, then the keys that it replaced, for decryption only.
    package let keys: [SecretBytes]

    /// A copy with the newest key only, for encryption.
    package var current: PresenceGrant { PresenceGrant(keys: Array(keys.prefix(1))) }

    package init(keys: [SecretBytes]) { self.keys = keys }
}
