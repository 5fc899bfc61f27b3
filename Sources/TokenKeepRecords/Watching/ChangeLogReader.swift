import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// Reads what was appended to a vault's log of changes since the last reading.
struct ChangeLogReader {
    /// The place in a log up to which entries were read.
    private struct Position {
        let log: OwnedDescriptor
        let identity: LogIdentity
        var offset: Int
    }

    /// The path of the log.
    private let path: String
    /// nil before the first entry: the next reading cannot know what it missed.
    private var position: Position?
    /// Records whose changes have begun and have not ended. They are read at each notice: the process may have been
    /// killed after a change and before its next entry.
    private var unfinished: [[UInt8]] = []
    private static let unfinishedLimit = 64

    /// Begins at the end of the log of a vault.
    init(vault: String) {
        path = "\(vault)/\(ChangeLog.file)"
        restart()
    }

    /// The file names of the records that may have changed since the last reading; nil if anything may have changed.
    ///
    /// - Parameter watchAnew: is called before a new log at the path is read, to be notified of its entries.
    mutating func changedRecords(_ watchAnew: () -> Void) -> [[UInt8]]? {
        var records: [[UInt8]] = []
        guard goOn(&records, watchAnew), unfinished.count <= ChangeLogReader.unfinishedLimit else {
            // A log that was removed raises no event while any process has it open: watch the path anew.
            watchAnew()
            restart(keeping: unfinished.count <= ChangeLogReader.unfinishedLimit ? unfinished : [])
            return nil
        }
        return records + unfinished.filter { !records.contains($0) }
    }

    /// Goes to the end of the log at the path.
    private mutating func restart() {
        unfinished = []
        position = nil
        guard let log = try? SystemCall.openRegular(path, in: AT_FDCWD, O_RDONLY),
            // In this order: a log that is emptied in between is shorter than the offset, or has another first entry.
            let identity = try? LogIdentity(log), let status = try? SystemCall.status(of: log)
        else { return }
        position = Position(log: log, identity: identity, offset: status.size)
    }

    /// Reads to the end of the log at the path; false if anything may have changed.
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

    /// Reads the entries up to an offset; false if the log was emptied, or if an entry names no record.
    private mutating func readRest(_ end: Int, _ records: inout [[UInt8]]) -> Bool {
        guard let start = position else { return false }
        let length = end - start.offset
        guard (0...4 * ChangeLog.limit).contains(length), length.isMultiple(of: ChangeEvent.entryLength),
            let bytes = try? SystemCall.bytes(of: start.log, from: Int64(start.offset), atMost: length),
            // Read after the entries: a log emptied before has another first entry.
            bytes.count == length, let identity = try? LogIdentity(start.log),
            identity.firstMark == start.identity.firstMark
        else { return false }
        position?.offset = end
        var isKnown = true
        for begin in stride(from: 0, to: length, by: ChangeEvent.entryLength) {
            switch ChangeEvent(entry: bytes[begin..<begin + ChangeEvent.entryLength]) {
            case .began(let record): if !unfinished.contains(record) { unfinished.append(record) }
            case .changed(let record): if !records.contains(record) { records.append(record) }
            // The item's lock has one holder: an earlier writer that did not end was killed.
            case .ended(let record): unfinished.removeAll { $0 == record }
            case .anything, .continues: isKnown = false
            }
        }
        return isKnown
    }
}
