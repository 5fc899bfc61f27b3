import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The steps after the request.
extension Renewal {
    /// Judges the server's answer, and saves its tokens.
    func follow(
        _ response: SessionResponse, sent: SessionTime, _ facts: SessionFacts, _ record: SessionRecord,
        _ sending: SessionNote.Refreshing
    ) throws(Fault) -> Result {
        let (serverTime, offset) = serverClock(response)
        let answer = try orFault { () throws(TokenKeepError) in
            try RefreshAnswer.judge(response, to: record.refreshToken, serverTime: serverTime)
        }
        let action = AnswerRules.answered(
            answer,
            AnswerRules.Facts(
                isRepetition: facts.note.refreshing?.fingerprint == sending.fingerprint, rotation: rotation(of: facts),
                isForTarget: target != nil, isOfAnother: isOfAnother(answer, record)))
        if case .coolDown = answer { throw try coolDown(response.status, action, facts) }
        if case .unknown = answer, (200..<300).contains(response.status) { keepUnread(response.body, facts) }
        let result = try orFault { () throws(TokenKeepError) in
            try follow(answer, action, sent: sent, offset: offset, facts, record)
        }
        guard let result else { throw .changed }
        return result
    }

    /// Notes that the server asks to wait. This call waits itself if the wait is short.
    private func coolDown(
        _ status: Int, _ action: AnswerRules.Action, _ facts: SessionFacts
    ) throws(Fault) -> Fault {
        let problem = "\(SessionNote.asksToWait) (\(status))"
        let wait = try orFault { () throws(TokenKeepError) in try note(action, problem, facts) }
        options.explain?("the server's answer: \(problem)")
        guard AnswerRules.isShort(wait, left: call.deadline.remainingMilliseconds) else {
            return .failed(Renewal.unknown("the server asks to wait (\(status))", "try again later"))
        }
        return .coolingDown(wait)
    }

    /// Does what follows from an answer that does not ask to wait.
    ///
    /// - Returns: nil if the session ended meanwhile, or another one began.
    private func follow(
        _ answer: RefreshAnswer, _ action: AnswerRules.Action, sent: SessionTime, offset: Int64,
        _ facts: SessionFacts, _ record: SessionRecord
    ) throws(TokenKeepError) -> Result? {
        switch answer {
        case .tokens(let tokens):
            if action == .endForAnother { return try endForAnother(tokens, facts, record) }
            var renewed = record
            let generation = max(record.generation, record.refreshGeneration) &+ 1
            if let target {
                try renewed.apply(tokens, for: target, generation: generation, now: sent, offset: offset)
            } else {
                try renewed.apply(tokens, generation: generation, now: sent, offset: offset)
            }
            return try save(renewed, of: facts, fault: tokens.accessToken == nil ? tokens.missingToken : nil)
        case .refused(let words), .interaction(let words):
            guard case .end(let reason) = action else { return nil }
            return try ended(reason, words, facts, record)
        case .denied(let words, let isAboutClient):
            let (what, hint) = refused(isAboutClient: isAboutClient)
            let problem = "it refuses \(what): \(words)"
            options.explain?("the server's answer: \(problem)")
            try note(action, problem, facts)
            throw TokenKeepError(.denied, "the server refuses \(what): \(words)", hint: hint)
        case .coolDown: return nil
        case .unknown(let reason):
            try note(action, reason, facts)
            options.explain?("the server's answer: \(reason)")
            throw Renewal.unknown(reason, nil)
        }
    }

    /// The part of a request that the server refuses, and what the user can check.
    private func refused(isAboutClient: Bool) -> (what: String, hint: String) {
        guard let target, !isAboutClient else {
            let refusal = isAboutClient ? SessionNote.Refusal.client : .scope
            return (refusal.what, refusal.hint)
        }
        let what =
            target.resource == nil ? "the scope" : target.scope == nil ? "the resource" : "the resource or the scope"
        return (what, "the session's other tokens go on; check --resource and --scope")
    }

    /// Notes an answer that gave no tokens, or a request that was not carried out.
    ///
    /// - Returns: the seconds for which no process asks again.
    @discardableResult
    func note(
        _ action: AnswerRules.Action, _ problem: String, _ facts: SessionFacts
    ) throws(TokenKeepError) -> Int64 {
        let change: SessionChange
        switch action {
        case .pause(let failure, let withdraws):
            change = .failed(failure, problem, withdrawnTo: withdraws ? facts.note : nil)
        case .withdraw: change = .withdrawn(to: facts.note)
        case .save, .endForAnother, .end: return 0
        }
        let noted = try SessionTransaction(storage, Renewal.saving).apply(change, to: facts.note)
        return noted.map { $0.coolDownUntil - options.clock().wall } ?? 0
    }

    /// The server's time, by its header Date, and its difference to the wall clock; 0 if that is not believed.
    func serverClock(_ response: SessionResponse) -> (time: Int64, offset: Int64) {
        let wall = options.clock().wall
        let time = response.header("Date").flatMap(HTTPDate.seconds) ?? wall
        let offset = time - wall
        return (time, abs(offset) > 315_576_000 ? 0 : offset)
    }

    /// Saves the renewed record, or stashes it if its place is locked or full.
    ///
    /// - Parameter fault: the reason why the answer has no access token; nil if it has one.
    func save(
        _ renewed: SessionRecord, of facts: SessionFacts, fault: String? = nil
    ) throws(TokenKeepError) -> Result? {
        let saved: SessionFacts
        do throws(TokenKeepError) {
            guard let inPlace = try saveInPlace(renewed, facts) else { return nil }
            saved = inPlace
        } catch {
            options.explain?("the new tokens cannot be saved: \(error.message)")
            try SessionTransaction(stashingIn: storage, Renewal.saving).stash(renewed, of: facts.note)
            saved = try storage.read(Renewal.saving)
        }
        guard fault == nil, TokenResponse.isBearer(renewed.tokenType) else {
            // Each further answer may be the same: nobody asks again at once.
            try note(.pause(.asksToWait(nil), withdraws: false), "its answer has no token that can be used", saved)
            if let fault { throw Renewal.unknown(fault, nil) }
            return Result(facts: saved, record: try storage.live(saved), isNew: true)
        }
        return Result(facts: saved, record: try storage.live(saved), isNew: true)
    }

    /// Saves the renewed record in its place. The tokens of a session that ended meanwhile are queued for revocation.
    ///
    /// - Returns: the session; nil if it ended meanwhile, or another one began.
    private func saveInPlace(_ renewed: SessionRecord, _ facts: SessionFacts) throws(TokenKeepError) -> SessionFacts? {
        let transaction = try SessionTransaction(storage, Renewal.saving.leasing(facts.lease))
        let noted = try storage.note()
        let note = noted ?? facts.note
        let present = try self.present(note, facts, transaction.call)
        guard note.epoch == facts.note.epoch, isLive(present, noted, facts) else {
            options.explain?("the session ended meanwhile: the new tokens are not used")
            try transaction.queue(renewed, facts.level, note, unlessOf: present)
            return nil
        }
        // The profile may have been replaced meanwhile.
        var record = present ?? renewed
        if present != nil { try record.replaceTokens(by: renewed) }
        try transaction.apply(
            .renewed(
                record, level: present == nil ? facts.level ?? AccessLevel(rawValue: note.level) : nil,
                // An extension answers no refresh: the token of a refresh without an answer is still not to be sent.
                answersRefresh: !isExtension || renewed.refreshToken != facts.record?.refreshToken),
            to: facts.note)
        var saved = facts
        saved.record = record
        // Under the lock: a later change has another mark.
        saved.mark = storage.mark
        return saved
    }

    /// The record in its place; nil if there is none, or if it cannot be read.
    func present(
        _ note: SessionNote, _ facts: SessionFacts, _ call: CallContext
    ) throws(TokenKeepError) -> SessionRecord? {
        let item: TokenItem?
        do throws(TokenKeepError) {
            item = try storage.item(call)
        } catch {
            // A sign-in that was cut short may have replaced the record, and a change of the profile may have.
            guard note.nextEpoch.isEmpty, storage.isUnchanged(since: facts) else { throw error }
            return nil
        }
        return try item.map { item throws(TokenKeepError) in try SessionRecord(item.secret, now: options.clock()) }
    }

    /// Whether the session of the facts goes on. Without a note, a record that is gone was cleared by a logout, unless
    /// nobody has changed the session.
    private func isLive(_ present: SessionRecord?, _ noted: SessionNote?, _ facts: SessionFacts) -> Bool {
        present.map { $0.epoch == facts.note.epoch } ?? (noted != nil || storage.isUnchanged(since: facts))
    }

    /// The server refuses the refresh token, or wants the user: another program may have renewed it, else the session is
    /// over.
    private func ended(
        _ reason: SessionReason, _ words: String, _ facts: SessionFacts, _ before: SessionRecord
    ) throws(TokenKeepError) -> Result? {
        let present = try storage.read(Renewal.saving)
        let known = try present.record.map { record throws(TokenKeepError) in
            try storage.joined(record, Renewal.saving)
        }
        if let record = known, record.refreshToken != before.refreshToken {
            options.explain?("the server refused the token, and another process has saved a newer one")
            return Result(facts: present, record: record)
        }
        guard try end(reason, facts, words: words) else { return nil }
        throw storage.ended(reason, words, of: before)
    }

    /// Notes that the user must sign in again. The record stays.
    ///
    /// - Returns: false if it ended meanwhile, or another one began.
    func end(_ reason: SessionReason, _ facts: SessionFacts, words: String = "") throws(TokenKeepError) -> Bool {
        let noted = try SessionTransaction(storage, Renewal.saving).apply(.over(reason, words), to: facts.note)
        guard noted != nil else { return false }
        options.explain?("the session is over: \(reason.word ?? "")\(words.isEmpty ? "" : ": \(words)")")
        return true
    }
}
