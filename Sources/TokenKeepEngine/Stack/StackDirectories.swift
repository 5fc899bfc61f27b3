import Glibc
import TokenKeepCore

/// Where the files of stacks are: `NAME.conf` in the user's directory, then in the system's.
package enum StackDirectories: Sendable {
    /// `$XDG_CONFIG_HOME/tokenkeep/stack.d`, then `/etc/tokenkeep/stack.d`.
    case standard
    /// Other ones: for tests.
    case fixed(user: String?, system: String?)

    /// No directory at all.
    package static let none = StackDirectories.fixed(user: nil, system: nil)

    /// The file of a stack, for `default` the built-in text where there is none; else nil.
    func file(of name: String) throws(TokenKeepError) -> StackFile? {
        if let user, let file = try StackFile(named: name, in: user) { return file }
        if let system, let file = try StackFile(named: name, in: system) { return file }
        return name == "default" ? StackFile(path: "built-in default", text: StackParser.builtInDefault) : nil
    }

    /// Whether a file is one of the system's directory, which root alone writes to.
    func isSystems(_ source: String) -> Bool {
        guard let system, source.hasPrefix(system + "/") else { return false }
        return !source.dropFirst(system.utf8.count + 1).utf8.contains(UInt8(ascii: "/"))
    }

    /// Where a stack's file would be, for messages.
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
        case .standard: StackDirectories.usersOwn
        case .fixed(let user, _): user
        }
    }

    /// A program with more rights than its caller is not told by the caller's files where secrets go.
    private static var usersOwn: String? {
        guard !Privileges.areRaised else { return nil }
        if let value = getenv("XDG_CONFIG_HOME"), let path = String(validatingCString: value),
            path.utf8.first == UInt8(ascii: "/")
        {
            return path + "/tokenkeep/stack.d"
        }
        return HomeDirectory.path().map { $0 + "/.config/tokenkeep/stack.d" }
    }
}
