import TokenKeepCore

/// The sessions whose records are in locked keyrings.
///
/// gnome-keyring sends no signal when its PAM module unlocks a keyring. Therefore one of these sessions tries to read
/// its record at intervals, and after a success all of them try.
struct LockedSessions {
    /// The time between two attempts, in milliseconds.
    private static let pause: UInt32 = 15_000

    private var names: Set<String> = []
    private var rest = Deadline(milliseconds: 0)

    /// The milliseconds until the next attempt; the maximum number if no session is locked.
    var pause: UInt32 { names.isEmpty ? UInt32.max : rest.remainingMilliseconds + 1 }

    /// The session that must try to read its record now; nil until the next attempt is due. The choice is random,
    /// because there may be several keyrings.
    mutating func nextLook() -> String? {
        guard !names.isEmpty, rest.hasPassed else { return nil }
        rest = Deadline(milliseconds: LockedSessions.pause)
        return names.randomElement()
    }

    /// Records whether a session's record was locked. After a success, returns the other locked sessions, because their
    /// keyring may be unlocked, too. Each of them is recorded again by its own attempt.
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
