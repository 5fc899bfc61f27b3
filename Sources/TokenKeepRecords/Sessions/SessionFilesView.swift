package import TokenKeepCore
import TokenKeepKeys

/// The 16 bytes that the name of a session's file encodes.
package struct SessionFileName: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    init(_ bytes: [UInt8]) {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        (high, low) = (number(bytes.prefix(8)), number(bytes.dropFirst(8)))
    }

    /// Parses 32 hexadecimal digits; nil if there are fewer.
    init?(digits: UnsafePointer<CChar>) {
        guard let high = SessionFileName.number(digits), let low = SessionFileName.number(digits + 16) else {
            return nil
        }
        (self.high, self.low) = (high, low)
    }

    var bytes: [UInt8] {
        [high, low].flatMap { number in (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (UInt64($0) * 8)) }
        }
    }

    private static func number(_ digits: UnsafePointer<CChar>) -> UInt64? {
        var number: UInt64 = 0
        for index in 0..<16 {
            switch digits[index] {
            case 0x30...0x39: number = number << 4 | UInt64(digits[index] - 0x30)
            case 0x61...0x66: number = number << 4 | UInt64(digits[index] - 0x61 + 10)
            default: return nil  // The end of a shorter name, too.
            }
        }
        return number
    }
}

/// The state files of all sessions. Each update reads only the files that changed.
///
/// Every change of a session first replaces the session's file, and then changes the session's 8 bytes in the file
/// `slots`. An update before the second step does not find the change. An update takes these steps until a read file
/// explains each of the changed bytes (docs/format.md, "Sessions"):
///
/// - Read the replaced files of the known sessions to which the changed bytes belong.
/// - Read the files of new sessions that the log of changes names.
/// - List the directory, and read the files whose inode numbers are new.
package struct SessionFilesView {
    /// A session's file that was read.
    package struct Note {
        package let fileName: SessionFileName
        package let name: ItemName
        /// The 16-byte ID of the session's name.
        package let id: [UInt8]
        /// The name of the file about the active account of the session's service.
        package let active: SessionFileName
        package let state: [UInt8]
    }

    /// The changes that an update found.
    package struct Changes {
        /// The sessions' files that may have changed.
        package var notes: [Note] = []
        /// The sessions' files that were removed.
        package var gone: [SessionFileName] = []
        /// The files about active accounts that were made, changed or removed.
        package var active: Set<SessionFileName> = []
        /// Whether the names of some sessions are locked.
        package var hasLocked = false
    }

    private struct Entry {
        var inode: UInt64
        /// The time of the file's last change, in nanoseconds, when it was read.
        var changed: Int64 = 0
        /// The number of the last listing of the directory that contained the file.
        var look: UInt64
    }

    /// The time, in milliseconds, after which an update lists the directory again.
    ///
    /// A session whose process died between the two steps of a change is found after this time at the latest.
    private static let longestPause: UInt32 = 60_000
    /// The number of entries at the end of the log of changes in which the file of a new session is searched. A sign-in
    /// appends about four entries.
    private static let latestEntries = 256

    private let records: Records
    private var notes: [SessionFileName: Entry] = [:]
    private var actives: [SessionFileName: Entry] = [:]
    /// The sessions by the index of their bytes in the file `slots`.
    private var places: [Int: [SessionFileName]] = [:]
    /// The files of sessions whose names are locked.
    private var locked: Set<SessionFileName> = []
    private var marks = ChangeMarksImage()
    /// The identity of the directory at the last update.
    private var folder: FileStatus.Identity?
    private var look: UInt64 = 0
    private var listAgainAt: Deadline?

    package init(_ records: Records) { self.records = records }

    /// Reads the files that changed since the last update, or every file after a change of the vault's keys.
    package mutating func update() throws(TokenKeepError) -> Changes {
        var vault = try records.open()
        while true {
            let changes = try update(vault)
            // If the vault's keys were replaced meanwhile, the old directory is being removed, so its files may have
            // been missed: update again with the new directory.
            let present = try records.open()
            guard let present, present.era.number != vault?.era.number else { return changes }
            forget()
            vault = present
        }
    }

    /// Makes the next update read every file. Called if the changes of the last update could not be used.
    package mutating func forget() {
        // No file has the inode number 0, so the next update reads every file.
        notes = notes.mapValues { Entry(inode: 0, look: $0.look) }
        actives = actives.mapValues { Entry(inode: 0, look: $0.look) }
        (places, locked, listAgainAt) = ([:], [], nil)
    }

    private mutating func update(_ vault: OpenVault?) throws(TokenKeepError) -> Changes {
        let opened = try vault.flatMap { vault throws(TokenKeepError) in
            try EraFolder(name: SessionFiles.folder, era: vault.era).open()
        }
        let before = folder
        folder = opened.flatMap { try? SystemCall.status(of: $0) }?.identity
        // Read the change marks before the files, so that the next update finds a change made in between.
        let (isSame, changed) = vault.map { marks.update($0) } ?? (false, [])
        if !isSame || folder?.inode != before?.inode || folder?.device != before?.device { forget() }
        var changes = Changes()
        var stale = Set(changed.flatMap { places[$0] ?? [] })
        if let vault, opened != nil, listAgainAt?.hasPassed == false {
            var read = try readReplaced(stale, in: vault, &changes)
            if !account(for: changed, read) { read.formUnion(try readNew(in: vault, &changes)) }
            guard !account(for: changed, read) else {
                try readLocked(in: vault, &changes)
                return changes
            }
            stale.subtract(read)
        }
        try list(opened, &stale, &changes)
        if let vault {
            try readLocked(in: vault, &changes)
            for name in stale { try read(name, in: vault, &changes) }
        }
        return changes
    }

    /// Reads the files among `names` that were replaced since they were last read, and returns their names.
    private mutating func readReplaced(
        _ names: Set<SessionFileName>, in vault: OpenVault, _ changes: inout Changes
    ) throws(TokenKeepError) -> Set<SessionFileName> {
        var read: Set<SessionFileName> = []
        for name in names {
            guard let entry = notes[name], let status = SessionFilesView.status(name, in: vault),
                status.inode != entry.inode || status.changed != entry.changed
            else { continue }
            try self.read(name, in: vault, &changes)
            read.insert(name)
        }
        return read
    }

    /// Whether each changed number in the file `slots` belongs to a session whose file was read.
    private func account(for changed: [Int], _ read: Set<SessionFileName>) -> Bool {
        changed.allSatisfy { places[$0]?.contains(where: read.contains) == true }
    }

    /// Reads the files of unknown sessions whose records are among the last entries of the log. Returns the files'
    /// names.
    ///
    /// The first sign-in of a session saves the session's item, which the log of changes notes, before it changes the
    /// session's bytes in `slots`. The session's file has the same name as the item's record.
    private mutating func readNew(
        in vault: OpenVault, _ changes: inout Changes
    ) throws(TokenKeepError) -> Set<SessionFileName> {
        var read: Set<SessionFileName> = []
        for record in ChangeLog.latestRecords(SessionFilesView.latestEntries, in: vault.directory) {
            let name = SessionFileName(record)
            guard notes[name] == nil, SessionFilesView.status(name, in: vault) != nil else { continue }
            notes[name] = Entry(inode: 0, look: look)
            try self.read(name, in: vault, &changes)
            read.insert(name)
        }
        return read
    }

    private static func status(_ name: SessionFileName, in vault: OpenVault) -> FileStatus.Identity? {
        let path = "\(SessionFiles.folder)/\(Hexadecimal.text(name.bytes))"
        return (try? SystemCall.status(of: path, in: vault.era.descriptor.number))??.identity
    }

    private mutating func list(
        _ opened: OwnedDescriptor?, _ stale: inout Set<SessionFileName>, _ changes: inout Changes
    ) throws(TokenKeepError) {
        look &+= 1
        listAgainAt = Deadline(milliseconds: SessionFilesView.longestPause)
        if let opened {
            try VaultFiles.forEachEntry(in: opened) { name, inode in
                see(name, inode, &stale, &changes)
                return true
            }
        }
        removeUnseen(&changes)
    }

    /// Compares an entry of the directory with the last update.
    private mutating func see(
        _ name: UnsafePointer<CChar>, _ inode: UInt64, _ stale: inout Set<SessionFileName>, _ changes: inout Changes
    ) {
        guard let file = SessionFileName(digits: name) else { return }
        if name[32] == 0 {
            if notes[file]?.inode != inode { stale.insert(file) }
            notes[file, default: Entry(inode: inode, look: look)].look = look
        } else if SessionFiles.isActive(suffix: name + 32) {
            if actives[file]?.inode != inode { changes.active.insert(file) }
            actives[file] = Entry(inode: inode, look: look)
        }
    }

    private mutating func removeUnseen(_ changes: inout Changes) {
        for (name, entry) in notes where entry.look != look { changes.gone.append(name) }
        for name in changes.gone { notes[name] = nil }
        locked.subtract(changes.gone)
        for (name, entry) in actives where entry.look != look { changes.active.insert(name) }
        for name in changes.active where actives[name]?.look != look { actives[name] = nil }
    }

    /// Reads the files whose names were locked, if the names of one of them can now be decrypted.
    private mutating func readLocked(in vault: OpenVault, _ changes: inout Changes) throws(TokenKeepError) {
        guard let sample = locked.first else { return }
        try read(sample, in: vault, &changes)
        guard !locked.contains(sample) else { return changes.hasLocked = true }
        for name in locked { try read(name, in: vault, &changes) }
    }

    private mutating func read(
        _ name: SessionFileName, in vault: OpenVault, _ changes: inout Changes
    ) throws(TokenKeepError) {
        // Read the inode number before the content, so that a file replaced in between is read again.
        if let status = SessionFilesView.status(name, in: vault) {
            notes[name]?.inode = status.inode
            notes[name]?.changed = status.changed
        }
        let file: SessionFile?
        do throws(TokenKeepError) {
            file = try SessionFiles.note(name.bytes, in: vault)
        } catch {
            guard error.status == .corrupt else { throw error }
            file = nil
        }
        if file?.name == nil, file?.hasNames == true { locked.insert(name) } else { locked.remove(name) }
        guard let file, let item = file.name else {
            changes.hasLocked = changes.hasLocked || file != nil
            return
        }
        guard let service = try? ItemName(namespace: item.namespace, service: item.service, account: "") else { return }
        let id = vault.keys.journal.id(of: item)
        let place = ChangeMarksImage.place(of: id)
        if places[place]?.contains(name) != true { places[place, default: []].append(name) }
        let active = SessionFileName(vault.keys.fileName(of: service))
        changes.notes.append(Note(fileName: name, name: item, id: id, active: active, state: file.state))
    }
}
