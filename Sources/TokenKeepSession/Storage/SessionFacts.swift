import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The findings of one reading of a session.
struct SessionFacts {
    /// The note; an empty one if there is none that can be read.
    var note: SessionNote
    /// The change mark before the reading; nil if it cannot be read.
    var mark: UInt64?
    /// The record in the stash, which may belong to another session; nil if no record there is readable.
    var stashed: SessionRecord?
    /// The live record; nil if there is none.
    var record: SessionRecord?
    /// A record that is not the note's, and may take its session's place.
    var foreign: (record: SessionRecord, belonging: RepairRules.Belonging, details: ItemDetails)?
    /// The level of the session's item; nil if the item was not read.
    var level: AccessLevel?
    /// The key that must be open for the token to be used; nil if the token needs no key.
    var sealingKey: ResidentKey?
    /// Whether a handle may keep the token: not if each use asks for the password.
    var isKeepable = true
    /// The keys that seal the server's answer even if the vault was locked since; nil for none.
    var lease: SealingLease?

    init(note: SessionNote, mark: UInt64?, stashed: SessionRecord?) {
        self.note = note
        self.mark = mark
        self.stashed = stashed
    }

    /// The session's state.
    var state: SessionState {
        guard let record else { return note.state == .needsLogin ? .needsLogin : .signedOut }
        if note.state == .needsLogin { return .needsLogin }
        return record.kind == .guest ? .guest : .user
    }

    /// Whether the token is over and cannot be renewed. Not noted: a clock that is set right makes it valid again.
    func isOver(at now: SessionTime) -> Bool {
        guard let record, record.kind == .user, !record.canRenew else { return false }
        return record.life.left(at: now) == 0
    }
}

extension SessionStorage {
    /// The record of a session that is not over.
    ///
    /// - Throws: ``Status/notFound`` if nobody is signed in, ``Status/needsLogin`` or ``Status/expired``.
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

    /// Refuses a token that another program stored, and that an Authorization header with `Bearer` cannot carry.
    func requireBearer(_ type: String) throws(TokenKeepError) {
        guard !TokenResponse.isBearer(type) else { return }
        throw TokenKeepError(
            .unsupported, "the token_type of the session of \(name) is not Bearer",
            hint: "sign in again, and ask the server for Bearer tokens")
    }

    /// The error of a session that ended.
    ///
    /// - Parameters:
    ///   - problem: the server's words; "" if there are none.
    ///   - record: the session's record, which names the provider; nil to take the provider of the note.
    func ended(
        _ reason: SessionReason, _ problem: String = "", of record: SessionRecord? = nil
    ) -> TokenKeepError {
        let words = reason.word.map { " (\($0)\(problem.isEmpty ? "" : ": " + problem))" } ?? ""
        let status: Status = reason == .expired ? .expired : .needsLogin
        return TokenKeepError(
            status, "the session of \(name) is over\(words)", hint: signInAgain(of: record))
    }

    /// The advice to sign in again, with the command.
    func signInAgain(of record: SessionRecord?) -> String {
        let provider = record.map(\.provider) ?? (try? note())?.provider
        return "sign in again: \(SignInCommand.text(name, provider: provider))"
    }
}
