import Glibc
import TokenKeepCore
import TokenKeepRecords

/// The steps up to the request.
extension Renewal {
    /// A refresh token that may be sent.
    private struct Sending {
        let transport: SessionTransport
        let request: SessionRequest
        let note: SessionNote.Refreshing
    }

    /// Sends the refresh token, under the refresh lock.
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

    /// The facts with the keys that seal the server's answer if the vault is locked meanwhile.
    func withLease(_ facts: SessionFacts) -> SessionFacts {
        var facts = facts
        let levels = [
            facts.level, AccessLevel(rawValue: facts.note.level), AccessLevel(rawValue: facts.note.refreshLevel),
        ]
        facts.lease = storage.store.sealingLease(of: Set(levels.compactMap { $0 }))
        return facts
    }

    /// The permit that notes that a refresh token is about to be sent. Signals that would end the program are held back from then on.
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

    /// The meaning of a transport's error.
    private func fault(_ error: TokenKeepError, _ permit: SendingPermit, _ facts: SessionFacts) throws(Fault) -> Fault {
        switch permit.outcome {
        case .sessionChanged: return .changed
        case .failed(let error): return .failed(error)
        case .notBegun:
            switch error.status {
            case .unavailable: return .notSent(error)
            // The client's secret, which the transport loads.
            case .locked: return .locked(error)
            default: return .failed(error)
            }
        case .noted:
            let isUnsent = error.status == .unavailable
            let action: AnswerRules.Action = isUnsent ? .withdraw : .pause(.unknown, withdraws: false)
            _ = try orFault { () throws(TokenKeepError) in try note(action, Renewal.lostAnswer, facts) }
            return isUnsent ? .notSent(error) : .failed(Renewal.unknown(error.message, error.hint))
        }
    }

    /// Disk space for the server's answer, found before anything is sent.
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

    /// The request, if the refresh token may be sent.
    ///
    /// - Throws: ``Status/unsupported`` without a transport, and as ``checkSending(_:_:_:isRejected:)``.
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
            // The answer counts until then, whatever the caller's deadline is.
            deadline: Deadline(milliseconds: options.answerLimit))
        return Sending(
            transport: transport, request: request,
            note: SessionNote.Refreshing(
                fingerprint: fingerprint, since: earlier?.since ?? options.clock(),
                process: UInt32(bitPattern: getpid())))
    }

    /// An earlier refresh with the same token whose answer is lost.
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

    /// - Throws: ``Status/unavailable`` if the access token is to be used to its end, ``Status/needsLogin`` if the newer
    ///   tokens are lost.
    private func checkSending(
        _ earlier: SessionNote.Refreshing?, _ facts: SessionFacts, _ record: SessionRecord, isRejected: Bool
    ) throws(TokenKeepError) {
        let now = options.clock()
        let request = earlier.map {
            SendingRules.EarlierRequest(
                age: TokenLife(obtained: $0.since).age(at: now), isAnswered: $0.isAnswered)
        }
        // A resource that refuses its own token says nothing about that of the sign-in.
        let isOver = isRejected && target == nil || record.life.left(at: now) == 0
        switch SendingRules.decide(request, rotation(of: facts), isAccessTokenOver: isOver) {
        case .send: return
        case .useAccessToken:
            // An answer that came gave no tokens: nothing was lost.
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
