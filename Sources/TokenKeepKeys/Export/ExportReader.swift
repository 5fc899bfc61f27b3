import Glibc
import SystemPackage
package import TokenKeepCore

/// Reads the items of an export file, any number of times. Only one item is in memory at a time.
///
/// Each pass verifies the whole file again, because another program may change the file between two passes.
package struct ExportReader {
    private let path: String
    private let file: OwnedDescriptor
    private let head: ExportHead
    private let key: SecretBytes

    /// Opens an export file, and derives its key from the passphrase.
    ///
    /// - Throws: ``Status/denied`` if the passphrase is wrong, ``Status/corrupt`` if the file is not an export,
    ///   ``Status/unsupported`` if a later version wrote it, ``Status/notFound`` if the file is missing, and the errors
    ///   of ``PasswordDerivation``.
    package init(_ path: String, passphrase: SecretBytes, _ call: CallContext) throws(TokenKeepError) {
        try PasswordDerivation.check(passphrase)
        self.path = path
        file = try ExportReader.open(path)
        var cursor = ExportCursor(file)
        do throws(FormatFault) {
            head = try cursor.lend(ExportHead.length, path, mayBeShort: true) { bytes throws(FormatFault) in
                try ExportHead(parsing: bytes)
            }
        } catch {
            throw ExportReader.failure(error, path)
        }
        let derived = try PasswordDerivation.key(of: passphrase, by: head.derivation, call)
        guard HeaderMAC.areEqual(derived.commitment, head.commitment) else {
            throw TokenKeepError(.denied, "the passphrase is wrong")
        }
        key = derived.wrapping
    }

    /// Calls `body` with the plaintext of each item, in the order of the file.
    ///
    /// - Parameter body: called before the rest of the file is verified. To use only verified items, read the whole
    ///   file in a first call that uses no item, and use the items in a second call.
    /// - Returns: the number of items.
    /// - Throws: ``Status/corrupt`` if any part of the file was altered, ``Status/timedOut`` or ``Status/cancelled`` if
    ///   the call ended early, and the errors of `body`.
    @discardableResult
    package func forEachItem(
        _ call: CallContext, _ body: (SecretBytes) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) -> UInt64 {
        var cursor = ExportCursor(file, at: ExportHead.length)
        var count: UInt64 = 0
        while let plaintext = try next(&cursor, index: count) {
            guard !call.deadline.hasPassed else {
                throw call.deadline.failure(
                    "the deadline passed after \(count) items of \(path)", hint: "allow more time")
            }
            try body(plaintext)
            count += 1
        }
        return count
    }

    /// Reads and decrypts the next item. Returns nil at the end of the file.
    private func next(_ cursor: inout ExportCursor, index: UInt64) throws(TokenKeepError) -> SecretBytes? {
        do throws(FormatFault) {
            let frame = try cursor.lend(ExportFrame.prefixLength, path) { bytes throws(FormatFault) in
                try ExportFrame.parse(bytes)
            }
            let data = ExportFrame.additionalData(head: head.bytes, index: index, frame.kind)
            let plaintext = try cursor.lend(frame.boxLength, path) { box throws(FormatFault) in
                try AuthenticatedBox.open(box, key: key, data: data, "frame \(index + 1)")
            }
            guard frame.kind == .end else { return plaintext }
            try plaintext.lent { bytes throws(FormatFault) in try ExportReader.checkEnd(bytes, index) }
            guard try cursor.isAtEnd(path) else { throw .malformed("bytes stand behind its end") }
            return nil
        } catch {
            throw ExportReader.failure(error, path)
        }
    }

    private static func checkEnd(_ bytes: UnsafeRawBufferPointer, _ count: UInt64) throws(FormatFault) {
        var reader = ByteReader(bytes)
        guard try reader.integer(UInt64.self, "number of items") == count else { throw .malformed("items are missing") }
        try reader.end()
    }

    /// Checks that the file exists and can be read. Called before the user is prompted for the file's passphrase.
    package static func check(_ path: String) throws(TokenKeepError) { _ = try open(path) }

    private static func open(_ path: String) throws(TokenKeepError) -> OwnedDescriptor {
        let opened: (file: OwnedDescriptor, isRegular: Bool)
        do throws(Errno) {
            // O_NONBLOCK keeps the open from blocking if the path names a pipe.
            guard let file = try SystemCall.openFollowing(path, O_RDONLY | O_NONBLOCK) else {
                throw Errno.noSuchFileOrDirectory
            }
            let status = try SystemCall.status(of: file)
            guard !status.isDirectory else { throw Errno.isDirectory }
            opened = (file, status.isRegularFile)
        } catch {
            throw TokenKeepError(.ofNamedFile(errno: error.rawValue), "cannot read \(path): \(error)")
        }
        guard opened.isRegular else {
            throw TokenKeepError(
                .invalid, "\(path) is no file", hint: "an import reads the export twice, which a pipe does not allow")
        }
        return opened.file
    }

    /// The error that a caller of the store gets for this fault in an export file.
    package static func failure(_ fault: FormatFault, _ path: String) -> TokenKeepError {
        guard case .malformed(let reason) = fault else { return fault.error(in: path) }
        return TokenKeepError(.corrupt, "\(path) is no export or is damaged: \(reason)")
    }
}
