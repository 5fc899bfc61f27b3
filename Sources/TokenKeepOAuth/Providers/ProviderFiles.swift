import CSystemShims
import Glibc
package import TokenKeepCore

/// The directories of providers' files, `NAME.conf`: the first one that has a file counts.
package struct ProviderFiles: Sendable {
    private static let mostIncludes = 16

    package let directories: [String]

    package init(directories: [String]) { self.directories = directories }

    /// `$XDG_CONFIG_HOME/tokenkeep/providers.d`, `/etc/tokenkeep/providers.d`, and the directory of the installation.
    package static var standard: ProviderFiles {
        var installed = [CChar](repeating: 0, count: Int(PATH_MAX))
        installed.withUnsafeMutableBufferPointer { tokenkeep_provider_directory($0.baseAddress) }
        let path = installed.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        let user = ConfigurationDirectory.path().map { [$0 + "/providers.d"] } ?? []
        return ProviderFiles(directories: user + ["/etc/tokenkeep/providers.d", path])
    }

    /// The provider of a name; nil if no directory has its file.
    ///
    /// - Throws: ``Status/invalid`` with file and line, or if another user can change a file; ``Status/denied``.
    package func provider(named name: String) throws(TokenKeepError) -> Provider? {
        guard ProviderFiles.isName(name), let found = try file(name, from: 0) else { return nil }
        return try provider(name, found.file, in: found.index, depth: 0)
    }

    /// The provider of a name.
    ///
    /// - Throws: ``Status/notFound``, naming the known ones; as ``provider(named:)``.
    package func existingProvider(named name: String) throws(TokenKeepError) -> Provider {
        if let provider = try provider(named: name) { return provider }
        let known = "known are: \(names.joined(separator: ", "))"
        throw TokenKeepError(
            .notFound, "there is no provider \(name)", hint: names.isEmpty ? "tokenkeep provider --help" : known)
    }

    /// The provider of a file at any path, with what it includes from the directories.
    ///
    /// - Throws: ``Status/invalid`` if there is no file; as ``provider(named:)``.
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

    /// Whether a text can be the name of a file.
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
        // A file may add to the one that it hides. No file includes one of a directory before its own.
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
