import CSystemShims
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

    /// Whether a stack may be called so: 1 to 64 of `a-z 0-9 . _ -`, with no `.` first.
    package static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
                    UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

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
        guard tokenkeep_is_secure_execution() == 0, getuid() == geteuid() else { return nil }
        if let value = getenv("XDG_CONFIG_HOME"), let path = String(validatingCString: value),
            path.utf8.first == UInt8(ascii: "/")
        {
            return path + "/tokenkeep/stack.d"
        }
        return HomeDirectory.path().map { $0 + "/.config/tokenkeep/stack.d" }
    }
}
