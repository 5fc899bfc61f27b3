/// A threat that an item is protected against. The raw values are those of the C API.
public enum ProtectionAxis: UInt32, Sendable, CaseIterable {
    /// Another user of the machine.
    case otherUser = 1
    /// A person who has the disk or a backup of the whole home, but no password.
    case diskTheft = 2
    /// A copy of the home on another machine, even if the password is known.
    case otherMachine = 3
    /// The user's own programs while the screen is locked.
    case screenLock = 4
    /// A use of the item without asking the user.
    case presence = 5

    /// The axis's word on the command line, as in `disk-theft`.
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

/// The strength of a protection. The raw values are those of the C API.
public enum ProtectionStrength: UInt32, Sendable, Comparable {
    /// No protection.
    case none = 0
    /// Protection that can be circumvented.
    case advisory = 1
    /// Protection by a missing key, or by the kernel.
    case enforced = 2

    /// The strength's word on the command line.
    public var word: String {
        switch self {
        case .none: "none"
        case .advisory: "advisory"
        case .enforced: "enforced"
        }
    }

    /// Orders strengths from weak to strong.
    public static func < (left: ProtectionStrength, right: ProtectionStrength) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The protection that a module really achieves for a level, axis by axis.
public struct Protection: Sendable {
    /// The protection on one axis.
    public struct Axis: Sendable {
        /// The strength of the protection.
        public let strength: ProtectionStrength
        /// The mechanism of the protection, in words.
        public let mechanism: String
        /// The measure that would make the strength ``ProtectionStrength/enforced``; nil if none is needed or possible.
        public let remedy: String?

        /// The protection on one axis.
        public init(_ strength: ProtectionStrength, _ mechanism: String, remedy: String? = nil) {
            self.strength = strength
            self.mechanism = mechanism
            self.remedy = remedy
        }
    }

    private var axes: [ProtectionAxis: Axis]

    /// Collects the result of `axis` for each axis.
    public init(_ axis: (ProtectionAxis) -> Axis) {
        axes = Dictionary(uniqueKeysWithValues: ProtectionAxis.allCases.map { ($0, axis($0)) })
    }

    /// The protection on one axis.
    public subscript(axis: ProtectionAxis) -> Axis { axes[axis] ?? Axis(.none, "nothing") }

    /// The weaker protection on each axis, for an item that may be in either of two modules.
    public func weaker(_ other: Protection) -> Protection {
        Protection { other[$0].strength < self[$0].strength ? other[$0] : self[$0] }
    }

    /// Refuses an item whose protection requirements are not met.
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

    /// Refuses a level that is not enforced on every axis.
    ///
    /// - Throws: ``Status/policy``, naming the first axis that is not enforced.
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
    /// No protection on any axis, for one reason.
    public init(none reason: String) { self.init { _ in Axis(.none, reason) } }

    /// Whether an item has a level or a protection requirement that a module may not fulfil.
    public static func isAsked(by level: AccessLevel, _ flags: ItemFlags) -> Bool {
        level == .whenUnlocked || !flags.isDisjoint(with: .requirements)
    }

    /// Whether a module with this protection may hold the item without sealing.
    ///
    /// Without a protection requirement, any module may hold the item, and its protection is only reported. Exception:
    /// an item of ``AccessLevel/whenUnlocked`` is sealed if the vault protects it better against the locked screen than
    /// the module does, because the vault can purge that level's key.
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
    /// The protection requirements: an item is kept under them, or not at all.
    public static let requirements: ItemFlags = [.requireEnforced, .userPresence]
}

extension ItemDetails {
    /// Refuses an item with fewer protection requirements than the item it replaces.
    ///
    /// - Throws: ``Status/policy``.
    public func checkLowersNothing(of present: ItemDetails?, module: String) throws(TokenKeepError) {
        guard !(present?.flags ?? []).intersection(.requirements).isSubset(of: flags) else { return }
        throw TokenKeepError(
            .policy, "\(name) has a protection requirement that this save would drop",
            module: module, hint: "make the same requirement, or clear the item first")
    }
}

extension AccessLevel {
    /// The axes on which this level must protect, with these flags.
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
