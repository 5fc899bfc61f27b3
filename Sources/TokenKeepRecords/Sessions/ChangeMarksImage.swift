import Glibc
import TokenKeepCore
import TokenKeepKeys

/// The content of the file `sessions/slots` when it was last read.
struct ChangeMarksImage {
    private static let size = (1 << 16) * 8
    private var bytes: [UInt64] = []
    /// The inode number of the file; nil if the file was missing.
    private var inode: UInt64?

    /// The index of a session's 8-byte number in the file.
    static func place(of id: [UInt8]) -> Int { id.prefix(2).reduce(0) { $0 << 8 | Int($1) } }

    /// Reads the file again.
    ///
    /// - Returns: the indices whose bytes have changed. If the file was replaced or cannot be read, `isSame` is false,
    ///   and every session may have changed.
    mutating func update(_ vault: OpenVault) -> (isSame: Bool, places: [Int]) {
        let before = self
        self = ChangeMarksImage()
        guard let folder = try? SessionLock.folder(of: vault.directory),
            let file = try? SystemCall.openRegular(ChangeMarks.file, in: folder.number, O_RDONLY),
            let status = try? SystemCall.status(of: file),
            let present = ChangeMarksImage.read(file)
        else { return (false, []) }
        (bytes, inode) = (present, status.identity.inode)
        guard before.inode == inode else { return (false, []) }
        return (true, present.indices.filter { present[$0] != before.bytes[$0] })
    }

    /// The file's content as 8-byte numbers. Numbers beyond the end of the file are 0.
    private static func read(_ file: OwnedDescriptor) -> [UInt64]? {
        var numbers = [UInt64](repeating: 0, count: size / 8)
        let isRead = numbers.withUnsafeMutableBytes { (try? SystemCall.read(file, into: $0)) != nil }
        return isRead ? numbers : nil
    }
}
