import TokenKeepCore

/// The directories of stack files: `NAME.conf` in the user's directory, then in the system's directory.
package enum StackDirectories: Sendable {
    /// The directories `$XDG_CONFIG_HOME/tokenkeep/stack.d` and `/etc/tokenkeep/stack.d`, in this order.
    case standard
    /// Other directories, for tests; nil for no directory.
    case fixed(user: String?, system: String?)

    /// No directory, so that no stack file is found.
    package static let none = StackDirectories.fixed(user: nil, system: nil)

    /// Reads the stack file with this name; nil if no directory contains it.
    ///
    /// If there is no file of `default`, returns the built-in text.
    func file(of name: String) throws(TokenKeepError) -> ConfigurationFile? {
        if let user, let file = try ConfigurationFile(named: name, in: user) { return file }
        if let system, let file = try ConfigurationFile(named: name, in: system) { return file }
        return name == "default" ? ConfigurationFile(path: "built-in default", text: StackParser.builtInDefault) : nil
    }

    /// Whether a path is that of a file directly in the system's directory, which only root can write.
    func isSystems(_ source: String) -> Bool {
        guard let system, source.hasPrefix(system + "/") else { return false }
        return !source.dropFirst(system.utf8.count + 1).utf8.contains(UInt8(ascii: "/"))
    }

    /// The possible paths of a stack's file, for messages.
    func path(of name: String) -> String {
        [user, system].compactMap { $0.map { "\($0)/\(name).conf" } }.joined(separator: " or ")
    }

    private var system: String? {
        switch self {
        case .standard: "/etc/tokenkeep/stack.d"
        case .fixed(_, let system): system
        }
    }

    private var user: String? {
        switch self {
        case .standard: ConfigurationDirectory.path().map { $0 + "/stack.d" }
        case .fixed(let user, _): user
        }
    }
}
