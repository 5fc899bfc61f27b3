/// A request to save an item, with checked values.
public struct SaveRequest: Sendable {
    /// A condition that the existing item must meet; otherwise the save fails.
    public enum Precondition: Sendable, Equatable {
        /// No condition. An existing item is replaced.
        case none
        /// The item must not exist yet; otherwise the save throws ``Status/duplicate``.
        case absent
        /// The existing item must have this version; otherwise the save throws ``Status/conflict``.
        case version(UInt64)
    }

    /// The item's name.
    public let name: ItemName
    /// The item's secret, at most ``Limits/secret`` bytes.
    public let secret: SecretBytes
    /// The item's level; nil to keep the level and the flags of the existing item.
    ///
    /// A new item that is saved without a level gets ``AccessLevel/afterFirstUnlock``.
    public let accessLevel: AccessLevel?
    /// The item's flags.
    public let flags: ItemFlags
    /// The item's label.
    public let label: String
    /// The item's attributes.
    public let attributes: ItemAttributes
    /// The time at which the secret expires; nil if unknown.
    public let expiresAt: UnixTime?
    /// The condition that the existing item must meet.
    public var precondition: Precondition
    /// The item's details in another module of the stack; nil if no other module holds the item.
    ///
    /// A module that does not hold the item yet copies the level, flags and creation time from these details.
    public var inherited: ItemDetails?
    /// Whether the save may replace an item that requires more protection.
    ///
    /// True if another module or the vault has accepted this value already, because the value must then be written in
    /// any case.
    public var mayLowerRequirements = false

    /// The fields that a client of the Secret Service gives the item; nil to keep the existing item's fields.
    package var lookup: LookupFields?

    /// Whether the vault keeps the value as a pending write if the module is locked, so that the save succeeds.
    ///
    /// The vault must have a password and an open key to seal (encrypt) the value with; otherwise the save throws
    /// ``Status/locked``.
    public var keepsWhenLocked = false

    /// Makes a request to save an item, and checks its values.
    ///
    /// - Parameter label: the item's label; nil for `SERVICE (ACCOUNT)`.
    /// - Throws: ``Status/invalid`` if a value exceeds its limits, or if ``ItemFlags/synchronizable`` is combined with
    ///   a this-device-only level.
    public init(
        name: ItemName, secret: SecretBytes, accessLevel: AccessLevel? = nil, flags: ItemFlags = [],
        label: String? = nil, attributes: ItemAttributes = .none, expiresAt: UnixTime? = nil,
        precondition: Precondition = .none
    ) throws(TokenKeepError) {
        try Limits.checkSecret(count: secret.count)
        try Limits.check(label ?? "", field: "label", atMost: Limits.label)
        if flags.contains(.synchronizable), let level = accessLevel, level.isThisDeviceOnly {
            throw TokenKeepError(.invalid, "an item of level \(level.word) cannot be synchronizable")
        }
        self.name = name
        self.secret = secret
        self.accessLevel = accessLevel
        self.flags = flags
        self.label = label ?? name.defaultLabel
        self.attributes = attributes
        self.expiresAt = expiresAt
        self.precondition = precondition
        self.inherited = nil
    }

    /// Makes a request to save this item unchanged in another module.
    public init(_ item: TokenItem) throws(TokenKeepError) {
        let details = item.details
        try self.init(
            name: details.name, secret: item.secret, accessLevel: details.accessLevel, flags: details.flags,
            label: details.label, attributes: details.attributes, expiresAt: details.expiresAt)
        inherited = details
        lookup = details.lookup
        mayLowerRequirements = true
    }

    /// Throws ``Status/duplicate`` or ``Status/conflict`` if the existing item does not meet the precondition.
    public func check(present: ItemDetails?) throws(TokenKeepError) {
        switch precondition {
        case .none: return
        case .absent:
            guard present == nil else {
                throw TokenKeepError(.duplicate, "\(name) already exists")
            }
        case .version(let expected):
            try SaveRequest.check(version: expected, of: name, present: present)
        }
    }

    /// Throws ``Status/conflict`` if the existing item's version is not `expected`. If `expected` is nil, any version
    /// is accepted.
    public static func check(
        version expected: UInt64?, of name: ItemName, present: ItemDetails?
    ) throws(TokenKeepError) {
        guard expected == nil || present?.version == expected else {
            let what = present == nil ? "is not there any more" : "changed since it was read"
            throw TokenKeepError(.conflict, "\(name) \(what)", hint: "load it again and decide anew")
        }
    }

    /// The details that the item has after this save, except its version, which is 0.
    ///
    /// The creation time is that of the previous item: `present`, or ``inherited`` if `present` is nil. If the request
    /// has no level, the previous level stays, and the request's flags are added to the previous flags.
    public func details(replacing present: ItemDetails?, module: String, now: UnixTime = .now) -> ItemDetails {
        let previous = present ?? inherited
        var details = ItemDetails(
            name: name, label: label, attributes: attributes,
            accessLevel: accessLevel ?? previous?.accessLevel ?? .afterFirstUnlock,
            flags: accessLevel == nil ? flags.union(previous?.flags ?? []) : flags,
            createdAt: previous?.createdAt ?? now, modifiedAt: now, expiresAt: expiresAt, module: module)
        details.lookup = lookup ?? previous?.lookup
        if lookup == nil { details.lookup?.label = nil }
        return details
    }
}
