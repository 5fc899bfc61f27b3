/// Against whom, or what, an item is protected. The numbers are those of the C API.
public enum ProtectionAxis: UInt32, Sendable, CaseIterable {
    /// Another user of the machine.
    case otherUser = 1
    /// Who has the disk, or a backup of the whole home, and no password.
    case diskTheft = 2
    /// A copy of the home on another machine, whoever knows the password.
    case otherMachine = 3
    /// The user's own programs while the screen is locked.
    case screenLock = 4
    /// A use that the user was not asked about.
    case presence = 5

    /// The axis in the command line's words: `disk-theft`.
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

/// How well. The numbers are those of the C API.
public enum ProtectionStrength: UInt32, Sendable, Comparable {
    /// Not at all.
    case none = 0
    /// As far as nobody goes around it.
    case advisory = 1
    /// By a key that is not there, or by the kernel.
    case enforced = 2

    /// The strength in the command line's words.
    public var word: String {
        switch self {
        case .none: "none"
        case .advisory: "advisory"
        case .enforced: "enforced"
        }
    }

    /// Weaker is less.
    public static func < (left: ProtectionStrength, right: ProtectionStrength) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// What is really achieved here for a level, axis by axis.
public struct Protection: Sendable {
    /// One axis: how well, by what, and what would make it better.
    public struct Axis: Sendable {
        /// How well.
        public let strength: ProtectionStrength
        /// By what, in words.
        public let mechanism: String
        /// What would raise it to ``ProtectionStrength/enforced``; nil where it is, or nothing would.
        public let remedy: String?

        /// Describes an axis.
        public init(_ strength: ProtectionStrength, _ mechanism: String, remedy: String? = nil) {
            self.strength = strength
            self.mechanism = mechanism
            self.remedy = remedy
        }
    }

    private var axes: [ProtectionAxis: Axis]

    /// Protection as `axis` says of each.
    public init(_ axis: (ProtectionAxis) -> Axis) {
        axes = Dictionary(uniqueKeysWithValues: ProtectionAxis.allCases.map { ($0, axis($0)) })
    }

    /// One axis.
    public subscript(axis: ProtectionAxis) -> Axis { axes[axis] ?? Axis(.none, "nothing") }

    /// The weaker of two on each axis: what an item has that may be in either place.
    public func weaker(_ other: Protection) -> Protection {
        Protection { other[$0].strength < self[$0].strength ? other[$0] : self[$0] }
    }

    /// Refuses an item whose demands are not met.
    ///
    /// - Throws: ``Status/policy``.
    public func checkRequirements(of details: ItemDetails) throws(TokenKeepError) {
        if details.flags.contains(.userPresence), self[.presence].strength != .enforced {
            throw TokenKeepError(
                .policy, "nobody can be asked at each use of \(details.name): \(self[.presence].mechanism)",
                hint: self[.presence].remedy)
        }
        guard details.flags.contains(.requireEnforced) else { return }
        try requireEnforced(details.accessLevel, details.flags)
    }

    /// Refuses a level that must be enforced and is not.
    ///
    /// - Throws: ``Status/policy``, naming the first axis that is not.
    public func requireEnforced(_ level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) {
        let missing = level.axes(with: flags).first { self[$0].strength != .enforced }
        guard let missing else { return }
        throw TokenKeepError(
            .policy,
            "the level \(level.word) is not enforced here: \(missing.word) is \(self[missing].strength.word), \(self[missing].mechanism)",
            hint: self[missing].remedy ?? "see tokenkeep protection, or save without the demand that it be enforced")
    }
}

extension Protection {
    /// Nothing on any axis, for one reason.
    public init(none reason: String) { self.init { _ in Axis(.none, reason) } }

    /// Whether an item asks for anything that a place might not give.
    public static func isAsked(by level: AccessLevel, _ flags: ItemFlags) -> Bool {
        level == .whenUnlocked || !flags.isDisjoint(with: .requirements)
    }

    /// Whether a place that gives this may keep an item as it is.
    ///
    /// Without a demand every place may: what it achieves is reported. But where the vault can end the key of
    /// ``AccessLevel/whenUnlocked`` and the place cannot, its key must seal the item.
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
    /// What an item is kept under, or not at all.
    public static let requirements: ItemFlags = [.requireEnforced, .userPresence]
}

extension ItemDetails {
    /// Refuses an item that makes less of a demand than the one it replaces.
    ///
    /// - Throws: ``Status/policy``.
    public func checkLowersNothing(of present: ItemDetails?, module: String) throws(TokenKeepError) {
        guard !(present?.flags ?? []).intersection(.requirements).isSubset(of: flags) else { return }
        throw TokenKeepError(
            .policy, "\(name) is kept under a demand that this save does not make: it would lower it",
            module: module, hint: "make the same demand, or clear the item first")
    }
}

extension AccessLevel {
    /// The axes that this level, with these flags, is about.
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
