/// The conditions under which modules work on a call.
public struct CallContext: Sendable {
    /// The deadline of the call, with its cancellation.
    public let deadline: Deadline
    /// Whether modules may prompt the user.
    public let promptsAllowed: Bool
    /// The presence keys that the user's answer opened for this call alone. Items that ask at each use need them.
    package private(set) var presence: PresenceGrant?
    /// The sealer of the call. It opens sealed secrets, and seals the secret of the item whose lock the call holds.
    package private(set) var sealer: (any SecretSealer)?
    /// Keys with which the call seals even if the vault was locked since; nil for none.
    package private(set) var lease: SealingLease?

    /// A context without sealer and presence keys.
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

    /// A copy without prompts.
    public var withoutPrompts: CallContext { allowingPrompts(false) }

    /// A copy with or without prompts.
    public func allowingPrompts(_ allowed: Bool) -> CallContext {
        CallContext(self, deadline, promptsAllowed: allowed)
    }

    /// A copy that cannot be cancelled, for work that must not be left half done.
    public var withoutCancellation: CallContext {
        CallContext(self, deadline.withoutCancellation, promptsAllowed: promptsAllowed)
    }

    /// A copy that ends at `earlier` if that comes first. The cancellation stays the same.
    public func until(_ earlier: Deadline) -> CallContext {
        CallContext(self, deadline.noLater(than: earlier), promptsAllowed: promptsAllowed)
    }

    /// A copy with the presence keys that the user's answer opened.
    package func granting(_ presence: PresenceGrant) -> CallContext {
        var call = self
        call.presence = presence
        return call
    }

    /// A copy that seals with the keys of a lease; nil for none.
    package func leasing(_ lease: SealingLease?) -> CallContext {
        var call = self
        call.lease = lease
        return call
    }

    /// A copy with the given sealer.
    package func sealing(with sealer: any SecretSealer) -> CallContext {
        var call = self
        call.sealer = sealer
        return call
    }
}

/// The presence keys that one answer of the user opened, for items that ask at each use. Never stored.
package struct PresenceGrant: Sendable {
    /// The keys: the first seals and opens, the others only open.
    package let keys: [SecretBytes]

    /// A copy with only the key that seals.
    package var current: PresenceGrant { PresenceGrant(keys: Array(keys.prefix(1))) }

    package init(keys: [SecretBytes]) { self.keys = keys }
}
