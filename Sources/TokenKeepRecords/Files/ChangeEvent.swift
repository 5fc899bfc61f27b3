import Glibc
import SystemPackage
import TokenKeepKeys

/// An entry in the vault's log of changes. It names a record by the 16 bytes that the record's file name encodes.
package enum ChangeEvent: Sendable {
    /// A process has locked the item and may change the item's record from now on.
    case began([UInt8])
    /// The item was changed: its record, or its value in another module.
    case changed([UInt8])
    /// The process that appended ``began(_:)`` has ended its change of the record.
    case ended([UInt8])
    /// Any item in the vault or in a module may have changed.
    case anything
    /// The first entry of a new log. Identifies the old log that the new log replaced because it was too long.
    case continues(LogIdentity)

    static let entryLength = 32
    private static let nameLength = 16

    /// The entry's 32 bytes: file name (16), kind (1), zeros (7), mark (8).
    ///
    /// - Parameter mark: a random number, different in each entry.
    func entry(mark: UInt64) -> [UInt8] {
        let (kind, name): (UInt8, [UInt8]) =
            switch self {
            case .began(let name): (1, name)
            case .changed(let name): (2, name)
            case .ended(let name): (3, name)
            case .anything: (4, [UInt8](repeating: 0, count: ChangeEvent.nameLength))
            case .continues(let log): (5, ChangeEvent.bytes(log.inode) + log.firstMark)
            }
        return name + ChangeEvent.bytes(UInt64(kind)) + ChangeEvent.bytes(mark)
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// Parses entries of the log. An incomplete entry at the end of `bytes` is ignored.
    static func all(in bytes: [UInt8]) -> [ChangeEvent] {
        stride(from: 0, through: bytes.count - entryLength, by: entryLength).map {
            ChangeEvent(entry: bytes[$0..<$0 + entryLength])
        }
    }

    /// Parses an entry. An entry of an unknown kind counts as ``anything``.
    init(entry: ArraySlice<UInt8>) {
        let name = Array(entry.prefix(ChangeEvent.nameLength))
        switch entry.dropFirst(ChangeEvent.nameLength).first {
        case 1: self = .began(name)
        case 2: self = .changed(name)
        case 3: self = .ended(name)
        default: self = .anything
        }
    }
}

/// Identifies one log of changes, so that a reader notices that the log was emptied or replaced.
package struct LogIdentity: Sendable {
    let inode: UInt64
    /// The random number in the log's first entry. A different number shows that the log was emptied.
    let firstMark: [UInt8]

    /// Reads the identity of an open log; nil if the log has no entry.
    init?(_ log: OwnedDescriptor) throws(Errno) {
        let entry = try SystemCall.bytes(of: log, atMost: ChangeEvent.entryLength)
        guard entry.count == ChangeEvent.entryLength else { return nil }
        inode = try SystemCall.status(of: log).identity.inode
        firstMark = Array(entry.suffix(8))
    }

    init?(path: String) throws(Errno) {
        guard let log = try SystemCall.openRegular(path, in: AT_FDCWD, O_RDONLY) else { return nil }
        guard let identity = try LogIdentity(log) else { return nil }
        self = identity
    }

    /// Whether `entry`, the first entry of a new log, says that the new log replaced this log.
    func isContinued(by entry: [UInt8]) -> Bool {
        entry.starts(with: ChangeEvent.continues(self).entry(mark: 0).dropLast(8))
    }
}
