/// What a call allows the modules it visits.
public struct CallContext: Sendable {
    /// When the call must be over, and what ends it earlier.
    public let deadline: Deadline
    /// Whether a module may ask the user for something.
    public let promptsAllowed: Bool
    /// What the user's answer opened for this call alone: items that ask at each use need it.
    package private(set) var presence: PresenceGrant?
    /// Opens secrets that a vault sealed for modules, and seals those of the item whose lock the call holds.
    package private(set) var sealer: (any SecretSealer)?

    /// Allows work until `deadline`.
    public init(deadline: Deadline, promptsAllowed: Bool = false) {
        self.deadline = deadline
        self.promptsAllowed = promptsAllowed
    }

    private init(_ other: CallContext, _ deadline: Deadline, promptsAllowed: Bool) {
        self.init(deadline: deadline, promptsAllowed: promptsAllowed)
        presence = other.presence
        sealer = other.sealer
    }

    /// The same without prompts.
    public var withoutPrompts: CallContext { allowingPrompts(false) }

    /// The same with prompts, or without.
    public func allowingPrompts(_ allowed: Bool) -> CallContext {
        CallContext(self, deadline, promptsAllowed: allowed)
    }

    /// The same, and nothing but the deadline ends it: for what must not be left half done.
    public var withoutCancellation: CallContext {
        CallContext(self, deadline.withoutCancellation, promptsAllowed: promptsAllowed)
    }

    /// The same, but over at `earlier` if that comes first. What cancels it stays.
    public func until(_ earlier: Deadline) -> CallContext {
        CallContext(self, deadline.noLater(than: earlier), promptsAllowed: promptsAllowed)
    }

    /// The same after the user answered.
    package func granting(_ presence: PresenceGrant) -> CallContext {
        var call = self
        call.presence = presence
        return call
    }

    /// The same with the keys of a vault.
    package func sealing(with sealer: any SecretSealer) -> CallContext {
        var call = self
        call.sealer = sealer
        return call
    }
}

/// The keys of items that ask at each use, opened by one answer of the user's. They are kept nowhere.
package struct PresenceGrant: Sendable {
    /// The one that seals first, then those that only open.
    package let keys: [SecretBytes]

    /// The same without the keys that only open.
    package var current: PresenceGrant { PresenceGrant(keys: Array(keys.prefix(1))) }

    /// Grants the use of `keys`.
    package init(keys: [SecretBytes]) { self.keys = keys }
}
