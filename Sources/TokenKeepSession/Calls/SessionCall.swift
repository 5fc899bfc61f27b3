import TokenKeepCore
import TokenKeepEngine

/// One call of a program on a session.
struct SessionCall {
    let engine: SessionEngine
    /// The deadline, and whether loads may prompt.
    let context: CallContext

    var storage: SessionStorage { engine.storage }
    var options: SessionOptions { storage.options }
    var name: ItemName { storage.name }

    /// Reads the session, and finishes what earlier calls left.
    func read() throws(TokenKeepError) -> SessionFacts { try storage.read(context) }

    /// Runs `body`, which locks the session. If a place is locked, asks the user to open it, and runs `body` again.
    func prompting<Value>(_ body: () throws(TokenKeepError) -> Value) throws(TokenKeepError) -> Value {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            guard try storage.store.askToOpen(name, after: error, until: context.deadline) else { throw error }
        }
        return try body()
    }

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

    /// The state of the session, without its tokens.
    func info() throws(TokenKeepError) -> SessionInfo {
        let isActive = (try? Sessions(storage.store).isActive(name, context)) == true
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
