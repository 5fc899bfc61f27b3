import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The steps after the request.
extension Renewal {
    /// Takes back the note of a refresh that the server did not carry out.
    func withdraw(_ view: SessionView) throws(TokenKeepError) {
        let earlier = view.note.refreshing
        _ = try session.changeNote(of: view, Renewal.saving) { $0.refreshing = earlier }
    }

    /// Judges the server's answer, and saves its tokens.
    func take(
        _ response: SessionResponse, sent: SessionTime, _ view: SessionView, _ record: SessionRecord,
        _ sending: SessionNote.Refreshing
    ) throws(Fault) -> Result {
        let (serverTime, offset) = serverClock(response)
        let answer = try orFault { () throws(TokenKeepError) in
            try RefreshAnswer.judge(response, to: record.refreshToken, serverTime: serverTime)
        }
        let action = AnswerRules.answered(
            answer,
            AnswerRules.Facts(
                isRepetition: view.note.refreshing?.fingerprint == sending.fingerprint, rotation: rotation(of: view),
                isForTarget: target != nil, isOfAnother: isOfAnother(answer, record)))
        if case .coolDown = answer { throw try coolDown(response.status, action, view) }
        if case .unknown = answer, (200..<300).contains(response.status) { keepUnread(response.body, view) }
        let result = try orFault { () throws(TokenKeepError) in
            try follow(answer, action, sent: sent, offset: offset, view, record)
        }
        guard let result else { throw .changed }
        return result
    }

    /// Notes that the server asks to wait. This call waits itself if the wait is short.
    private func coolDown(
        _ status: Int, _ action: AnswerRules.Action, _ view: SessionView
    ) throws(Fault) -> Fault {
        let problem = "it asks to wait (\(status))"
        let wait = try orFault { () throws(TokenKeepError) in try note(action, problem, view) }
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
        _ view: SessionView, _ record: SessionRecord
    ) throws(TokenKeepError) -> Result? {
        switch answer {
        case .tokens(let tokens):
            if action == .endForAnother { return try endForAnother(tokens, view, record) }
            var renewed = record
            let generation = max(record.generation, record.refreshGeneration) &+ 1
            if let target {
                try renewed.apply(tokens, for: target, generation: generation, now: sent, offset: offset)
            } else {
                try renewed.apply(tokens, generation: generation, now: sent, offset: offset)
            }
            return try save(renewed, of: view, hasToken: tokens.accessToken != nil)
        case .refused(let words), .interaction(let words):
            guard case .end(let reason) = action else { return nil }
            return try ended(reason, words, view, record)
        case .denied(let words, _):
            let problem = "it refuses the client: \(words)"
            options.explain?("the server's answer: \(problem)")
            _ = try note(action, problem, view)
            throw TokenKeepError(
                .denied, "the server refuses the client: \(words)", hint: "check client id, secret and scope")
        case .coolDown: return nil
        case .unknown(let reason):
            _ = try note(action, reason, view)
            options.explain?("the server's answer: \(reason)")
            throw Renewal.unknown(reason, nil)
        }
    }

    /// Notes an answer that gave no tokens. Returns the seconds for which no process asks again.
    private func note(
        _ action: AnswerRules.Action, _ problem: String, _ view: SessionView
    ) throws(TokenKeepError) -> Int64 {
        switch action {
        case .pause(let failure, let withdraws):
            return try noteFailure(failure, problem, withdraws: withdraws, view)
        case .withdraw: try withdraw(view)
        case .save, .endForAnother, .end: break
        }
        return 0
    }

    /// The server's time, by its header Date, and its difference to the wall clock; 0 if that is not believed.
    func serverClock(_ response: SessionResponse) -> (time: Int64, offset: Int64) {
        let wall = options.clock().wall
        let time = response.header("Date").flatMap(HTTPDate.seconds) ?? wall
        let offset = time - wall
        return (time, abs(offset) > 315_576_000 ? 0 : offset)
    }

    /// Saves the renewed record, or stashes it if its place is locked or full.
    func save(
        _ renewed: SessionRecord, of view: SessionView, hasToken: Bool
    ) throws(TokenKeepError) -> Result? {
        let saved: SessionView
        do throws(TokenKeepError) {
            guard let inPlace = try saveInPlace(renewed, view) else { return nil }
            saved = inPlace
        } catch {
            options.explain?("the new tokens cannot be saved: \(error.message)")
            try stash(renewed, view)
            saved = try session.read(Renewal.saving)
        }
        guard hasToken else { throw Renewal.unknown("its answer has no access_token", nil) }
        return Result(view: saved, record: try session.live(saved), isNew: true)
    }

    /// Writes record and note, in this order. The tokens of a session that ended meanwhile are queued for revocation.
    ///
    /// - Returns: the session; nil if it ended meanwhile, or another one began.
    private func saveInPlace(_ renewed: SessionRecord, _ view: SessionView) throws(TokenKeepError) -> SessionView? {
        let call = Renewal.saving.leasing(view.lease)
        let lock = try session.changeLock(call)
        let noted = try session.note()
        let note = noted ?? view.note
        let present = try self.present(note, view, call)
        guard note.epoch == view.note.epoch, isLive(present, noted, view) else {
            options.explain?("the session ended meanwhile: the new tokens are not used")
            try session.queue(renewed, view.level, note, unlessOf: present)
            return nil
        }
        // The profile may have been replaced meanwhile.
        var record = present ?? renewed
        if present != nil { try record.take(renewed) }
        try session.saveShortened(record, level: present == nil ? AccessLevel(rawValue: note.level) : nil, call)
        session.slots.change(session.id)
        let now = options.clock()
        // An extension answers no refresh: the token of a refresh without an answer is still not to be sent.
        let answersRefresh = !isExtension || renewed.refreshToken != view.record?.refreshToken
        // Without the note, the record's generation shows that the answer was saved.
        _ = try? session.changeNote(of: view, call) { note in
            note.update(record, now: now)
            note.validatedAt = now.wall
            note.isStashed = false
            guard answersRefresh else { return }
            note.refreshing = nil
            note.endCoolDown()
        }
        // Once more, for those who watch the note.
        session.slots.change(session.id)
        var saved = view
        saved.record = record
        // Under the lock: a later change has another value.
        saved.slot = session.slots.value(of: session.id)
        try session.stash.drop()
        _ = consume lock
        return saved
    }

    /// The record in its place; nil if there is none, or if it cannot be read.
    func present(
        _ note: SessionNote, _ view: SessionView, _ call: CallContext
    ) throws(TokenKeepError) -> SessionRecord? {
        let item: TokenItem?
        do throws(TokenKeepError) {
            item = try session.item(call)
        } catch {
            // A sign-in that was cut short may have replaced the record, and a change of the profile may have.
            guard note.nextEpoch.isEmpty, isUnchanged(view) else { throw error }
            return nil
        }
        return try item.map { item throws(TokenKeepError) in try SessionRecord(item.secret, now: options.clock()) }
    }

    /// Whether the session of the view goes on. Without a note, a record that is gone was cleared by a logout, unless
    /// nobody has changed the session.
    private func isLive(_ present: SessionRecord?, _ noted: SessionNote?, _ view: SessionView) -> Bool {
        present.map { $0.epoch == view.note.epoch } ?? (noted != nil || isUnchanged(view))
    }

    /// Whether certainly no process has changed the session since it was read.
    private func isUnchanged(_ view: SessionView) -> Bool {
        view.slot.map { $0 == session.slots.value(of: session.id) } ?? false
    }

    /// Keeps the renewed record in the stash until its place opens.
    private func stash(_ renewed: SessionRecord, _ view: SessionView) throws(TokenKeepError) {
        let isShared = try session.stash.write(renewed.serializedForStash())
        session.slots.change(session.id)
        options.explain?(
            isShared
                ? "stashed generation \(renewed.generation) in the kernel until its place opens"
                : "generation \(renewed.generation) is in the memory of this process alone")
        // A refresh token that was replaced is not sent again, even if the stash is gone after a restart.
        let now = options.clock()
        let present = renewed.refreshToken.flatMap { try? session.files.fingerprint(of: $0, Renewal.saving) }
        _ = try? session.changeNote(of: view, Renewal.saving) { note in
            if let present, note.refreshing?.fingerprint == present {
                note.refreshing = nil
            } else {
                note.refreshing?.isAnswered = true
            }
            guard isShared else { return }
            note.update(renewed, now: now)
            note.isStashed = true
        }
        session.slots.change(session.id)
    }

    /// The server refuses the refresh token, or wants the user: another program may have renewed it, else the session is
    /// over.
    private func ended(
        _ reason: SessionReason, _ words: String, _ view: SessionView, _ before: SessionRecord
    ) throws(TokenKeepError) -> Result? {
        let present = try session.read(Renewal.saving)
        let known = try present.record.map { record throws(TokenKeepError) in
            try session.joined(record, Renewal.saving)
        }
        if let record = known, record.refreshToken != before.refreshToken {
            options.explain?("the server refused the token, and another process has saved a newer one")
            return Result(view: present, record: record)
        }
        guard try end(reason, view, words: words) else { return nil }
        throw Session.ended(session.name, reason, words)
    }

    /// Notes that the user must sign in again. The record stays.
    ///
    /// - Returns: false if it ended meanwhile, or another one began.
    func end(_ reason: SessionReason, _ view: SessionView, words: String = "") throws(TokenKeepError) -> Bool {
        let isSame = try session.changeNote(of: view, Renewal.saving) { note in
            note.state = .needsLogin
            note.reason = reason
            note.refreshing = nil
            note.endCoolDown()
            note.problem = words
        }
        guard isSame else { return false }
        session.slots.change(session.id)
        options.explain?("the session is over: \(reason.word ?? "")\(words.isEmpty ? "" : ": \(words)")")
        return true
    }

    /// Notes an answer that gave no tokens, and how long no process asks again.
    ///
    /// - Parameter withdraws: whether the server certainly did not use the refresh token.
    /// - Returns: the seconds.
    func noteFailure(
        _ failure: AnswerRules.Failure, _ problem: String, withdraws: Bool = false, _ view: SessionView
    ) throws(TokenKeepError) -> Int64 {
        let now = options.clock()
        var wait: Int64 = 0
        _ = try session.changeNote(of: view, Renewal.saving) { note in
            note.coolDown(after: failure, problem, now: now)
            if withdraws { note.refreshing = view.note.refreshing }
            wait = note.coolDownUntil - now.wall
        }
        return wait
    }
}
