import TokenKeepCore

/// The users who have more keys in the registry than can be listed.
struct UnlistedUsers {
    private static let mostNamed = 5

    private var users: [(name: String, prefix: String)] = []

    /// Adds a user.
    ///
    /// - Parameter prefix: the prefix of the user's keys in the registry.
    mutating func add(_ name: String, prefix: String) { users.append((name, prefix)) }

    /// The error that names the users; nil if there are none.
    var problem: TokenKeepError? {
        guard let first = users.first else { return nil }
        let isOne = users.count == 1
        let words = isOne ? "the user \(first.name) has" : "the users \(UnlistedUsers.joined(users.map(\.name))) have"
        return TokenKeepError(
            .unavailable, "\(words) more in the registry than can be listed", module: "registry",
            hint: "remove the user\(isOne ? "" : "s"), or keys below \(UnlistedUsers.joined(users.map(\.prefix)))")
    }

    private static func joined(_ words: [String]) -> String {
        let left = words.count - mostNamed
        if left > 0 { return words.prefix(mostNamed).joined(separator: ", ") + " and \(left) more" }
        return words.dropLast().joined(separator: ", ") + (words.count > 1 ? " and " : "") + (words.last ?? "")
    }
}
