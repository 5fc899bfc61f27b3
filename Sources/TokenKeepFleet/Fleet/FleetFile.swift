import Glibc
package import TokenKeepCore

/// The file of a fleet, `fleet.d/NAME.conf`, with the addresses of its registry. It holds no secret.
package struct FleetFile: Sendable {
    package static let shortestPresence: Int64 = 30
    package static let longestPresence: Int64 = 30 * 86400
    package static let usualPresence: Int64 = 900

    package var name: String
    package var endpoints: [String] = []
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    package var user: String?
    /// The time, in seconds, without a sign of life after which a device no longer counts as present.
    package var presence = FleetFile.usualPresence

    package init(name: String) throws(TokenKeepError) {
        try FleetPaths.check(fleet: name)
        self.name = name
    }

    /// The directories that are searched for files of fleets, the user's own first.
    package static var directories: [String] {
        (ConfigurationDirectory.path().map { ["\($0)/fleet.d"] } ?? []) + ["/etc/tokenkeep/fleet.d"]
    }

    /// The names of the fleets, sorted.
    package static var names: [String] {
        var names: Set<String> = []
        for directory in directories {
            for file in DirectoryNames.visible(in: directory) ?? [] where file.hasSuffix(".conf") {
                names.insert(String(file.dropLast(5)))
            }
        }
        return names.sorted()
    }

    /// Reads the file of a fleet, or of the device's only fleet if `name` is nil.
    ///
    /// - Throws: ``Status/notFound`` if there is no file; ``Status/invalid`` with file and line, or if `name` is nil
    ///   and there are several fleets; ``Status/denied`` if another user can change the file.
    package static func read(_ name: String?) throws(TokenKeepError) -> FleetFile {
        let names = names
        let chosen = if let name { name } else { names.count > 1 ? try fromSeveral(names) : names.first }
        guard let name = chosen else {
            throw TokenKeepError(
                .notFound, "this device is in no fleet",
                hint: "begin one: tokenkeep fleet init NAME --endpoint URL, or join one: tokenkeep fleet join")
        }
        return try read(named: name)
    }

    private static func read(named name: String) throws(TokenKeepError) -> FleetFile {
        for directory in directories {
            guard let file = try ConfigurationFile(named: name, in: directory) else { continue }
            return try FleetFile(name: name, file)
        }
        throw TokenKeepError(
            .notFound, "this device is not in the fleet \(name)", hint: "see tokenkeep fleet join --help")
    }

    private static func fromSeveral(_ names: [String]) throws(TokenKeepError) -> String? {
        throw TokenKeepError(
            .invalid, "this device is in several fleets",
            hint: "name one: --fleet \(names.joined(separator: " or --fleet "))")
    }

    /// Parses the text of a fleet's file.
    ///
    /// - Throws: ``Status/invalid`` with file and line.
    package init(name: String, _ file: ConfigurationFile) throws(TokenKeepError) {
        try self.init(name: name)
        for (index, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = FleetFile.trimmed(line)
            guard !words.isEmpty, words.first != "#" else { continue }
            guard let equals = words.firstIndex(of: "=") else {
                throw TokenKeepError(.invalid, "\(file.path):\(index + 1): expected NAME = VALUE")
            }
            let value = FleetFile.trimmed(words[words.index(after: equals)...])
            try set(FleetFile.trimmed(words[..<equals]), value, "\(file.path):\(index + 1)")
        }
        guard !endpoints.isEmpty else { throw TokenKeepError(.invalid, "\(file.path): expected endpoint = URL") }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" || last == "\r" { text.removeLast() }
        return String(text)
    }

    private mutating func set(_ name: String, _ value: String, _ place: String) throws(TokenKeepError) {
        switch name {
        case "endpoint": endpoints.append(value)
        case "ca_file": caFile = value
        case "certificate": certificateFile = value
        case "key": keyFile = value
        case "user": user = value
        case "presence":
            guard let seconds = Int64(value), (FleetFile.shortestPresence...FleetFile.longestPresence).contains(seconds)
            else { throw TokenKeepError(.invalid, "\(place): expected presence = SECONDS, 30 to 2592000") }
            presence = seconds
        default:
            throw TokenKeepError(
                .invalid, "\(place): expected endpoint, ca_file, certificate, key, user or presence, not \(name)")
        }
    }

    /// The text of the file.
    package var text: String {
        var lines = ["# Made by tokenkeep fleet."]
        lines += endpoints.map { "endpoint = \($0)" }
        if let caFile { lines.append("ca_file = \(caFile)") }
        if let certificateFile { lines.append("certificate = \(certificateFile)") }
        if let keyFile { lines.append("key = \(keyFile)") }
        if let user { lines.append("user = \(user)") }
        lines.append("presence = \(presence)")
        return lines.joined(separator: "\n") + "\n"
    }

    private static func ownDirectory() throws(TokenKeepError) -> String {
        guard let directory = FleetFile.directories.first, directory.hasPrefix("/etc") == false else {
            throw TokenKeepError(.io, "there is no directory for the fleet's file: the user has no home")
        }
        return directory
    }

    /// Whether the user's own directory contains the file. The system's directory does not count.
    package var isWritten: Bool {
        guard let directory = try? FleetFile.ownDirectory() else { return false }
        return access("\(directory)/\(name).conf", F_OK) == 0
    }

    /// Writes the certificate of the authority, as PEM, beside the fleet's file. Does nothing if `authority` is nil.
    ///
    /// - Throws: ``Status/io``.
    package mutating func write(authority: String?) throws(TokenKeepError) {
        guard let authority else { return }
        let path = "\(try FleetFile.ownDirectory())/\(name).ca.pem"
        try PrivateFile.write(Array(authority.utf8), to: path)
        caFile = path
    }

    /// Writes the file into the user's directory, and replaces an existing file.
    ///
    /// - Throws: ``Status/io``.
    package func write() throws(TokenKeepError) {
        try PrivateFile.write(Array(text.utf8), to: "\(FleetFile.ownDirectory())/\(name).conf")
    }

    /// Removes the files that ``write()`` and ``write(authority:)`` made.
    package func remove() {
        guard let directory = ConfigurationDirectory.path() else { return }
        for suffix in ["conf", "ca.pem"] { unlink("\(directory)/fleet.d/\(name).\(suffix)") }
    }
}
