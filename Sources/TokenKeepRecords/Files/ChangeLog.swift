import Glibc
import SystemPackage
package import TokenKeepCore
package import TokenKeepKeys

/// The file `changes`: which records were changed, in order.
///
/// Every process appends an entry before and after it changes a record. The mark of the last entry is the vault's
/// generation: if an item moves between modules, a reader may ask each module at a moment when the item is in the
/// other, and miss it. After a changed generation the reader reads the modules again.
package struct ChangeLog {
    static let file = "changes"
    private static let temporary = "changes.tmp"
    /// A log of this many bytes is replaced by a new one.
    static let limit = 1 << 18
    private let directory: VaultDirectory
    private let opened: OwnedDescriptor

    /// Opens the log, and makes it if it is missing.
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

    /// Appends an entry. Wakes no watcher.
    ///
    /// - Returns: the log that has the entry.
    @discardableResult
    package func append(_ event: ChangeEvent) throws(TokenKeepError) -> OwnedDescriptor {
        let mark = UInt64.random(in: 1 ... .max)
        // The length is rarely looked at: it costs a call to the system.
        if mark.isMultiple(of: 64) { try? replaceIfLong() }
        do throws(Errno) {
            var log = opened
            // Another process may have replaced the log before the entry was written. Nobody replaces it eight times.
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
            // On a full disk an item can still be removed: the log's own room is used again.
            try SystemCall.empty(log)
            try entry.lent { bytes throws(Errno) in try SystemCall.write(bytes, to: log) }
        }
    }

    /// Puts a new log in the place of a long one. The new log names the old one, so that watchers miss nothing.
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

    /// Appends an entry and wakes the watchers. A failure is ignored: the change itself is already made.
    ///
    /// Watchers await a change of the file's times: inotify(7) reports no appended entry then.
    package func announce(_ event: ChangeEvent) {
        // Without the entry the watchers see that the log was emptied, or that the change has begun.
        let log = (try? append(event)) ?? opened
        futimens(log.number, nil)
    }

    /// The vault's generation; 0 if the log is missing or empty.
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

    /// The mark of the last entry, 0 if the log is empty; and whether the log still has its name.
    fileprivate static func generation(of opened: OwnedDescriptor) throws(Errno) -> (mark: UInt64, isInPlace: Bool) {
        for _ in 0..<8 {
            let status = try SystemCall.status(of: opened)
            guard status.size >= ChangeEvent.entryLength else { return (0, status.links > 0) }
            var mark: UInt64 = 0
            let count = MemoryLayout.size(ofValue: mark)
            let start = Int64(status.size - count)
            let read = try SystemCall.read(opened, from: start, into: &mark)
            // A log that was emptied meanwhile is shorter: look again.
            if read == count { return (UInt64(littleEndian: mark), status.links > 0) }
        }
        throw .ioError  // no file system that works says a length and has less
    }
}

/// The log, kept open by a frequent reader of the generation.
final class HeldChangeLog: Sendable {
    private let opened: OwnedDescriptor

    /// Opens the log; nil if it is missing. A reader does not make it.
    init?(_ directory: VaultDirectory) {
        let found = try? SystemCall.openRegular(ChangeLog.file, in: directory.descriptor.number, O_RDONLY)
        guard let opened = found ?? nil else { return nil }
        self.opened = opened
    }

    /// The present generation; nil if another log has taken this one's place.
    var generation: UInt64? {
        guard let (mark, isInPlace) = try? ChangeLog.generation(of: opened), isInPlace else { return nil }
        return mark
    }
}
