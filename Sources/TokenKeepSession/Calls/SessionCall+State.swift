import TokenKeepCore
import TokenKeepEngine

/// Reads the session's state, and sets its profile.
extension SessionCall {
    /// Replaces the session's profile.
    func setProfile(_ profile: SecretBytes) throws(TokenKeepError) {
        _ = try storage.live(read())
        try prompting { () throws(TokenKeepError) in
            let transaction = try SessionTransaction(storage, context)
            let record = try storage.live(transaction.facts())
            try profile.withUnsafeBytes { bytes throws(TokenKeepError) in try record.setProfile(bytes) }
            try transaction.apply(.profile(record, savesStash: storage.stash.read() != nil))
        }
    }

    /// Returns the state of the session, without its tokens.
    func info() throws(TokenKeepError) -> SessionInfo {
        let isActive = (try? Sessions(storage.store).isActive(storage)) == true
        do throws(TokenKeepError) {
            var facts = try read()
            if facts.isOver(at: options.clock()) {
                facts.note.state = .needsLogin
                facts.note.reason = .expired
            }
            if facts.stashed == nil { facts.note.isStashed = false }
            return SessionInfo(name: name, facts.note, state: facts.state, isActive: isActive)
        } catch {
            guard error.status == .locked || error.status == .unavailable || error.status == .timedOut else {
                throw error
            }
            let note = try storage.note() ?? SessionNote()
            let hidden: SessionState = error.status == .locked ? .locked : .unknown
            let isOver = note.state == .signedOut || note.state == .needsLogin
            return SessionInfo(name: name, note, state: isOver ? note.state : hidden, isActive: isActive)
        }
    }
}
