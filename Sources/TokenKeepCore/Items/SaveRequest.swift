/// What a save asks for, checked against the limits.
public struct SaveRequest: Sendable {
    /// What must be true of the present item for the save to happen.
    public enum Precondition: Sendable, Equatable {
        /// Nothing: what is there is replaced.
        case none
        /// There is no such item; otherwise ``Status/duplicate``.
        case absent
        /// The item has this version; otherwise ``Status/conflict``.
        case version(UInt64)
    }

    /// Which item.
    public let name: ItemName
    /// Its secret, at most ``Limits/secret`` bytes.
    public let secret: SecretBytes
    /// Its level; nil keeps the level (and the flags) that an existing item has, else ``AccessLevel/afterFirstUnlock``.
    public let accessLevel: AccessLevel?
    /// Flags to keep with it.
    public let flags: ItemFlags
    /// Its label.
    public let label: String
    /// Its attributes.
    public let attributes: ItemAttributes
    /// When the secret ends.
    public let expiresAt: UnixTime?
    /// What must be true of the present item.
    public var precondition: Precondition
    /// The item as another module of the stack holds it: its level, flags and date of creation are kept where the
    /// saving module has no such item itself.
    public var inherited: ItemDetails?
    /// Whether it may make less of a demand than the present item: what was acknowledged must be written.
    public var mayLowerRequirements = false

    /// Asks to save an item.
    ///
    /// - Parameter label: nil for `SERVICE (ACCOUNT)`.
    /// - Throws: ``Status/invalid`` where a part is outside its limits, or ``ItemFlags/synchronizable`` is asked for with
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

    /// Asks to save an item as it is, wherever it came from.
    public init(_ item: TokenItem) throws(TokenKeepError) {
        let details = item.details
        try self.init(
            name: details.name, secret: item.secret, accessLevel: details.accessLevel, flags: details.flags,
            label: details.label, attributes: details.attributes, expiresAt: details.expiresAt)
        inherited = details
        mayLowerRequirements = true
    }

    /// Checks the precondition against the item that is there.
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

    /// Checks that an item has the version a caller expects of it.
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

    /// The details of the item that this save makes: level and flags kept, where the request leaves them open, from
    /// `present` (else from what is inherited), and so its date of creation. The version is left 0.
    public func details(replacing present: ItemDetails?, module: String, now: UnixTime = .now) -> ItemDetails {
        let previous = present ?? inherited
        return ItemDetails(
            name: name, label: label, attributes: attributes,
            accessLevel: accessLevel ?? previous?.accessLevel ?? .afterFirstUnlock,
            flags: accessLevel == nil ? flags.union(previous?.flags ?? []) : flags,
            createdAt: previous?.createdAt ?? now, modifiedAt: now, expiresAt: expiresAt, module: module)
    }
}
