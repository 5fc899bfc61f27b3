import TokenKeepCore

/// The sessions whose records lie in locked keyrings. gnome-keyring sends no signal when its PAM module unlocks it: one of
/// these sessions takes a step from time to time, and when it is open, all take theirs.
struct LockedSessions {
    /// The time between two such steps, in milliseconds.
    private static let pause: UInt32 = 15_000

    private var names: Set<String> = []
    private var rest = Deadline(milliseconds: 0)

    /// Milliseconds until the next such step; the longest time if no session is locked.
    var pause: UInt32 { names.isEmpty ? UInt32.max : rest.remainingMilliseconds + 1 }

    /// The session that is to take a step now; nil if none is. Any of them: they may lie in several keyrings.
    mutating func nextLook() -> String? {
        guard !names.isEmpty, rest.hasPassed else { return nil }
        rest = Deadline(milliseconds: LockedSessions.pause)
        return names.randomElement()
    }

    /// Notes the outcome of a session's step. Returns the sessions that may be open, too, which are noted anew by their steps.
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
