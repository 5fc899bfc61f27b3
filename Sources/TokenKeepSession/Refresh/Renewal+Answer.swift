import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The steps of a renewal after the server's answer.
extension Renewal {
    /// Determines the meaning of the server's answer, saves its tokens and returns the renewed session.
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

    /// Writes the wait that the server demands into the note. Returns a fault: the wait if this call can wait so long,
    /// otherwise a failure.
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

    /// Carries out the action for an answer that demands no wait.
    ///
    /// - Returns: nil if the session has ended meanwhile, or another session has begun.
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

    /// The part of the request that the server refused, and a hint at the settings that the user should check.
    private func refused(isAboutClient: Bool) -> (what: String, hint: String) {
        guard let target, !isAboutClient else {
            let refusal = isAboutClient ? SessionNote.Refusal.client : .scope
            return (refusal.what, refusal.hint)
        }
        let what =
            target.resource == nil ? "the scope" : target.scope == nil ? "the resource" : "the resource or the scope"
        return (what, "the session's other tokens go on; check --resource and --scope")
    }

    /// Writes into the note that an answer had no tokens, or that a request was not sent.
    ///
    /// - Returns: the length of the pause in which no process asks the server again, in seconds.
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

    /// The server's time from its header Date, and its difference to the wall clock in seconds (0 if it exceeds 10
    /// years).
    func serverClock(_ response: SessionResponse) -> (time: Int64, offset: Int64) {
        HTTPDate.serverClock(response.header("Date") ?? "", wall: options.clock().wall)
    }

    /// Saves the renewed record. If its module is locked or the disk is full, writes it to the stash.
    ///
    /// - Parameter fault: describes why the answer has no access token; nil if it has one.
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
            // The next answer would probably have the same fault, so a pause begins in which no process asks the server
            // again.
            try note(.pause(.asksToWait(nil), withdraws: false), "its answer has no token that can be used", saved)
            if let fault { throw Renewal.unknown(fault, nil) }
            return Result(facts: saved, record: try storage.live(saved), isNew: true)
        }
        return Result(facts: saved, record: try storage.live(saved), isNew: true)
    }

    /// Saves the renewed record in the session's item. If the session has ended meanwhile, queues the tokens for
    /// revocation.
    ///
    /// - Returns: the session; nil if it has ended meanwhile, or another session has begun.
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
        // The tokens are put into the record that is stored now, because another process may have replaced its profile
        // meanwhile.
        var record = present ?? renewed
        if present != nil { try record.replaceTokens(by: renewed) }
        try transaction.apply(
            .renewed(
                record, level: present == nil ? facts.level ?? AccessLevel(rawValue: note.level) : nil,
                // An extension sends no refresh token. Unless its answer has a new one, it says nothing about an
                // earlier refresh whose answer was lost, which stays noted as unanswered.
                answersRefresh: !isExtension || renewed.refreshToken != facts.record?.refreshToken),
            to: facts.note)
        var saved = facts
        saved.record = record
        // The mark is read under the lock, so that it differs from the mark of each later change.
        saved.mark = storage.mark
        return saved
    }

    /// Reads the record in the session's item; nil if there is none, or if it is unreadable and was certainly not
    /// changed.
    func present(
        _ note: SessionNote, _ facts: SessionFacts, _ call: CallContext
    ) throws(TokenKeepError) -> SessionRecord? {
        let item: TokenItem?
        do throws(TokenKeepError) {
            item = try storage.item(call)
        } catch {
            // If the record may have been replaced, by an interrupted sign-in or with a new profile, it must be read,
            // so the error is thrown. Otherwise the record is known.
            guard note.nextEpoch.isEmpty, storage.isUnchanged(since: facts) else { throw error }
            return nil
        }
        return try item.map { item throws(TokenKeepError) in try SessionRecord(item.secret, now: options.clock()) }
    }

    /// Whether the session of `facts` is still live. If both note and record are missing, a logout has removed them, so
    /// the session is live only if the change mark shows that nothing was changed.
    private func isLive(_ present: SessionRecord?, _ noted: SessionNote?, _ facts: SessionFacts) -> Bool {
        present.map { $0.epoch == facts.note.epoch } ?? (noted != nil || storage.isUnchanged(since: facts))
    }

    /// Handles an answer that refuses the refresh token or requires the user. If another process has saved a newer
    /// refresh token, returns its session; otherwise ends the session and throws.
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

    /// Writes into the note that the user must sign in again. Keeps the record.
    ///
    /// - Returns: false if the session has ended meanwhile, or another session has begun.
    func end(_ reason: SessionReason, _ facts: SessionFacts, words: String = "") throws(TokenKeepError) -> Bool {
        let noted = try SessionTransaction(storage, Renewal.saving).apply(.over(reason, words), to: facts.note)
        guard noted != nil else { return false }
        options.explain?("the session is over: \(reason.word ?? "")\(words.isEmpty ? "" : ": \(words)")")
        return true
    }
}
