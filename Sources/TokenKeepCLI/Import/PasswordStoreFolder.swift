import Glibc
import TokenKeepCore

/// A directory of the program `pass`, with a file for each entry that gpg encrypted.
///
/// The file `a/b/c.gpg` becomes the item of service `a/b` and account `c`, the file `c.gpg` the item of service `c` and
/// an empty account. The secret is the whole text without the newline at its end.
struct PasswordStoreFolder: ForeignSource {
    /// The maximum time to decrypt one entry, in milliseconds. During this time, gpg may prompt for a passphrase.
    private static let milliseconds: UInt32 = 120_000
    /// The maximum depth of directories that are read.
    private static let deepest = 32

    private let root: String
    private(set) var found = ForeignEntries()

    /// Decrypts every entry in a directory.
    ///
    /// - Throws: ``Status/invalid`` if there is no such directory, ``Status/unavailable`` if gpg is not installed.
    init(_ path: String) throws(TokenKeepError) {
        root = path
        var names: [String] = []
        var entries = ForeignEntries()
        try collect("", depth: 0, into: &names, &entries)
        for name in names.sorted() {
            let outcome = try decrypt(name)
            entries.add(at: "\(name).gpg") { () throws(TokenKeepError) in try entry(name, outcome) }
        }
        found = entries
    }

    /// Removes the files of these entries.
    ///
    /// - Throws: ``Status/io`` if a file cannot be removed.
    func remove(_ entries: [ForeignEntry], counting removed: inout Int) throws(TokenKeepError) {
        for entry in entries {
            let path = "\(root)/\(entry.place)"
            guard unlink(path) == 0 || errno == ENOENT else {
                throw TokenKeepError(.io, "\(path) cannot be removed: \(Terminal.describe(errno: errno))")
            }
            removed += 1
        }
    }

    /// Adds the names of all entries below a directory. Skips links to directories, and names that begin with a dot.
    private func collect(
        _ folder: String, depth: Int, into names: inout [String], _ entries: inout ForeignEntries
    ) throws(TokenKeepError) {
        guard let directory = opendir("\(root)/\(folder)") else {
            let error = errno
            throw TokenKeepError(
                .ofNamedFile(errno: error), "\(root)/\(folder) cannot be opened: \(Terminal.describe(errno: error))")
        }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let bytes = withUnsafeBytes(of: entry.pointee.d_name) { $0.prefix { $0 != 0 }.map(\.self) }
            guard let name = String(validating: bytes, as: UTF8.self) else {
                if bytes.suffix(4).elementsEqual(".gpg".utf8) || entry.pointee.d_type == UInt8(DT_DIR) {
                    entries.refuse("an entry in \(folder.isEmpty ? root : "\(root)/\(folder)")", "a name is not UTF-8")
                }
                continue
            }
            guard !name.hasPrefix(".") else { continue }
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            var status = stat()
            guard lstat("\(root)/\(path)", &status) == 0 else { continue }
            let isLink = status.st_mode & S_IFMT == S_IFLNK
            if isLink, stat("\(root)/\(path)", &status) != 0 { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                guard !isLink, depth < PasswordStoreFolder.deepest else { continue }
                try collect(path, depth: depth + 1, into: &names, &entries)
            } else if name.hasSuffix(".gpg"), status.st_mode & S_IFMT == S_IFREG {
                names.append(String(path.dropLast(4)))
            }
        }
    }

    private func decrypt(_ name: String) throws(TokenKeepError) -> SessionProgram.Outcome {
        let program = SessionProgram(
            arguments: ["/usr/bin/env", "gpg", "--quiet", "--batch", "--decrypt", "--", "\(root)/\(name).gpg"],
            variables: [])
        let outcome = try program.run(
            input: nil, until: Deadline(milliseconds: PasswordStoreFolder.milliseconds), showsErrors: false)
        guard outcome.exitCode != ExitCodes.noSuchCommand else {
            throw TokenKeepError(.unavailable, "gpg is not installed, which decrypts the entries of pass")
        }
        return outcome
    }

    private func entry(_ name: String, _ outcome: SessionProgram.Outcome) throws(TokenKeepError) -> ForeignEntry {
        let slash = name.lastIndex(of: "/")
        let service = slash.map { String(name[..<$0]) } ?? name
        let account = slash.map { String(name[name.index(after: $0)...]) } ?? ""
        guard outcome.exitCode == 0 else {
            throw TokenKeepError(.corrupt, "gpg cannot decrypt it (exit code \(outcome.exitCode))")
        }
        return ForeignEntry(
            name: try ItemName(service: service, account: account),
            secret: try SecretInput.withoutNewline(outcome.output), place: "\(name).gpg", range: 0..<0)
    }
}
