/// A request to save an item, within the limits.
public struct SaveRequest: Sendable {
    /// A condition on the present item, without which the save fails.
    public enum Precondition: Sendable, Equatable {
        /// No condition: a present item is replaced.
        case none
        /// No item may exist; otherwise ``Status/duplicate``.
        case absent
        /// The item must have this version; otherwise ``Status/conflict``.
        case version(UInt64)
    }

    /// The item's name.
    public let name: ItemName
    /// The item's secret, at most ``Limits/secret`` bytes.
    public let secret: SecretBytes
    /// The item's level; nil to leave the level open.
    ///
    /// An open level keeps the level and the flags of an existing item, or means ``AccessLevel/afterFirstUnlock``.
    public let accessLevel: AccessLevel?
    /// The item's flags.
    public let flags: ItemFlags
    /// The item's label.
    public let label: String
    /// The item's attributes.
    public let attributes: ItemAttributes
    /// The time at which the secret expires; nil if unknown.
    public let expiresAt: UnixTime?
    /// The condition on the present item.
    public var precondition: Precondition
    /// The item's details in another module of the stack; nil if there are none.
    ///
    /// If the saving module has no such item itself, it keeps level, flags and date of creation from these details.
    public var inherited: ItemDetails?
    /// Whether the save may have fewer protection requirements than the present item. True for an item that was
    /// acknowledged elsewhere: it must be written.
    public var mayLowerRequirements = false

    /// Whether a locked module leaves the value as a pending write, sealed under an open key of a vault with a password.
    /// Without such a key the save is ``Status/locked`` as usual.
    public var keepsWhenLocked = false

    /// Checks and joins the parts of a request.
    ///
    /// - Parameter label: nil for `SERVICE (ACCOUNT)`.
    /// - Throws: ``Status/invalid`` if a part is outside its limits, or if ``ItemFlags/synchronizable`` is combined
    ///   with a this-device-only level.
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

    /// A request to save an item unchanged, from any module.
    public init(_ item: TokenItem) throws(TokenKeepError) {
        let details = item.details
        try self.init(
            name: details.name, secret: item.secret, accessLevel: details.accessLevel, flags: details.flags,
            label: details.label, attributes: details.attributes, expiresAt: details.expiresAt)
        inherited = details
        mayLowerRequirements = true
    }

    /// Checks the precondition against the present item.
    ///
    /// - Throws: ``Status/duplicate`` or ``Status/conflict``.
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

    /// Checks that the present item has the version that the caller expects.
    ///
    /// - Throws: ``Status/conflict``.
    public static func check(
        version expected: UInt64, of name: ItemName, present: ItemDetails?
    ) throws(TokenKeepError) {
        guard present?.version == expected else {
            let what = present == nil ? "is not there any more" : "changed since it was read"
            throw TokenKeepError(.conflict, "\(name) \(what)", hint: "load it again and decide anew")
        }
    }

    /// The details of the item after this save. The version is 0.
    ///
    /// The date of creation comes from `present`; without a present item, from ``inherited``. If the request has no
    /// level, level and flags come from there too.
    public func details(replacing present: ItemDetails?, module: String, now: UnixTime = .now) -> ItemDetails {
        let previous = present ?? inherited
        return ItemDetails(
            name: name, label: label, attributes: attributes,
            accessLevel: accessLevel ?? previous?.accessLevel ?? .afterFirstUnlock,
            flags: accessLevel == nil ? flags.union(previous?.flags ?? []) : flags,
            createdAt: previous?.createdAt ?? now, modifiedAt: now, expiresAt: expiresAt, module: module)
    }
}
