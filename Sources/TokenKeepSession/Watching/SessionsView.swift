import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

/// The sessions that have changed since the last update.
package struct SessionChanges {
    /// The existing sessions that may have changed, sorted by service and account.
    package var present: [SessionInfo] = []
    /// The sessions whose notes were removed.
    package var gone: [SessionInfo] = []
    /// Whether the names of some sessions are locked.
    package var hasLocked = false
    /// Whether a session ended while it was locked, so that its tokens are not queued for revocation yet.
    package var hasEnds = false
}

/// The sessions of a service, or of all services. Each update reads only the sessions that have changed since the last
/// update.
struct SessionsView {
    private struct Known {
        let name: ItemName
        let id: [UInt8]
        /// The name of the file that points to the service's active account.
        let active: SessionFileName
        let note: SessionNote
        var info: SessionInfo
    }

    /// The pointer to the active account of a service.
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
    /// The sessions that ended while they were locked, and whose tokens are not queued yet.
    private var ended: Set<SessionFileName> = []

    init(_ sessions: Sessions, service: String?) {
        (self.sessions, self.service) = (sessions, service)
        files = SessionFilesView(sessions.store.records)
    }

    /// Reads the sessions that have changed.
    ///
    /// - Throws: the error of reading the vault.
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
        // A new pointer file can get the inode number of a removed file, and then seems unchanged. But the session's
        // note changes together with the pointer, so the pointers of all changed notes are read, too.
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

    /// Stores the note in this view. Returns false if the note belongs to another service or is unreadable.
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

    /// Reads the pointer to a service's active account. Adds the previous and the new active session to `changed`.
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
