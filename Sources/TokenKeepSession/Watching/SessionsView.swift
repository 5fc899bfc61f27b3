import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

/// The changes of sessions since the last look.
package struct SessionChanges {
    /// The sessions that may differ from the last look, by service and account.
    package var present: [SessionInfo] = []
    /// The sessions whose notes are gone.
    package var gone: [SessionInfo] = []
    /// Whether the names of sessions are locked.
    package var hasLocked = false
    /// Whether a session ended while it was locked, and its tokens are not queued yet.
    package var hasEnds = false
}

/// The sessions of a service, or of all services. Each look reads those alone that changed since the last look.
struct SessionsView {
    private struct Known {
        let name: ItemName
        let id: [UInt8]
        /// The file about the active account of the service.
        let active: SessionFileName
        let note: SessionNote
        var info: SessionInfo
    }

    /// The active account of a service.
    private struct Active {
        let service: String
        var pointer: [UInt8]?
    }

    private let sessions: Sessions
    private let service: String?
    private var files: SessionFilesView
    private var known: [SessionFileName: Known] = [:]
    private var fileNames: [[UInt8]: SessionFileName] = [:]
    private var actives: [SessionFileName: Active] = [:]
    /// The sessions that ended while they were locked.
    private var ended: Set<SessionFileName> = []

    init(_ sessions: Sessions, service: String?) {
        (self.sessions, self.service) = (sessions, service)
        files = SessionFilesView(sessions.store.records)
    }

    /// Reads what has changed.
    ///
    /// - Throws: the reason why the vault cannot be read.
    mutating func update() throws(TokenKeepError) -> SessionChanges {
        do throws(TokenKeepError) {
            return try changes()
        } catch {
            files.forget()
            throw error
        }
    }

    private mutating func changes() throws(TokenKeepError) -> SessionChanges {
        let read = try files.update()
        var changes = SessionChanges(hasLocked: read.hasLocked)
        for name in read.gone {
            ended.remove(name)
            guard let gone = known.removeValue(forKey: name) else { continue }
            fileNames[gone.id] = nil
            changes.gone.append(gone.info)
        }
        var changed: Set<SessionFileName> = []
        // A new file about an active account may have got the inode number of a removed file, so that it seems unchanged. The
        // change of the session itself, which comes with it, tells.
        var pointers = read.active
        for note in read.notes where remember(note) {
            changed.insert(note.fileName)
            pointers.insert(note.active)
        }
        for pointer in pointers { try readPointer(pointer, &changed) }
        changes.present = changed.compactMap { present($0) }
        changes.hasEnds = !ended.isEmpty
        changes.present.sort { ($0.service, $0.account) < ($1.service, $1.account) }
        return changes
    }

    /// Returns whether the note is one of the service's, and readable.
    private mutating func remember(_ read: SessionFilesView.Note) -> Bool {
        guard read.name.isIn(namespace: sessions.store.namespace, service: service),
            let note = try? SessionNote(read.state)
        else { return false }
        let info = SessionInfo(name: read.name, note, state: note.state, isActive: false)
        known[read.fileName] = Known(name: read.name, id: read.id, active: read.active, note: note, info: info)
        fileNames[read.id] = read.fileName
        if note.state == .signedOut, note.endedEpoch != nil {
            ended.insert(read.fileName)
        } else {
            ended.remove(read.fileName)
        }
        if actives[read.active] == nil { actives[read.active] = Active(service: read.name.service) }
        return true
    }

    /// Reads which account of a service is active. The session that was active and the one that is have changed.
    private mutating func readPointer(
        _ file: SessionFileName, _ changed: inout Set<SessionFileName>
    ) throws(TokenKeepError) {
        guard let before = actives[file] else { return }
        let pointer = try sessions.pointer(sessions.place(of: before.service))
        guard pointer != before.pointer else { return }
        actives[file]?.pointer = pointer
        for id in [before.pointer, pointer] {
            if let name = id.flatMap({ fileNames[$0] }) { changed.insert(name) }
        }
    }

    private mutating func present(_ file: SessionFileName) -> SessionInfo? {
        guard let session = known[file] else { return nil }
        let isActive = actives[session.active]?.pointer == session.id
        let info = SessionInfo(name: session.name, session.note, state: session.note.state, isActive: isActive)
        known[file]?.info = info
        return info
    }
}
