import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// A directory of the program `pass`, with a file for each entry. Each file is encrypted by gpg.
///
/// The file `a/b/c.gpg` becomes the item of service `a/b` and account `c`, the file `c.gpg` the item of service `c` and
/// an empty account. The secret is the whole text without the line feed at its end.
struct PasswordStoreFolder: ForeignSource {
    /// The maximum time to decrypt one entry, in milliseconds. During this time, gpg may prompt for a passphrase.
    private static let milliseconds: UInt32 = 120_000
    /// The maximum depth of nested directories that are read.
    private static let deepest = 32

    private let root: String
    /// The metadata (stat(2)) of each entry's file before it was decrypted.
    private var read: [String: stat] = [:]
    private(set) var found = ForeignEntries()

    /// Decrypts every entry of a folder.
    ///
    /// - Parameter check: called with the name of the first item before any entry is decrypted. Throws if no item can
    ///   be imported.
    /// - Throws: ``Status/invalid`` if there is no such folder, ``Status/unavailable`` if gpg is not installed, and the
    ///   error of `check`.
    init(
        _ path: String, before check: (ItemName) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) {
        root = path
        var names: [String] = []
        var entries = ForeignEntries()
        try collect("", depth: 0, into: &names, &entries)
        names.sort()
        if let name = names.lazy.compactMap({ try? PasswordStoreFolder.itemName($0) }).first { try check(name) }
        // After one prompt without an answer, do not let gpg prompt for the keys of further entries.
        var mayAsk = true
        for name in names {
            read["\(name).gpg"] = ForeignFile.status(of: "\(path)/\(name).gpg")
            let attempt = try decrypt(name, mayAsk: mayAsk)
            if case .failed(let reason) = attempt, reason.isUnanswered { mayAsk = false }
            guard case .decrypted(let text) = attempt else {
                if case .failed(let reason) = attempt {
                    entries.refuse("\(name).gpg", reason.text, hint: reason.hint(for: "\(root)/\(name).gpg"))
                }
                continue
            }
            entries.add(at: "\(name).gpg") { () throws(TokenKeepError) in
                ForeignEntry(
                    name: try PasswordStoreFolder.itemName(name), secret: try SecretInput.withoutNewline(text),
                    place: "\(name).gpg", range: 0..<0)
            }
        }
        found = entries
    }

    /// Removes the files of these entries. A file that was changed since it was read stays.
    ///
    /// - Throws: ``Status/io`` if a file cannot be removed, ``Status/conflict`` if a file was changed.
    func remove(_ entries: [ForeignEntry], counting removed: inout Int) throws(TokenKeepError) {
        var changed: TokenKeepError?
        for entry in entries {
            let path = "\(root)/\(entry.place)"
            let now = ForeignFile.status(of: path)
            guard now == nil || ForeignFile.isSame(read[entry.place], now) else {
                changed = changed ?? ForeignFile.changed(path)
                continue
            }
            guard unlink(path) == 0 || errno == ENOENT else {
                throw TokenKeepError(.io, "\(path) cannot be removed: \(Terminal.describe(errno: errno))")
            }
            removed += 1
        }
        if let changed { throw changed }
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

    private enum Attempt {
        case decrypted(SecretBytes)
        case failed(GPGFailure)
    }

    private func decrypt(_ name: String, mayAsk: Bool) throws(TokenKeepError) -> Attempt {
        // gpg inherits the writing end of this pipe for its status lines. They contain no secret, and are shorter than
        // a pipe's buffer, so gpg never blocks.
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw TokenKeepError(.io, "a pipe cannot be made: \(Terminal.describe(errno: errno))")
        }
        defer { for end in ends { close(end) } }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        // Do not block in a read, because another process may keep the writing end open after gpg has ended.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        // Do not pass --quiet, because gpg would then not report why a key cannot be used.
        let program = ProgramRun(
            ["/usr/bin/env", "gpg", "--batch", "--status-fd", "\(ends[1])"]
                + (mayAsk ? [] : ["--pinentry-mode", "error"]) + ["--decrypt", "--", "\(root)/\(name).gpg"])
        let outcome: ProgramRun.Outcome
        do throws(TokenKeepError) {
            outcome = try program.run(
                input: nil, until: Deadline(milliseconds: PasswordStoreFolder.milliseconds), showsErrors: false)
        } catch {
            guard error.status == .timedOut else { throw error }
            return .failed(.unanswered("gpg did not end within two minutes"))
        }
        guard outcome.exitCode != ExitCodes.noSuchCommand else {
            throw TokenKeepError(.unavailable, "gpg is not installed, which decrypts the entries of pass")
        }
        guard outcome.exitCode != 0 else { return .decrypted(outcome.output) }
        return .failed(GPGFailure(status: ends[0], exitCode: outcome.exitCode))
    }

    private static func itemName(_ name: String) throws(TokenKeepError) -> ItemName {
        let slash = name.lastIndex(of: "/")
        let service = slash.map { String(name[..<$0]) } ?? name
        let account = slash.map { String(name[name.index(after: $0)...]) } ?? ""
        return try ItemName(service: service, account: account)
    }
}
