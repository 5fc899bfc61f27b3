import CSystemShims
import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Items sealed under a passphrase, in one file that needs no vault to be read.
struct ExportFile {
    private let head: [UInt8]
    private let key: SecretBytes
    private var bytes: [UInt8]
    private var count: UInt64 = 0

    /// An export without items. Argon2id runs once.
    init(passphrase: SecretBytes, _ call: CallContext) throws(TokenKeepError) {
        try PasswordDerivation.check(passphrase)
        try Sodium.start()
        let derivation = PasswordDerivation.new()
        let derived = try PasswordDerivation.key(of: passphrase, by: derivation, call)
        head = ExportFormat.head(derivation, derived.commitment)
        key = derived.wrapping
        bytes = head
    }

    /// Seals one more item.
    mutating func add(_ item: TokenItem) throws(TokenKeepError) {
        let plaintext = try ExportFormat.plaintext(of: item)
        plaintext.withUnsafeBytes { append(.item, $0) }
        count += 1
    }

    private mutating func append(_ kind: ExportFormat.FrameKind, _ plaintext: UnsafeRawBufferPointer) {
        let data = ExportFormat.additionalData(head: head, index: count, kind)
        let box = AuthenticatedBox.seal(plaintext, key: key, data: data)
        withUnsafeBytes(of: UInt32(box.count).littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(kind.rawValue)
        bytes.append(contentsOf: box)
    }

    /// Ends the export and writes it durably, for the user alone, to a file that must not exist.
    ///
    /// - Throws: ``Status/duplicate`` where the file exists.
    consuming func write(to path: String) throws(TokenKeepError) {
        withUnsafeBytes(of: count.littleEndian) { append(.end, $0) }
        do throws(Errno) {
            let flags = O_WRONLY | O_CREAT | O_EXCL
            guard let file = try SystemCall.open(path, in: AT_FDCWD, flags, mode: 0o600) else {
                throw Errno.noSuchFileOrDirectory
            }
            do throws(Errno) {
                try bytes.lent { bytes throws(Errno) in try SystemCall.write(bytes, to: file) }
                try SystemCall.sync(file)
                if let folder = try SystemCall.openFollowing(ExportFile.folder(of: path), O_RDONLY | O_DIRECTORY) {
                    try SystemCall.sync(folder)
                }
            } catch {
                unlink(path)
                throw error
            }
        } catch {
            guard error != .fileExists else {
                throw TokenKeepError(.duplicate, "\(path) exists", hint: "an export never replaces a file")
            }
            throw TokenKeepError(.io, "cannot write \(path): \(error)")
        }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    // MARK: Reading

    private static let maximumLength = 1 << 30

    /// Every item of an export, after all of it was verified.
    ///
    /// - Throws: ``Status/denied`` for a wrong passphrase, ``Status/corrupt`` where anything of the file is not as it was
    ///   written, ``Status/notFound`` where there is none.
    static func read(
        _ path: String, passphrase: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> [TokenItem] {
        try PasswordDerivation.check(passphrase)
        let bytes = try contents(of: path)
        do throws(FormatFault) {
            return try bytes.lent { bytes throws(FormatFault) in try items(bytes, passphrase, call) }
        } catch {
            switch error {
            case .malformed(let reason):
                throw TokenKeepError(
                    .corrupt, "\(path) is no export or is damaged: \(reason)", hint: "nothing was imported")
            case .newerVersion, .resources: throw error.error(in: path)
            case .lockedKey, .unknownKey, .presenceNeeded, .refusedHeader:
                throw TokenKeepError(.denied, "the passphrase is wrong")
            }
        }
    }

    private static func items(
        _ bytes: UnsafeRawBufferPointer, _ passphrase: SecretBytes, _ call: CallContext
    ) throws(FormatFault) -> [TokenItem] {
        var reader = ByteReader(bytes)
        let (derivation, commitment) = try ExportFormat.parseHead(&reader)
        let head = Array(bytes.prefix(ExportFormat.headLength))
        // Lengths first: what was cut off costs no derivation.
        let frames = try frames(&reader)
        let derived = try FormatFault.needing { () throws(TokenKeepError) in
            try PasswordDerivation.key(of: passphrase, by: derivation, call)
        }
        guard derived.commitment == commitment else { throw .lockedKey }
        let key = derived.wrapping
        var items: [TokenItem] = []
        for (index, frame) in frames.enumerated() {
            let data = ExportFormat.additionalData(head: head, index: UInt64(index), frame.kind)
            let plaintext = try AuthenticatedBox.open(frame.box, key: key, data: data, "frame \(index + 1)")
            try plaintext.lent { bytes throws(FormatFault) in
                if frame.kind == .item { return items.append(try ExportFormat.parseItem(bytes)) }
                var reader = ByteReader(bytes)
                guard try reader.integer(UInt64.self, "number of items") == items.count else {
                    throw .malformed("items are missing")
                }
                try reader.end()
            }
        }
        return items
    }

    private static func frames(
        _ reader: inout ByteReader
    ) throws(FormatFault) -> [(kind: ExportFormat.FrameKind, box: UnsafeRawBufferPointer)] {
        var frames: [(kind: ExportFormat.FrameKind, box: UnsafeRawBufferPointer)] = []
        while frames.last?.kind != .end {
            let length = Int(try reader.integer(UInt32.self, "length of a frame"))
            guard length <= ExportFormat.maximumFrame else { throw .malformed("a frame is too long") }
            guard let kind = ExportFormat.FrameKind(rawValue: try reader.integer(UInt8.self, "kind of a frame")) else {
                throw .malformed("a frame is of an unknown kind")
            }
            frames.append((kind, try reader.take(length, "frame")))
        }
        try reader.end()
        return frames
    }

    private static func contents(of path: String) throws(TokenKeepError) -> [UInt8] {
        do throws(Errno) {
            guard let file = try SystemCall.openFollowing(path, O_RDONLY | O_NONBLOCK) else {
                throw Errno.noSuchFileOrDirectory
            }
            let status = try SystemCall.status(of: file)
            guard status.isRegularFile, status.size <= maximumLength else { throw Errno.invalidArgument }
            return try SystemCall.bytes(of: file, atMost: status.size)
        } catch {
            let status: Status = error == .noSuchFileOrDirectory ? .notFound : .io
            throw TokenKeepError(status, "cannot read \(path): \(error)")
        }
    }
}
