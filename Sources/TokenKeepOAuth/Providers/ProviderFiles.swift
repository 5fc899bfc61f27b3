import CSystemShims
import Glibc
package import TokenKeepCore

/// The directories of provider files, `NAME.conf`. If several directories contain a file, the first one is used.
package struct ProviderFiles: Sendable {
    private static let mostIncludes = 16

    package let directories: [String]

    package init(directories: [String]) { self.directories = directories }

    /// `$XDG_CONFIG_HOME/tokenkeep/providers.d`, `/etc/tokenkeep/providers.d` and the installed directory, in this
    /// order.
    package static var standard: ProviderFiles {
        var installed = [CChar](repeating: 0, count: Int(PATH_MAX))
        installed.withUnsafeMutableBufferPointer { tokenkeep_provider_directory($0.baseAddress) }
        let path = installed.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        let user = ConfigurationDirectory.path().map { [$0 + "/providers.d"] } ?? []
        return ProviderFiles(directories: user + ["/etc/tokenkeep/providers.d", path])
    }

    /// Returns the provider with that name; nil if no directory has its file.
    ///
    /// - Throws: ``Status/invalid`` if a file has an error, naming file and line, or if another user can change a file;
    ///   ``Status/denied`` if this process may not read a file.
    package func provider(named name: String) throws(TokenKeepError) -> Provider? {
        guard ProviderFiles.isName(name), let found = try file(name, from: 0) else { return nil }
        return try provider(name, found.file, in: found.index, depth: 0)
    }

    /// Returns the provider with that name, which must exist.
    ///
    /// - Throws: ``Status/notFound`` if there is no such provider, with a hint that lists the known ones; otherwise the
    ///   errors of ``provider(named:)``.
    package func existingProvider(named name: String) throws(TokenKeepError) -> Provider {
        if let provider = try provider(named: name) { return provider }
        let known = "known are: \(names.joined(separator: ", "))"
        throw TokenKeepError(
            .notFound, "there is no provider \(name)", hint: names.isEmpty ? "tokenkeep provider --help" : known)
    }

    /// Returns the provider that a file at any path describes. Files that it includes are read from the directories.
    ///
    /// - Throws: ``Status/invalid`` if the file does not exist; otherwise the errors of ``provider(named:)``.
    package func provider(path: String) throws(TokenKeepError) -> Provider {
        guard let file = try ConfigurationFile(path: path) else {
            throw TokenKeepError(.invalid, "there is no file \(path)")
        }
        let last = path.split(separator: "/").last ?? ""
        let name = String(last.hasSuffix(".conf") ? last.dropLast(5) : last)
        let index = directories.firstIndex { path == "\($0)/\(name).conf" } ?? -1
        return try provider(name, file, in: index, depth: 0)
    }

    /// The names of all providers, sorted.
    package var names: [String] {
        var names: Set<String> = []
        for directory in directories {
            for file in DirectoryNames.visible(in: directory) ?? [] where file.hasSuffix(".conf") {
                let name = String(file.dropLast(5))
                if ProviderFiles.isName(name) { names.insert(name) }
            }
        }
        return names.sorted()
    }

    /// Whether a text is valid as a provider's name.
    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: ".")
            && text.utf8.allSatisfy {
                switch $0 {
                case 0x2D, 0x2E, 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
                default: false
                }
            }
    }

    private func file(
        _ name: String, from first: Int
    ) throws(TokenKeepError) -> (file: ConfigurationFile, index: Int)? {
        for index in directories.indices.dropFirst(first) {
            if let file = try ConfigurationFile(named: name, in: directories[index]) { return (file, index) }
        }
        return nil
    }

    private func provider(
        _ name: String, _ file: ConfigurationFile, in index: Int, depth: Int
    ) throws(TokenKeepError) -> Provider {
        var provider = Provider(name: name, source: file.path)
        try ProviderParser.read(file, into: &provider)
        guard let include = provider.values[.include] else { return provider }
        // A file may include a file of the same name, which then is the one in a later directory that this file hides.
        // Earlier directories are never searched.
        let first = include.text == name ? index + 1 : max(index, 0)
        guard depth < ProviderFiles.mostIncludes, let found = try self.file(include.text, from: first) else {
            let problem =
                depth < ProviderFiles.mostIncludes
                ? "there is no provider \"\(include.text)\"" : "providers include each other"
            throw TokenKeepError(.invalid, "\(include.place): \(problem)", hint: "tokenkeep provider list")
        }
        let included = try self.provider(include.text, found.file, in: found.index, depth: depth + 1)
        provider.values.merge(included.values) { own, _ in own }
        provider.parameters.merge(included.parameters) { own, _ in own }
        return provider
    }
}
