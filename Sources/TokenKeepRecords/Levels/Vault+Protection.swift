public import TokenKeepCore

extension Vault {
    /// What the vault really achieves for a level, as it is now. Whether the kernel keeps keys is as ``probeKeyring()``
    /// last found it.
    ///
    /// - Parameter isSaving: judges what is saved now, which no older key opens, and not what was saved before.
    /// - Throws: why the vault cannot be read.
    public func protection(
        of level: AccessLevel, _ flags: ItemFlags, isSaving: Bool = false
    ) throws(TokenKeepError) -> Protection {
        let state = try ProtectionState(self, level, isSaving: isSaving)
        return Protection { state.axis($0, level, flags) }
    }

    /// Tries out whether keys can be kept in the kernel: for a report. A save does without.
    public func probeKeyring() { _ = resident.probe() }

    /// Refuses what would keep an item otherwise than it demands.
    ///
    /// - Parameter present: the item that is replaced.
    func checkDemands(of details: ItemDetails, replacing present: ItemDetails?) throws(TokenKeepError) {
        try details.checkLowersNothing(of: present, module: "vault")
        guard !details.flags.isDisjoint(with: .demands) else { return }
        try protection(of: details.accessLevel, details.flags, isSaving: true).checkDemands(of: details)
    }
}

/// What is seen of a vault and of this machine that protection depends on.
struct ProtectionState {
    private enum Key {
        /// The keyfile beside the records opens it.
        case keyfile
        /// The password alone opens it, but some records wait to be sealed under it that the keyfile opens.
        case rekeying
        /// The password alone opens it.
        case password
    }

    private let key: Key
    /// Why keys cannot be in the kernel's keyring.
    private let keyringObstacle: String?
    private let isMemoryLocked: Bool

    init(_ vault: Vault, _ level: AccessLevel, isSaving: Bool) throws(TokenKeepError) {
        if let header = try vault.open()?.keys.header, header.hasPassword {
            let inKeyfile = header.slots(of: .keyfile).flatMap(\.keys)
            if inKeyfile.contains(where: { $0.purpose == .level(level) && !$0.isRetiring }) {
                key = .keyfile
            } else {
                key = !isSaving && inKeyfile.contains(where: \.isRetiring) ? .rekeying : .password
            }
        } else {
            key = .keyfile
        }
        keyringObstacle = vault.resident.knownObstacle
        isMemoryLocked = (try? vault.arena.isLockedInMemory()) ?? false
    }

    private static let setPassword = "give the vault a password: tokenkeep password set"

    func axis(_ axis: ProtectionAxis, _ level: AccessLevel, _ flags: ItemFlags) -> Protection.Axis {
        switch axis {
        case .otherUser: otherUser
        case .diskTheft: diskTheft
        case .otherMachine: otherMachine
        case .screenLock: screenLock(level)
        case .presence: presence(flags)
        }
    }

    private var otherUser: Protection.Axis {
        switch (key, keyringObstacle) {
        case (.keyfile, _): Protection.Axis(.enforced, "files that the user alone may open")
        case (_, nil):
            Protection.Axis(.enforced, "files of the user alone, and a key in the kernel that only the user may read")
        case (_, _?): Protection.Axis(.enforced, "files of the user alone, and a key in this process's memory")
        }
    }

    private var diskTheft: Protection.Axis {
        switch key {
        case .keyfile:
            return Protection.Axis(.none, "the keyfile lies beside the records", remedy: ProtectionState.setPassword)
        case .rekeying:
            return Protection.Axis(
                .advisory, "some records are still sealed under an older key", remedy: "finish it: tokenkeep unlock")
        case .password:
            guard isMemoryLocked else {
                return Protection.Axis(
                    .advisory, "the password opens the key, but this process's memory may leave it in the swap space",
                    remedy: "raise the limit that ulimit -l shows")
            }
            return Protection.Axis(.enforced, "only the password opens the key, and no backup holds it in the clear")
        }
    }

    private var otherMachine: Protection.Axis {
        switch key {
        case .keyfile: Protection.Axis(.none, "a copy of the home opens anywhere")
        case .rekeying, .password: Protection.Axis(.none, "a copy of the home opens anywhere with the password")
        }
    }

    private func screenLock(_ level: AccessLevel) -> Protection.Axis {
        guard level == .whenUnlocked else {
            return Protection.Axis(.none, "the level stays readable while the screen is locked")
        }
        guard key != .keyfile else {
            return Protection.Axis(.none, "the keyfile opens the key at any time", remedy: ProtectionState.setPassword)
        }
        if let keyringObstacle {
            return Protection.Axis(
                .none, "the key is in this process's memory alone: \(keyringObstacle)",
                remedy: "let the user keep keys in the kernel's keyring")
        }
        return Protection.Axis(
            .advisory,
            "the kernel ends the key \(ResidentKeys.whenUnlockedSeconds) seconds after each unlock; nothing here sees the screen",
            remedy:
                "an agent that watches the screen, which this version has not; until then let the locker run: tokenkeep lock --screen"
        )
    }

    private func presence(_ flags: ItemFlags) -> Protection.Axis {
        guard key != .keyfile else {
            return Protection.Axis(.none, "the vault has no password to ask for", remedy: ProtectionState.setPassword)
        }
        guard flags.contains(.userPresence) else {
            return Protection.Axis(.none, "the item does not ask", remedy: "save it with user presence")
        }
        return Protection.Axis(.enforced, "each use asks for the password, from which half of the key is derived anew")
    }
}
