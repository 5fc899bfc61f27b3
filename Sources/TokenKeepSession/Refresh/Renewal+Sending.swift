import Glibc
import TokenKeepCore
import TokenKeepRecords

/// The steps of a renewal until the request is sent.
extension Renewal {
    /// A request with a refresh token that may be sent, its transport, and the entry for the note that announces it.
    private struct Sending {
        let transport: SessionTransport
        let request: SessionRequest
        let note: SessionNote.Refreshing
    }

    /// Sends the refresh token, and saves the answer. The caller holds the refresh lock.
    func send(_ facts: SessionFacts, _ record: SessionRecord, isRejected: Bool) throws(Fault) -> Result {
        let facts = withLease(facts)
        let (sending, space) = try orFault { () throws(TokenKeepError) in
            let sending = try prepare(facts, record, isRejected: isRejected)
            let space = try reserve(for: record)
            try call.deadline.checkCancellation()
            return (sending, space)
        }
        let permit = makePermit(sending.note, facts.note, generation: record.generation)
        defer { if case .notBegun = permit.outcome {} else { options.whileSending?(false) } }
        var request = sending.request
        request.permit = permit
        request.sendBy = call.deadline
        let sent = options.clock()
        let response: SessionResponse
        do throws(TokenKeepError) {
            if !options.transportNotesSending { try permit.begin() }
            response = try sending.transport(request)
        } catch {
            throw try fault(error, permit, facts)
        }
        space.release()
        return try follow(response, sent: sent, facts, record, sending.note)
    }

    /// Adds to `facts` copies of the keys that encrypt the server's answer even if the vault is locked meanwhile.
    func withLease(_ facts: SessionFacts) -> SessionFacts {
        var facts = facts
        let levels = [
            facts.level, AccessLevel(rawValue: facts.note.level), AccessLevel(rawValue: facts.note.refreshLevel),
        ]
        facts.lease = storage.store.sealingLease(of: Set(levels.compactMap { $0 }))
        return facts
    }

    /// Makes a permit. When sending begins, it writes durably into the note that the refresh token is about to be sent.
    /// From then on, the program holds back signals that would end it.
    private func makePermit(
        _ refreshing: SessionNote.Refreshing, _ known: SessionNote, generation: UInt64
    ) -> SendingPermit {
        SendingPermit { [storage, call, options] () throws(TokenKeepError) in
            options.whileSending?(true)
            let noted = try SessionTransaction(storage, call).apply(.sending(refreshing), to: known)
            guard noted != nil else { return false }
            options.explain?("noted that the token is about to be sent")
            options.explain?("sends the refresh token of generation \(generation)")
            return true
        }
    }

    /// Converts a transport's error to a fault, according to whether the request may have been sent.
    private func fault(_ error: TokenKeepError, _ permit: SendingPermit, _ facts: SessionFacts) throws(Fault) -> Fault {
        switch permit.outcome {
        case .sessionChanged: return .changed
        case .failed(let error): return .failed(error)
        case .notBegun:
            switch error.status {
            case .unavailable: return .notSent(error)
            // The transport may load the client's secret, which can be locked.
            case .locked: return .locked(error)
            default: return .failed(error)
            }
        case .noted:
            if let answer = permit.cutAnswer { keepUnread(answer, facts) }
            let isUnsent = error.status == .unavailable
            let action: AnswerRules.Action = isUnsent ? .withdraw : .pause(.unknown, withdraws: false)
            _ = try orFault { () throws(TokenKeepError) in try note(action, Renewal.lostAnswer, facts) }
            return isUnsent ? .notSent(error) : .failed(Renewal.unknown(error.message, error.hint))
        }
    }

    /// Reserves disk space for the server's answer before the request is sent.
    func reserve(for record: SessionRecord) throws(TokenKeepError) -> ReservedSpace {
        try ReservedSpace(3 * record.serialized().count + 65_536, storage.store.records, call)
    }

    func orFault<Value>(_ body: () throws(TokenKeepError) -> Value) throws(Fault) -> Value {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            throw .failed(error)
        }
    }

    /// Makes the request for a renewal, if the refresh token may be sent.
    ///
    /// - Throws: ``Status/unsupported`` if there is no transport; ``Status/expired`` if there is no refresh token; the
    ///   errors of ``checkSending(_:_:_:isRejected:)``.
    private func prepare(
        _ facts: SessionFacts, _ record: SessionRecord, isRejected: Bool
    ) throws(TokenKeepError) -> Sending {
        let transport = try options.requiredTransport(
            orThrow: "the token of \(storage.name) is to be renewed, and nothing was given that asks the server")
        guard let token = record.refreshToken else {
            guard record.refreshItem != nil else { throw storage.ended(.expired, of: record) }
            throw TokenKeepError(
                .expired, "the refresh token of \(storage.name), an item of its own, is gone",
                hint: storage.signInAgain(of: record))
        }
        let fingerprint = try storage.files.fingerprint(of: token, call)
        let earlier = unanswered(fingerprint, facts, record)
        try checkSending(earlier, facts, record, isRejected: isRejected)
        let request = try SessionRequest(
            .refresh, storage.name, token, isRefreshToken: true, for: target, of: record.provider, storage.store,
            options: options,
            // This deadline applies instead of the caller's, which may be earlier: a lost answer can end the session.
            deadline: Deadline(milliseconds: options.answerLimit))
        return Sending(
            transport: transport, request: request,
            note: SessionNote.Refreshing(
                fingerprint: fingerprint, since: earlier?.since ?? options.clock(),
                process: UInt32(bitPattern: getpid())))
    }

    /// The earlier refresh with the same refresh token whose answer was lost; nil if there is none.
    private func unanswered(
        _ fingerprint: [UInt8], _ facts: SessionFacts, _ record: SessionRecord
    ) -> SessionNote.Refreshing? {
        let noted = facts.note.refreshing
        let generations = SendingRules.Generations(
            record: record.generation, refreshItem: record.refreshGeneration, note: facts.note.generation)
        switch SendingRules.unanswered(generations, isNoted: noted?.fingerprint == fingerprint) {
        case .none: return nil
        case .noted: return noted
        case .isAnswered:
            return SessionNote.Refreshing(
                fingerprint: fingerprint, since: noted?.since ?? options.clock(), process: 0, isAnswered: true)
        }
    }

    /// Checks whether the refresh token may be sent.
    ///
    /// - Throws: ``Status/unavailable`` if an earlier answer is missing and the access token must be used until it
    ///   expires; ``Status/needsLogin`` if newer tokens were lost.
    private func checkSending(
        _ earlier: SessionNote.Refreshing?, _ facts: SessionFacts, _ record: SessionRecord, isRejected: Bool
    ) throws(TokenKeepError) {
        let now = options.clock()
        let request = earlier.map {
            SendingRules.EarlierRequest(
                age: TokenLife(obtained: $0.since).age(at: now), isAnswered: $0.isAnswered)
        }
        // A server that refused the token of a target did not refuse the access token of the sign-in, so that one may
        // still be used.
        let isOver = isRejected && target == nil || record.life.left(at: now) == 0
        switch SendingRules.decide(request, rotation(of: facts), isAccessTokenOver: isOver) {
        case .send: return
        case .useAccessToken:
            // If the note has another problem, the server answered the earlier request without tokens, so no tokens
            // were lost.
            let problem = facts.note.problem
            let isLost = problem.isEmpty || problem == Renewal.lostAnswer
            throw Renewal.unknown(
                isLost ? "the answer to an earlier refresh was lost" : "an earlier refresh gave no tokens: \(problem)",
                "the present token is used to its end")
        case .isLost:
            _ = try end(.rotationLost, facts)
            throw storage.ended(.rotationLost, of: record)
        }
    }
}
