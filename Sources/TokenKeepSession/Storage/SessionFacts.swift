import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The parts of a session as they were read at one time.
struct SessionFacts {
    /// The session's note; an empty note if it is missing or unreadable.
    var note: SessionNote
    /// The change mark, which is read before the other parts; nil if it cannot be read.
    var mark: UInt64?
    /// The record in the stash, possibly of another session; nil if the stash has no readable record.
    var stashed: SessionRecord?
    /// The record of the live session; nil if there is none.
    var record: SessionRecord?
    /// A record that the note does not describe, and that may replace the note's session; nil if there is none.
    var foreign: (record: SessionRecord, belonging: RepairRules.Belonging, details: ItemDetails)?
    /// The level of the session's item; nil if the item was not read.
    var level: AccessLevel?
    /// The class key that protects the token. The token may be used only while this key is open; nil if no key protects
    /// it.
    var sealingKey: KeyPresence?
    /// Whether a handle may keep the access token in memory. False, for example, if each use of the item requires the
    /// user's password.
    var isKeepable = true
    /// Copies of the keys that encrypt the server's answer even if the vault is locked meanwhile; nil if there are
    /// none.
    var lease: SealingLease?

    init(note: SessionNote, mark: UInt64?, stashed: SessionRecord?) {
        self.note = note
        self.mark = mark
        self.stashed = stashed
    }

    /// The session's state, computed from note and record.
    var state: SessionState {
        guard let record else { return note.state == .needsLogin ? .needsLogin : .signedOut }
        if note.state == .needsLogin { return .needsLogin }
        return record.kind == .guest ? .guest : .user
    }

    /// Whether the access token has expired and cannot be renewed. Not written to the note, because a corrected clock
    /// can make the token valid again.
    func isOver(at now: SessionTime) -> Bool {
        guard let record, record.kind == .user, !record.canRenew else { return false }
        return record.life.left(at: now) == 0
    }
}

extension SessionStorage {
    /// Returns the record of a session that is not over.
    ///
    /// - Throws: ``Status/notFound`` if nobody is signed in; ``Status/needsLogin`` or ``Status/expired`` if the session
    ///   is over.
    func live(_ facts: SessionFacts) throws(TokenKeepError) -> SessionRecord {
        let note = facts.note
        if note.state == .needsLogin { throw ended(note.reason, note.problem, of: facts.record) }
        guard let record = facts.record else {
            let reason = note.reason.word.map { " (\($0))" } ?? ""
            throw TokenKeepError(
                .notFound, "nobody is signed in as \(name)\(reason)",
                hint: (try? Sessions(store).hint(of: name.service, insteadOf: name.account))
                    ?? Sessions.signIn(name.service, name.account))
        }
        try requireBearer(record.tokenType)
        return record
    }

    /// Throws ``Status/unsupported`` if a token's type is not Bearer. Another program may have stored such a token,
    /// which cannot be used in the header Authorization.
    func requireBearer(_ type: String) throws(TokenKeepError) {
        guard !TokenResponse.isBearer(type) else { return }
        throw TokenKeepError(
            .unsupported, "the token_type of the session of \(name) is not Bearer",
            hint: "sign in again, and ask the server for Bearer tokens")
    }

    /// The error for a session that has ended.
    ///
    /// - Parameters:
    ///   - problem: the server's error message; "" if there is none.
    ///   - record: the session's record, which names the provider; nil to use the provider that the note names.
    func ended(
        _ reason: SessionReason, _ problem: String = "", of record: SessionRecord? = nil
    ) -> TokenKeepError {
        let words = reason.word.map { " (\($0)\(problem.isEmpty ? "" : ": " + problem))" } ?? ""
        let status: Status = reason == .expired ? .expired : .needsLogin
        return TokenKeepError(
            status, "the session of \(name) is over\(words)", hint: signInAgain(of: record))
    }

    /// A hint that names the command with which the user signs in again.
    func signInAgain(of record: SessionRecord?) -> String {
        let provider = record.map(\.provider) ?? (try? note())?.provider
        return "sign in again: \(SignInCommand.text(name, provider: provider))"
    }
}
