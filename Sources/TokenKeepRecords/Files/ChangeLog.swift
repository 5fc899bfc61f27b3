import Glibc
import SystemPackage
package import TokenKeepCore
package import TokenKeepKeys

/// The vault's file `changes`, a log of the changes of records, in order.
///
/// Every process appends an entry before and after it changes a record. Each entry has a random number; the number in
/// the last entry is the vault's *generation*. If an item moves from one module to another while a reader queries both,
/// each query may miss the item. A reader that found no item therefore searches again if the generation has changed.
package struct ChangeLog {
    static let file = "changes"
    private static let temporary = "changes.tmp"
    /// The length, in bytes, above which a new log replaces the log.
    static let limit = 1 << 18
    private let directory: VaultDirectory
    private let opened: OwnedDescriptor

    /// Opens the log of changes. If there is no log, creates an empty log.
    package init(_ directory: VaultDirectory) throws(TokenKeepError) {
        self.directory = directory
        do throws(Errno) {
            opened = try ChangeLog.open(ChangeLog.file, in: directory)
        } catch {
            throw error.error("cannot open \(ChangeLog.file)")
        }
    }

    private static func open(
        _ file: String, in directory: VaultDirectory, _ flags: Int32 = 0
    ) throws(Errno) -> OwnedDescriptor {
        let opened = try SystemCall.openRegular(
            file, in: directory.descriptor.number, O_WRONLY | O_CREAT | O_APPEND | flags, mode: 0o600)
        guard let opened else { throw Errno.noSuchFileOrDirectory }
        return opened
    }

    /// Appends an entry to the log of changes. Does not notify watchers.
    ///
    /// - Returns: the open log that now contains the entry.
    @discardableResult
    package func append(_ event: ChangeEvent) throws(TokenKeepError) -> OwnedDescriptor {
        let mark = UInt64.random(in: 1 ... .max)
        // Check the length only at every 64th entry on average, because each check costs a system call.
        if mark.isMultiple(of: 64) { try? replaceIfLong() }
        do throws(Errno) {
            var log = opened
            // If another process has just replaced the log, append to the new log, in at most eight attempts.
            for _ in 0..<8 {
                try ChangeLog.write(event.entry(mark: mark), to: log)
                guard try SystemCall.status(of: log).links == 0 else { break }
                log = try ChangeLog.open(ChangeLog.file, in: directory)
            }
            return log
        } catch {
            throw error.error("cannot write \(ChangeLog.file)")
        }
    }

    private static func write(_ entry: [UInt8], to log: OwnedDescriptor) throws(Errno) {
        do throws(Errno) {
            try entry.lent { bytes throws(Errno) in try SystemCall.write(bytes, to: log) }
        } catch {
            // If the disk is full, empty the log and reuse its space, because otherwise not even an item could be
            // removed.
            try SystemCall.empty(log)
            try entry.lent { bytes throws(Errno) in try SystemCall.write(bytes, to: log) }
        }
    }

    /// Replaces a log that has become too long by a new log.
    ///
    /// The first entry of the new log identifies the old log. A watcher that has read the old log to its end then
    /// continues with the new log and misses no entry.
    private func replaceIfLong() throws(Errno) {
        guard try SystemCall.status(of: opened).size > ChangeLog.limit, SystemCall.lockWhileOpen(opened) else { return }
        let status = try SystemCall.status(of: opened)
        guard status.links > 0, let old = try LogIdentity(path: "\(directory.path)/\(ChangeLog.file)"),
            old.inode == status.identity.inode
        else { return }
        let new = try ChangeLog.open(ChangeLog.temporary, in: directory, O_TRUNC)
        try ChangeLog.write(ChangeEvent.continues(old).entry(mark: .random(in: 1 ... .max)), to: new)
        try SystemCall.rename(ChangeLog.temporary, to: ChangeLog.file, in: directory.descriptor)
    }

    /// Appends an entry to the log of changes, and notifies watchers.
    ///
    /// A failure is ignored, because the logged change has already been made. Watchers do not wait for appended entries
    /// but for a change of the file's times (IN_ATTRIB of inotify(7)), so this function changes the times.
    package func announce(_ event: ChangeEvent) {
        // If this append fails, watchers still see the entry ``ChangeEvent/began(_:)``, or an emptied log.
        let log = (try? append(event)) ?? opened
        futimens(log.number, nil)
    }

    /// The vault's generation: the random number in the last entry of the log of changes; 0 if there is no entry.
    ///
    /// Every change of a record changes the generation.
    static func generation(in directory: VaultDirectory) throws(TokenKeepError) -> UInt64 {
        do throws(Errno) {
            guard let opened = try SystemCall.openRegular(file, in: directory.descriptor.number, O_RDONLY) else {
                return 0
            }
            return try generation(of: opened).mark
        } catch {
            throw error.error("cannot read \(file)")
        }
    }

    /// The records that the last `count` entries of the log name, without repetition; empty if the log cannot be read.
    ///
    /// For a reader that also finds changed records in another way, because older entries are not read.
    ///
    /// - Parameter count: the number of entries to read.
    static func latestRecords(_ count: Int, in directory: VaultDirectory) -> Set<[UInt8]> {
        guard let log = try? SystemCall.openRegular(file, in: directory.descriptor.number, O_RDONLY),
            let size = try? SystemCall.status(of: log).size
        else { return [] }
        let end = size - size % ChangeEvent.entryLength
        let start = max(0, end - count * ChangeEvent.entryLength)
        let bytes = (try? SystemCall.bytes(of: log, from: Int64(start), atMost: end - start)) ?? []
        var records: Set<[UInt8]> = []
        for event in ChangeEvent.all(in: bytes) {
            switch event {
            case .began(let record), .changed(let record), .ended(let record): records.insert(record)
            case .anything, .continues: break
            }
        }
        return records
    }

    /// The random number in the log's last entry (0 without an entry), and whether the log is still in place.
    ///
    /// A log is not in place after a new log has replaced it.
    fileprivate static func generation(of opened: OwnedDescriptor) throws(Errno) -> (mark: UInt64, isInPlace: Bool) {
        for _ in 0..<8 {
            let status = try SystemCall.status(of: opened)
            guard status.size >= ChangeEvent.entryLength else { return (0, status.links > 0) }
            var mark: UInt64 = 0
            let count = MemoryLayout.size(ofValue: mark)
            let start = Int64(status.size - count)
            let read = try SystemCall.read(opened, from: start, into: &mark)
            // If another process has emptied the log since `fstat`, the read is short: try again with the new length.
            if read == count { return (UInt64(littleEndian: mark), status.links > 0) }
        }
        throw .ioError  // only a faulty file system reports a length and has fewer bytes
    }
}

/// The log of changes, kept open by a process that often checks whether the vault has changed.
final class HeldChangeLog: Sendable {
    private let opened: OwnedDescriptor

    /// Opens the log of changes; nil if the log is missing. A reader never creates the log.
    init?(_ directory: VaultDirectory) {
        let found = try? SystemCall.openRegular(ChangeLog.file, in: directory.descriptor.number, O_RDONLY)
        guard let opened = found ?? nil else { return nil }
        self.opened = opened
    }

    /// The random number in the log's last entry; nil if another log has replaced this log, or reading fails.
    ///
    /// Every change of a record changes the number.
    var generation: UInt64? {
        guard let (mark, isInPlace) = try? ChangeLog.generation(of: opened), isInPlace else { return nil }
        return mark
    }
}
