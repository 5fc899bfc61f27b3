import TokenKeepCore

/// The sessions whose records lie in locked keyrings.
///
/// gnome-keyring sends no signal when its PAM module unlocks a keyring. So one of these sessions tries its record from time
/// to time, and after a success all of them do.
struct LockedSessions {
    /// The time between two attempts, in milliseconds.
    private static let pause: UInt32 = 15_000

    private var names: Set<String> = []
    private var rest = Deadline(milliseconds: 0)

    /// Milliseconds until the next attempt; the longest time if no session is locked.
    var pause: UInt32 { names.isEmpty ? UInt32.max : rest.remainingMilliseconds + 1 }

    /// The session that is to try its record now; nil before the time. A random session, because there may be several
    /// keyrings.
    mutating func nextLook() -> String? {
        guard !names.isEmpty, rest.hasPassed else { return nil }
        rest = Deadline(milliseconds: LockedSessions.pause)
        return names.randomElement()
    }

    /// Notes whether a session's record was locked. Returns the other sessions after a success: their keyring may be unlocked,
    /// and each is noted again by its own attempt.
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
