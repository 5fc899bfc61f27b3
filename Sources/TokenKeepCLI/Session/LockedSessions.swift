import TokenKeepCore

/// The sessions whose records are in locked keyrings.
///
/// gnome-keyring sends no signal when its PAM module unlocks a keyring. Therefore, one of these sessions tries to read
/// its record at intervals. If the read succeeds, all of these sessions try.
struct LockedSessions {
    /// The time between two attempts, in milliseconds.
    private static let pause: UInt32 = 15_000

    private var names: Set<String> = []
    private var rest = Deadline(milliseconds: 0)

    /// The number of milliseconds until the next attempt; `UInt32.max` if no session is locked.
    var pause: UInt32 { names.isEmpty ? UInt32.max : rest.remainingMilliseconds + 1 }

    /// The session that must try to read its record now; nil until the next attempt is due. The choice is random,
    /// because there may be several keyrings.
    mutating func nextLook() -> String? {
        guard !names.isEmpty, rest.hasPassed else { return nil }
        rest = Deadline(milliseconds: LockedSessions.pause)
        return names.randomElement()
    }

    /// Records whether a session's record was locked. If a record that was locked is no longer locked, removes and
    /// returns the other locked sessions, because their keyring may be unlocked, too. The attempt of each of them
    /// records the session again if its record is still locked.
    mutating func note(_ name: String, isLocked: Bool) -> Set<String> {
        guard isLocked else {
            guard names.remove(name) != nil else { return [] }
            defer { names = [] }
            return names
        }
        if names.isEmpty { rest = Deadline(milliseconds: LockedSessions.pause) }
        names.insert(name)
        return []
    }

    mutating func forget(_ name: String) { names.remove(name) }
}
