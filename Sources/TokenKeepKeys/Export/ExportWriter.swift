import Glibc
import SystemPackage
package import TokenKeepCore

/// Writes an export file, item by item. If ``finish()`` is not called or throws, the file is removed.
///
/// A writer must not be used by several threads at once.
package final class ExportWriter {
    /// The number of buffered bytes at which items are written, so that one system call writes several items.
    private static let chunk = 1 << 16

    private let path: String
    private let folder: OwnedDescriptor
    private let name: String
    private let file: OwnedDescriptor
    private let head: ExportHead
    private let key: SecretBytes
    private var unwritten: [UInt8]
    private var count: UInt64 = 0
    private var isFinished = false

    /// Makes the file, which only the user can read, and derives its key from the passphrase.
    ///
    /// - Throws: ``Status/duplicate`` if the file exists already, and the errors of ``PasswordDerivation``.
    package init(
        _ path: String, passphrase: SecretBytes, by derivation: KeyDerivation = PasswordDerivation.new(),
        _ call: CallContext
    ) throws(TokenKeepError) {
        try PasswordDerivation.check(passphrase)
        try Sodium.start()
        let place = ExportPlace(path)
        do throws(Errno) {
            (folder, file) = try place.create()
        } catch {
            throw ExportWriter.failure(error, path)
        }
        self.path = path
        name = place.name
        let derived: DerivedKey
        do throws(TokenKeepError) {
            derived = try PasswordDerivation.key(of: passphrase, by: derivation, call)
        } catch {
            // Remove the file here: if an initializer throws before every property is set, `deinit` does not run.
            ExportPlace.remove(name, in: folder, ifIs: file)
            throw error
        }
        head = ExportHead(derivation, commitment: derived.commitment)
        key = derived.wrapping
        unwritten = head.bytes
    }

    /// Checks that the file can be made, but makes no file. Called before the user is prompted for the file's
    /// passphrase.
    package static func check(_ path: String) throws(TokenKeepError) {
        do throws(Errno) {
            try ExportPlace(path).check()
        } catch {
            throw failure(error, path)
        }
    }

    deinit {
        if !isFinished { ExportPlace.remove(name, in: folder, ifIs: file) }
    }

    /// Encrypts the plaintext of one item and appends it to the file.
    package func append(_ plaintext: SecretBytes) throws(TokenKeepError) {
        plaintext.withUnsafeBytes { append(.item, $0) }
        count += 1
        if unwritten.count >= ExportWriter.chunk { try write() }
    }

    /// Writes the last part of the export file, and makes the file durable.
    package func finish() throws(TokenKeepError) {
        withUnsafeBytes(of: count.littleEndian) { append(.end, $0) }
        try write()
        do throws(Errno) {
            try SystemCall.sync(file)
            try SystemCall.sync(folder)
        } catch {
            throw ExportWriter.failure(error, path)
        }
        isFinished = true
    }

    private func append(_ kind: ExportFrame.Kind, _ plaintext: UnsafeRawBufferPointer) {
        let data = ExportFrame.additionalData(head: head.bytes, index: count, kind)
        let box = AuthenticatedBox.seal(plaintext, key: key, data: data)
        withUnsafeBytes(of: UInt32(box.count).littleEndian) { unwritten.append(contentsOf: $0) }
        unwritten.append(kind.rawValue)
        unwritten.append(contentsOf: box)
    }

    private func write() throws(TokenKeepError) {
        do throws(Errno) {
            try unwritten.lent { bytes throws(Errno) in try SystemCall.write(bytes, to: file) }
        } catch {
            throw ExportWriter.failure(error, path)
        }
        unwritten.removeAll(keepingCapacity: true)
    }

    private static func failure(_ error: Errno, _ path: String) -> TokenKeepError {
        guard error != .fileExists else {
            return TokenKeepError(.duplicate, "\(path) exists", hint: "an export never replaces a file")
        }
        return TokenKeepError(.ofNamedFile(errno: error.rawValue), "cannot write \(path): \(error)")
    }
}

/// The directory and the name of a new export file.
private struct ExportPlace {
    let folder: String
    let name: String

    init(_ path: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            (folder, name) = (".", path)
            return
        }
        folder = slash == path.startIndex ? "/" : String(path[..<slash])
        name = String(path[path.utf8.index(after: slash)...])
    }

    /// Throws if the file exists, or if the user may not make the file.
    func check() throws(Errno) {
        guard let folder = try SystemCall.openFollowing(folder, O_RDONLY | O_DIRECTORY) else {
            throw .noSuchFileOrDirectory
        }
        guard try SystemCall.status(of: name, in: folder.number) == nil else { throw .fileExists }
        guard faccessat(folder.number, ".", W_OK | X_OK, AT_EACCESS) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Opens the directory, and makes the export file in it.
    func create() throws(Errno) -> (folder: OwnedDescriptor, file: OwnedDescriptor) {
        guard let folder = try SystemCall.openFollowing(folder, O_RDONLY | O_DIRECTORY),
            let file = try SystemCall.open(name, in: folder.number, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        else { throw .noSuchFileOrDirectory }
        return (folder, file)
    }

    /// Removes the file that this writer made, but not another file that has taken the name since.
    static func remove(_ name: String, in folder: OwnedDescriptor, ifIs file: OwnedDescriptor) {
        guard let own = try? SystemCall.status(of: file).identity,
            let named = try? SystemCall.status(of: name, in: folder.number)?.identity,
            own.inode == named.inode, own.device == named.device
        else { return }
        _ = try? SystemCall.remove(name, in: folder)
    }
}
