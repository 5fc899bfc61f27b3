import Glibc
import TokenKeepCore

/// Finds the tools and their files.
enum ToolPlaces {
    /// The user's home, as the tools find it: HOME or, without it, the home in the passwd database.
    static func home() throws(TokenKeepError) -> String {
        if let home = variable("HOME"), home.hasPrefix("/") { return home }
        guard let home = HomeDirectory.path() else { throw TokenKeepError(.unsupported, "the user has no home") }
        return home
    }

    /// The value of an environment variable; nil if it is unset, empty or not UTF-8.
    static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(validatingCString: value)
    }

    /// Whether a program with that name is on the PATH.
    static func isOnPath(_ program: String) -> Bool {
        (variable("PATH") ?? "").split(separator: ":" as Character).contains { isProgram("\($0)/\(program)") }
    }

    static func isProgram(_ path: String) -> Bool { access(path, X_OK) == 0 }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Returns the path of a program that is installed in the directory of this program.
    ///
    /// - Throws: ``Status/unsupported`` if the program is not installed there.
    static func beside(_ program: String) throws(TokenKeepError) -> String {
        var own = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &own, own.count)
        if length > 0 {
            let folder = String(decoding: own[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split(separator: "/" as Character).dropLast().joined(separator: "/")
            if exists("/\(folder)/\(program)") { return "/\(folder)/\(program)" }
        }
        throw TokenKeepError(
            .unsupported, "\(program) is not installed beside this program", hint: "install TokenKeep with cmake")
    }

    /// Returns the name of a helper for a tool's settings: `short` if the helper is on the PATH, otherwise the helper's
    /// path.
    static func name(of helper: String, short: String) throws(TokenKeepError) -> String {
        if isOnPath(helper) { return short }
        let path = try beside(helper)
        let isPlain = path.utf8.allSatisfy { byte in
            ItemAttributes.isNameByte(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "+")
        }
        guard isPlain else {
            throw TokenKeepError(.unsupported, "\(path) is not a plain path", hint: "put \(helper) on the PATH")
        }
        return path
    }
}
