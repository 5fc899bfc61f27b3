// FoundationEssentials is imported for Date. libtokenkeep.so does not link this target, and so links no Foundation.
public import FoundationEssentials
import TokenKeepCore

/// An item with its secret, as a load returns it.
public struct TokenItem: Sendable {
    /// The item's details, without the secret.
    public let details: Details
    /// The secret, in guarded memory that is wiped when the last reference is released.
    public let secret: TokenStore.Secret

    init(_ core: TokenKeepCore.TokenItem) {
        details = Details(core: core.details)
        secret = TokenStore.Secret(core: core.secret)
    }

    /// An item without its secret, as a list returns it.
    public struct Details: Sendable {
        let core: ItemDetails

        /// Namespace, service and account.
        public var name: Name { Name(core: core.name) }
        /// The label shown to people.
        public var label: String { core.label }
        /// The item's own attributes by name.
        public var attributes: [String: String] {
            Dictionary(core.attributes.pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
        /// The item's level.
        public var accessibility: Accessibility { Accessibility(core.accessLevel) }
        /// The item's flags.
        public var flags: Flags { Flags(rawValue: core.flags.rawValue) }
        /// The time of the first save, in whole seconds; nil if the module does not know it.
        public var createdAt: Date? { core.createdAt.map(Date.init(_:)) }
        /// The time of the last save, in whole seconds; nil if the module does not know it.
        public var modifiedAt: Date? { core.modifiedAt.map(Date.init(_:)) }
        /// The time at which the secret expires, in whole seconds; nil for never. Loading an expired item is not an
        /// error.
        public var expiresAt: Date? { core.expiresAt.map(Date.init(_:)) }
        /// A number that changes whenever the secret or user-visible metadata change; 0 if the list did not read the
        /// number.
        public var version: UInt64 { core.version }
        /// The module that holds the item.
        public var module: String { core.module }
        /// Whether the vault sealed the secret for the module.
        public var isSealed: Bool { core.isSealed }
        /// Whether the item is a foreign item: another program stored it under the same names.
        public var isForeign: Bool { core.isForeign }
    }
}

extension Date {
    init(_ time: UnixTime) { self.init(timeIntervalSince1970: Double(time.rawValue)) }
}

extension UnixTime {
    /// Rounds a date down to a whole second.
    ///
    /// - Throws: ``TokenKeepError/Status/invalid`` if the date in seconds does not fit into 64 bits.
    init(_ date: Date) throws(CoreError) {
        guard let seconds = Int64(exactly: date.timeIntervalSince1970.rounded(.down)) else {
            throw CoreError(.invalid, "the expiry date is out of range")
        }
        self.init(seconds)
    }
}
