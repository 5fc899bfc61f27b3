import Glibc
import TokenKeepCore

/// The environment of a module's program: a few fixed variables, and the variables named by `env=` in the stack's line.
enum ProgramEnvironment {
    private static let always = ["HOME", "PATH", "LANG", "XDG_RUNTIME_DIR"]
    private static let plainPath = "PATH=/usr/local/bin:/usr/bin:/bin"

    /// Splits arguments into the names of variables and the program's own arguments.
    ///
    /// - Throws: ``Status/invalid`` if a name after `env=` is not a valid name of a variable.
    static func divide(_ arguments: [String]) throws(TokenKeepError) -> (variables: [String], arguments: [String]) {
        let named = arguments.filter { $0.hasPrefix("env=") }.map { String($0.dropFirst("env=".count)) }
        for name in named where !isName(name) {
            throw TokenKeepError(.invalid, "env= names no variable", hint: "for example: env=PASSWORD_STORE_DIR")
        }
        return (named, arguments.filter { !$0.hasPrefix("env=") })
    }

    /// Returns `NAME=VALUE` for each variable. If this process has more rights than its caller, no value comes from the
    /// caller's environment.
    static func entries(_ variables: [String]) -> [String] {
        guard !Privileges.areRaised else {
            return [plainPath, "LANG=C.UTF-8"] + (HomeDirectory.path().map { ["HOME=" + $0] } ?? [])
        }
        var entries = (always + variables).compactMap { name in getenv(name).map { "\(name)=" + String(cString: $0) } }
        if getenv("PATH") == nil { entries.append(plainPath) }
        if getenv("HOME") == nil, let home = HomeDirectory.path() { entries.append("HOME=" + home) }
        return entries
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
