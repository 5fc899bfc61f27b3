import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// Reads the entries that were appended to a vault's log of changes since the last read.
struct ChangeLogReader {
    /// A position in a log of changes. All entries before the position have been read.
    private struct Position {
        let log: OwnedDescriptor
        let identity: LogIdentity
        var offset: Int
    }

    /// The path of the vault's log of changes.
    private let path: String
    /// The position up to which the log was read; nil while the log is missing or empty, so that changes may be missed.
    private var position: Position?
    /// The file names of records whose change has begun but not ended, according to the log. Each read reports these
    /// records as possibly changed.
    ///
    /// A process that was killed before it logged the end of a change leaves such a record.
    private var unfinished: [[UInt8]] = []
    private static let unfinishedLimit = 64
    /// Whether the last read found another log that does not continue the previous log, for example of a restored
    /// vault.
    private(set) var hasAnotherLog = false

    /// Starts at the end of the vault's log, so that only later entries are read.
    init(vault: String) {
        path = "\(vault)/\(ChangeLog.file)"
        restart()
    }

    /// The file names of the records that may have changed since the last read; nil if any item may have changed.
    ///
    /// - Parameter watchAnew: called before a new log is read, to watch the new file.
    mutating func changedRecords(_ watchAnew: () -> Void) -> [[UInt8]]? {
        var records: [[UInt8]] = []
        let before = position?.identity.inode
        hasAnotherLog = false
        guard goOn(&records, watchAnew), unfinished.count <= ChangeLogReader.unfinishedLimit else {
            // The kernel does not signal the removal of a log while a process has the log open, so watch the path
            // again.
            watchAnew()
            restart(keeping: unfinished.count <= ChangeLogReader.unfinishedLimit ? unfinished : [])
            hasAnotherLog = position.map { $0.identity.inode != before } ?? false
            return nil
        }
        return records + unfinished.filter { !records.contains($0) }
    }

    /// Sets the position to the end of the vault's log of changes.
    private mutating func restart() {
        unfinished = []
        position = nil
        guard let log = try? SystemCall.openRegular(path, in: AT_FDCWD, O_RDONLY),
            // Read the identity before the length. If the log is emptied in between, the next read notices that.
            let identity = try? LogIdentity(log), let status = try? SystemCall.status(of: log)
        else { return }
        position = Position(log: log, identity: identity, offset: status.size)
    }

    /// Reads the log to its end, and then the log that replaced it, if any; false if any item may have changed.
    private mutating func goOn(_ records: inout [[UInt8]], _ watchAnew: () -> Void) -> Bool {
        guard let before = position?.identity, let status = (try? SystemCall.status(of: path, in: AT_FDCWD)) ?? nil
        else { return false }
        guard status.identity.inode != before.inode else { return readRest(status.size, &records) }
        watchAnew()
        guard let old = position?.log, let end = try? SystemCall.status(of: old), readRest(end.size, &records)
        else { return false }
        restart(keeping: unfinished)
        guard let new = position,
            let first = try? SystemCall.bytes(of: new.log, atMost: ChangeEvent.entryLength),
            before.isContinued(by: first)
        else { return false }
        position?.offset = first.count
        return readRest(new.offset, &records)
    }

    private mutating func restart(keeping unfinished: [[UInt8]]) {
        restart()
        self.unfinished = unfinished
    }

    /// Reads the entries up to `end`; false if the log was emptied, or if an entry names no record.
    private mutating func readRest(_ end: Int, _ records: inout [[UInt8]]) -> Bool {
        guard let start = position else { return false }
        let length = end - start.offset
        guard (0...4 * ChangeLog.limit).contains(length), length.isMultiple(of: ChangeEvent.entryLength),
            let bytes = try? SystemCall.bytes(of: start.log, from: Int64(start.offset), atMost: length),
            // Compare the identity after reading the entries, because a log that was emptied meanwhile has another
            // first entry.
            bytes.count == length, let identity = try? LogIdentity(start.log),
            identity.firstMark == start.identity.firstMark
        else { return false }
        position?.offset = end
        var isKnown = true
        for event in ChangeEvent.all(in: bytes) {
            switch event {
            case .began(let record): if !unfinished.contains(record) { unfinished.append(record) }
            case .changed(let record): if !records.contains(record) { records.append(record) }
            // Only one process at a time holds the item's lock, so every earlier change of the record has ended, too.
            case .ended(let record): unfinished.removeAll { $0 == record }
            case .anything, .continues: isKnown = false
            }
        }
        return isKnown
    }
}
