/// A threat against which an item can be protected (an axis of protection). The raw values are those of the C API.
public enum ProtectionAxis: UInt32, Sendable, CaseIterable {
    /// Another user of the machine reads the item.
    case otherUser = 1
    /// A person who has the disk or a backup of the whole home, but no password, reads the item.
    case diskTheft = 2
    /// A copy of the home is used on another machine, even by a person who knows the password.
    case otherMachine = 3
    /// One of the user's own programs reads the item while the screen is locked.
    case screenLock = 4
    /// A program uses the item, and the user does not know.
    case presence = 5

    /// The threat's name on the command line, for example `disk-theft`.
    public var word: String {
        switch self {
        case .otherUser: "other-user"
        case .diskTheft: "disk-theft"
        case .otherMachine: "other-machine"
        case .screenLock: "screen-lock"
        case .presence: "presence"
        }
    }
}

/// The strength of the protection against a threat. The raw values are those of the C API.
public enum ProtectionStrength: UInt32, Sendable, Comparable {
    /// No protection against the threat.
    case none = 0
    /// There is protection against the threat, but an attacker can circumvent it.
    case advisory = 1
    /// An attacker cannot read the item, because the attacker lacks a key or the kernel refuses access.
    case enforced = 2

    /// The strength's name on the command line.
    public var word: String {
        switch self {
        case .none: "none"
        case .advisory: "advisory"
        case .enforced: "enforced"
        }
    }

    /// Orders strengths from the weakest to the strongest.
    public static func < (left: ProtectionStrength, right: ProtectionStrength) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The protection that a module currently gives items of one level, threat by threat.
public struct Protection: Sendable {
    /// The protection of an item against one threat.
    public struct Axis: Sendable {
        /// The strength of the protection against the threat.
        public let strength: ProtectionStrength
        /// A sentence for the user about how the item is protected, or why it is not.
        public let mechanism: String
        /// Advice for the user on how to reach ``ProtectionStrength/enforced``; nil if there is no advice.
        public let remedy: String?

        /// Makes the protection against one threat.
        public init(_ strength: ProtectionStrength, _ mechanism: String, remedy: String? = nil) {
            self.strength = strength
            self.mechanism = mechanism
            self.remedy = remedy
        }
    }

    private var axes: [ProtectionAxis: Axis]

    /// Makes the protection by calling `axis` once for each threat.
    public init(_ axis: (ProtectionAxis) -> Axis) {
        axes = Dictionary(uniqueKeysWithValues: ProtectionAxis.allCases.map { ($0, axis($0)) })
    }

    /// The protection against the threat `axis`.
    public subscript(axis: ProtectionAxis) -> Axis { axes[axis] ?? Axis(.none, "nothing") }

    /// A copy of this protection with `remark` appended to the mechanism against one threat.
    package func adding(remark: String, for axis: ProtectionAxis) -> Protection {
        Protection { each in
            let given = self[each]
            return each == axis ? Axis(given.strength, given.mechanism + remark, remedy: given.remedy) : given
        }
    }

    /// The weaker protection of the two for each threat. Describes an item that may be in either of two modules.
    public func weaker(_ other: Protection) -> Protection {
        Protection { other[$0].strength < self[$0].strength ? other[$0] : self[$0] }
    }

    /// Throws ``Status/policy`` if this protection does not meet the protection requirements of an item.
    public func checkRequirements(of details: ItemDetails) throws(TokenKeepError) {
        if details.flags.contains(.userPresence), self[.presence].strength != .enforced {
            throw TokenKeepError(
                .policy, "nobody can be asked at each use of \(details.name): \(self[.presence].mechanism)",
                hint: self[.presence].remedy)
        }
        guard details.flags.contains(.requireEnforced) else { return }
        try requireEnforced(details.accessLevel, details.flags)
    }

    /// Throws ``Status/policy`` unless this protection is enforced against every threat that the level and the flags
    /// name.
    ///
    /// The error names the first threat against which the protection is not enforced.
    public func requireEnforced(_ level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) {
        let missing = level.axes(with: flags).first { self[$0].strength != .enforced }
        guard let missing else { return }
        throw TokenKeepError(
            .policy,
            "the level \(level.word) is not enforced here: \(missing.word) is \(self[missing].strength.word), \(self[missing].mechanism)",
            hint: self[missing].remedy ?? "see tokenkeep protection, or save without the requirement")
    }
}

extension Protection {
    /// Makes a value without protection against any threat. `reason` is a sentence for the user.
    public init(none reason: String) { self.init { _ in Axis(.none, reason) } }

    /// Whether an item's level or flags require protection that some modules do not give.
    public static func isAsked(by level: AccessLevel, _ flags: ItemFlags) -> Bool {
        level == .whenUnlocked || level.needsDevice || !flags.isDisjoint(with: .requirements)
    }

    /// Whether a module with this protection may store the item unsealed (without encryption by the vault).
    ///
    /// Any module may store an item without a protection requirement, except an item of ``AccessLevel/whenUnlocked``.
    /// Such an item must be sealed if `vault` protects it better while the screen is locked than the module does.
    public func isEnough(for level: AccessLevel, _ flags: ItemFlags, beside vault: Protection?) -> Bool {
        guard !flags.isDisjoint(with: .requirements) else {
            guard level == .whenUnlocked, let vault else { return true }
            return self[.screenLock].strength >= vault[.screenLock].strength
        }
        let needed = flags.contains(.requireEnforced) ? level.axes(with: flags) : [.presence]
        return needed.allSatisfy { self[$0].strength == .enforced }
    }
}

extension ItemFlags {
    /// The flags that are protection requirements: a module that does not meet them must not store the item.
    public static let requirements: ItemFlags = [.requireEnforced, .userPresence]
}

extension ItemDetails {
    /// Throws ``Status/policy`` if this item has fewer protection requirements than the item that it replaces.
    public func checkLowersNothing(of present: ItemDetails?, module: String) throws(TokenKeepError) {
        let keepsFlags = (present?.flags ?? []).intersection(.requirements).isSubset(of: flags)
        guard !keepsFlags || present?.accessLevel.mayBecome(accessLevel) == false else { return }
        throw TokenKeepError(
            .policy, "\(name) has a protection requirement that this save would drop",
            module: module, hint: "make the same requirement, or clear the item first")
    }
}

extension AccessLevel {
    /// Whether a save may replace this level by another.
    ///
    /// A level that needs a device may be replaced only by a level that protects at least as much.
    func mayBecome(_ other: AccessLevel) -> Bool {
        switch self {
        case .whenUnlocked, .afterFirstUnlock, .memoryOnly: true
        case .afterFirstUnlockThisDeviceOnly: other.isThisDeviceOnly
        case .whenUnlockedThisDeviceOnly: other.isThisDeviceOnly && other != .afterFirstUnlockThisDeviceOnly
        case .whenPasscodeSetThisDeviceOnly: other == self || other == .memoryOnly
        }
    }

    /// The threats against which an item with this level and these flags must be protected.
    public func axes(with flags: ItemFlags) -> [ProtectionAxis] {
        let ofLevel: [ProtectionAxis] =
            switch self {
            case .afterFirstUnlock: [.otherUser, .diskTheft]
            case .whenUnlocked: [.otherUser, .diskTheft, .screenLock]
            case .afterFirstUnlockThisDeviceOnly: [.otherUser, .diskTheft, .otherMachine]
            case .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly:
                [.otherUser, .diskTheft, .otherMachine, .screenLock]
            case .memoryOnly: [.otherUser, .diskTheft, .otherMachine]
            }
        return flags.contains(.userPresence) ? ofLevel + [.presence] : ofLevel
    }
}
