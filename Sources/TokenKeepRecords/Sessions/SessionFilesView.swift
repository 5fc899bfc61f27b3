package import TokenKeepCore
import TokenKeepKeys

/// The 16 bytes for which the name of a session's file stands.
package struct SessionFileName: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    init(_ bytes: [UInt8]) {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        (high, low) = (number(bytes.prefix(8)), number(bytes.dropFirst(8)))
    }

    /// Reads 32 hexadecimal digits; nil for fewer.
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

/// The state files of all sessions, of which each look reads the changed ones alone.
///
/// Every change replaces a file, which gives it another inode number. A later change may give it an earlier number again:
/// then the session's bytes in the file `slots` have changed. See docs/format.md, "Sessions".
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

    /// The changes that a look found.
    package struct Changes {
        /// The sessions' files that may have changed.
        package var notes: [Note] = []
        /// The sessions' files that are gone.
        package var gone: [SessionFileName] = []
        /// The files about active accounts that changed, came or are gone.
        package var active: Set<SessionFileName> = []
        /// Whether the names of sessions are locked.
        package var hasLocked = false
    }

    private struct Entry {
        var inode: UInt64
        /// Changed by each look that finds the file.
        var look: UInt64
        /// Whether the file's names are there and were locked.
        var isLocked = false
    }

    private let records: Records
    private var notes: [SessionFileName: Entry] = [:]
    private var actives: [SessionFileName: Entry] = [:]
    /// The sessions by their place in the file `slots`.
    private var places: [Int: [SessionFileName]] = [:]
    private var slots = SlotsImage()
    /// Identifies the directory that was read last.
    private var folder: FileStatus.Identity?
    private var look: UInt64 = 0

    package init(_ records: Records) { self.records = records }

    /// Reads the files that changed since the last look, or every file after a change of the vault's keys.
    package mutating func update() throws(TokenKeepError) -> Changes {
        var vault = try records.open()
        while true {
            let changes = try update(vault)
            // The files of an era that is being removed would seem to be gone.
            let present = try records.open()
            guard let present, present.era.number != vault?.era.number else { return changes }
            forget()
            vault = present
        }
    }

    /// Lets the next look read every file.
    private mutating func forget() {
        // No file has the inode number 0.
        notes = notes.mapValues { Entry(inode: 0, look: $0.look) }
        actives = actives.mapValues { Entry(inode: 0, look: $0.look) }
        places = [:]
    }

    private mutating func update(_ vault: OpenVault?) throws(TokenKeepError) -> Changes {
        let opened = try vault.flatMap { vault throws(TokenKeepError) in
            try EraFolder(name: SessionFiles.folder, era: vault.era).open()
        }
        let status = opened.flatMap { try? SystemCall.status(of: $0) }
        // The slots before the files: a change beside this look is found by the next one.
        let (isSame, changed) = vault.map { slots.update($0) } ?? (false, [])
        if !isSame || status?.identity.inode != folder?.inode || status?.identity.device != folder?.device { forget() }
        folder = status?.identity
        look &+= 1
        var stale = Set(changed.flatMap { places[$0] ?? [] })
        var changes = Changes()
        if let opened {
            try VaultFiles.forEachEntry(in: opened) { name, inode in
                see(name, inode, &stale, &changes)
                return true
            }
        }
        removeUnseen(&changes)
        if let vault { try read(stale, in: vault, &changes) }
        return changes
    }

    /// Compares an entry of the directory with the last look.
    private mutating func see(
        _ name: UnsafePointer<CChar>, _ inode: UInt64, _ stale: inout Set<SessionFileName>, _ changes: inout Changes
    ) {
        guard let file = SessionFileName(digits: name) else { return }
        if name[32] == 0 {
            if notes[file]?.inode != inode { stale.insert(file) }
            notes[file] = Entry(inode: inode, look: look, isLocked: notes[file]?.isLocked ?? false)
        } else if SessionFiles.isActive(suffix: name + 32) {
            if actives[file]?.inode != inode { changes.active.insert(file) }
            actives[file] = Entry(inode: inode, look: look)
        }
    }

    private mutating func removeUnseen(_ changes: inout Changes) {
        for (name, entry) in notes where entry.look != look { changes.gone.append(name) }
        for name in changes.gone { notes[name] = nil }
        for (name, entry) in actives where entry.look != look { changes.active.insert(name) }
        for name in changes.active where actives[name]?.look != look { actives[name] = nil }
    }

    /// Reads the files that may have changed, and those whose names were locked, if one of their names is open now.
    private mutating func read(
        _ stale: Set<SessionFileName>, in vault: OpenVault, _ changes: inout Changes
    ) throws(TokenKeepError) {
        var locked = notes.filter { $0.value.isLocked && !stale.contains($0.key) }.map(\.key)
        if let sample = locked.popLast() {
            try read(sample, in: vault, &changes)
            changes.hasLocked = notes[sample]?.isLocked == true
            if !changes.hasLocked { for name in locked { try read(name, in: vault, &changes) } }
        }
        for name in stale { try read(name, in: vault, &changes) }
    }

    private mutating func read(
        _ name: SessionFileName, in vault: OpenVault, _ changes: inout Changes
    ) throws(TokenKeepError) {
        let file: SessionFile?
        do throws(TokenKeepError) {
            file = try SessionFiles.note(name.bytes, in: vault)
        } catch {
            guard error.status == .corrupt else { throw error }
            file = nil
        }
        notes[name]?.isLocked = file?.name == nil && file?.hasNames == true
        guard let file, let item = file.name else {
            changes.hasLocked = changes.hasLocked || file != nil
            return
        }
        guard let service = try? ItemName(namespace: item.namespace, service: item.service, account: "") else { return }
        let id = vault.keys.journal.id(of: item)
        let place = SlotsImage.place(of: id)
        if places[place]?.contains(name) != true { places[place, default: []].append(name) }
        let active = SessionFileName(vault.keys.fileName(of: service))
        changes.notes.append(Note(fileName: name, name: item, id: id, active: active, state: file.state))
    }
}
