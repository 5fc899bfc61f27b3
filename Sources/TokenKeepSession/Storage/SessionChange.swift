import TokenKeepCore

/// A change of a session's note, record or stash. ``SessionTransaction/apply(_:to:)`` writes the change.
enum SessionChange {
    /// A refresh token is about to be sent.
    case sending(SessionNote.Refreshing)
    /// The server certainly did not use the refresh token. The note's entry about the request is set back to its
    /// earlier value.
    case withdrawn(to: SessionNote)
    /// An answer had no tokens. `withdrawnTo` is the note before the request if the server certainly did not use the
    /// refresh token, otherwise nil.
    case failed(AnswerRules.Failure, String, withdrawnTo: SessionNote?)
    /// The server's answer to a request other than a refresh demands a wait.
    case coolDown(AnswerRules.Failure, String)
    /// The server has accepted the access token.
    case validated
    /// The user must sign in again. The text is the server's error message. The record is kept.
    case over(SessionReason, String)
    /// The access token was refused, and cannot be renewed. The record is kept.
    case expired
    /// The server has sent new tokens.
    ///
    /// - Parameters:
    ///   - level: the new level of the session's item; nil keeps the present level.
    ///   - answersRefresh: false for an extension of the session, which sent no refresh token.
    case renewed(SessionRecord, level: AccessLevel?, answersRefresh: Bool)
    /// The tokens were written to the stash. `isShared` is false if only this process can read the stash; `present` is
    /// the fingerprint of the refresh token among them.
    case stashed(SessionRecord, isShared: Bool, present: [UInt8]?)
    /// The tokens of the stash were saved in this record; nil if the record already had them.
    case stashSaved(SessionRecord?)
    /// The application's profile was replaced. `savesStash` is true if the record may also have the tokens of the
    /// stash.
    case profile(SessionRecord, savesStash: Bool)
    /// The record keeps a server's answer that could not be read.
    case unread(SessionRecord)
    /// A sign-in is about to be written.
    case beginning(epoch: String, refreshLevel: AccessLevel?, item: UInt8)
    /// A sign-in was written.
    case begun(SessionRecord, epoch: String, level: AccessLevel?, RotationProfile?, isFromServer: Bool, item: UInt8)
    /// Saving a sign-in was refused. The note is the one from before the sign-in; nil if there was no note.
    case refused(epoch: String, SessionNote?)
    /// A record that the note does not describe was taken over as the session.
    case takenOver(SessionRecord, level: AccessLevel, vault: String?, item: UInt8)
    /// A guest's token has expired.
    case guestOver
    /// The user signed out, here or by an order from another machine.
    case signedOut(isLocal: Bool, SessionReason)
    /// The record of an ended session was cleared. `epoch` is the epoch of that session; empty if it had no epoch.
    case ended(epoch: String)
    /// Items of refresh tokens were cleared. The value has their bits in ``SessionNote/refreshItems``.
    case dropped(UInt8)

    /// The record to be saved, and the new level of its item (nil keeps the level); nil if the change saves no record.
    var saved: (record: SessionRecord, level: AccessLevel?)? {
        switch self {
        case .renewed(let record, let level, _): (record, level)
        case .stashSaved(let record): record.map { ($0, nil) }
        case .profile(let record, _), .unread(let record): (record, nil)
        default: nil
        }
    }

    /// Whether members of the server's answer may be left out of a record that is too long.
    var mayBeShortened: Bool {
        switch self {
        case .renewed, .stashSaved: true
        default: false
        }
    }

    /// Whether the change makes other processes read the session again.
    var isSeen: Bool {
        switch self {
        case .sending, .withdrawn, .failed, .coolDown, .validated, .unread, .beginning, .ended, .dropped: false
        case .over, .expired, .renewed, .stashed, .stashSaved, .profile, .begun, .refused, .takenOver, .guestOver,
            .signedOut:
            true
        }
    }

    /// Whether the note must survive a loss of power as soon as it is written. After a record was cleared
    /// (``ended(epoch:)``), losing the note is harmless: a later call only looks again for tokens that are gone. But if
    /// the ended session had no epoch, that call could take another program's later session for the ended session.
    var isKeptAtOnce: Bool { if case .ended(let epoch) = self { epoch.isEmpty } else { true } }

    /// Whether the stash is emptied after the change, because the saved record has its tokens or newer ones.
    var dropsStash: Bool {
        switch self {
        case .renewed, .profile: true
        default: false
        }
    }

    /// Applies the change to the note.
    ///
    /// - Returns: false if the note is unchanged.
    func apply(to note: inout SessionNote, at now: SessionTime) -> Bool {
        switch self {
        case .sending(let refreshing): note.refreshing = refreshing
        case .withdrawn(let earlier): note.refreshing = earlier.refreshing
        case .failed(let failure, let problem, let withdrawn):
            note.coolDown(after: failure, problem, now: now)
            if let withdrawn { note.refreshing = withdrawn.refreshing }
        case .coolDown, .validated: return applyToLive(&note, at: now)
        case .over(let reason, let words): note.end(reason, words)
        case .expired: (note.state, note.reason) = (.needsLogin, .expired)
        case .renewed(let record, _, let answersRefresh): note.renew(record, answersRefresh: answersRefresh, now: now)
        case .stashed(let record, let isShared, let present):
            note.stash(record, isShared: isShared, present, now: now)
        case .profile(_, savesStash: false), .unread: return false
        case .stashSaved, .profile:
            guard note.isStashed else { return false }
            note.isStashed = false
            note.refreshing = nil
        case .beginning, .begun, .refused, .takenOver: return applySignIn(to: &note, at: now)
        case .guestOver: note.signOut(.guestExpired)
        case .signedOut(let isLocal, let reason): note.logOut(reason, isLocal: isLocal)
        case .ended: note.endedEpoch = nil
        case .dropped(let items):
            guard note.refreshItems & items != 0 else { return false }
            note.refreshItems &= ~items
            if note.refreshItems == 0 { note.refreshLevel = 0 }
        }
        return true
    }

    private func applyToLive(_ note: inout SessionNote, at now: SessionTime) -> Bool {
        guard note.state == .user || note.state == .guest else { return false }
        if case .coolDown(let failure, let problem) = self {
            // The problem of a failed refresh is kept until the server sends tokens. A refusal is kept only until its
            // own pause ends, because in the new pause a refresh is delayed and not refused.
            let isPast = note.refusal != nil && note.coolDown(at: now) == nil
            let isFree = note.problem.isEmpty || note.problem.hasPrefix(SessionNote.asksToWait)
            note.coolDown(after: failure, isFree || isPast ? problem : note.problem, now: now)
        } else {
            note.validatedAt = now.wall
        }
        return true
    }

    private func applySignIn(to note: inout SessionNote, at now: SessionTime) -> Bool {
        switch self {
        case .beginning(let epoch, let refreshLevel, let item):
            note.nextEpoch = epoch
            if let refreshLevel { note.refreshLevel = refreshLevel.rawValue }
            note.refreshItems |= item
        case .begun(let record, let epoch, let level, let rotation, let isFromServer, let item):
            let before = note
            note = SessionNote(record, epoch: epoch, item: item, after: before, now: now)
            note.level = level?.rawValue ?? (before.level == 0 ? AccessLevel.afterFirstUnlock.rawValue : before.level)
            note.rotation = rotation ?? before.rotation
            note.validatedAt = isFromServer ? now.wall : 0
            note.beginNow(now)
        case .refused(let epoch, let known):
            guard note.nextEpoch == epoch else { return false }
            let before = known ?? SessionNote()
            note.nextEpoch = before.nextEpoch
            note.refreshLevel = before.refreshLevel
            note.refreshItems = before.refreshItems
            if known == nil { note.state = .signedOut }
        case .takenOver(let record, let level, let vault, let item):
            let belonging = RepairRules.belonging(ofEpoch: record.epoch, vault: record.vault, to: note, in: vault)
            guard let epoch = record.epoch, belonging == .next else { return false }
            note = SessionNote(record, epoch: epoch, item: item, after: note, now: now)
            note.level = level.rawValue
            note.beginNow(now)
        default: return false
        }
        return true
    }
}

extension SessionNote {
    fileprivate mutating func beginNow(_ now: SessionTime) {
        signedInAt = now.wall
        signedInMilliseconds = SessionTime.milliseconds(since: now.wall)
    }

    /// The time at which the session began, in milliseconds since 1970 by this machine's clock; nil if unknown.
    package var signedIn: Int64? {
        guard signedInAt != 0 else { return nil }
        let (seconds, isBeyond) = signedInAt.multipliedReportingOverflow(by: 1000)
        let (time, isOver) = seconds.addingReportingOverflow(Int64(signedInMilliseconds))
        return isBeyond || isOver ? nil : time
    }

    /// Creates the note of a live record. Takes the logout mark and the refresh token items from the present note.
    ///
    /// - Parameter item: the bit of the record's refresh token item; 0 if there is no such item.
    init(_ record: SessionRecord, epoch: String, item: UInt8, after present: SessionNote, now: SessionTime) {
        self.init()
        kind = record.kind
        state = record.kind == .guest ? .guest : .user
        self.epoch = epoch
        provider = record.provider ?? ""
        refreshLevel = record.refreshLevel == 0 ? present.refreshLevel : record.refreshLevel
        refreshItems = present.refreshItems | item
        logoutMark = present.logoutMark
        update(record, now: now)
    }

    /// Copies the generation, scope, expiry and renewal time of a record.
    private mutating func update(_ record: SessionRecord, now: SessionTime) {
        generation = record.generation
        canRenew = record.canRenew
        scope = record.scope ?? ""
        expiresAt = record.life.end(at: now) ?? 0
        refreshAt = expiresAt == 0 ? 0 : expiresAt - record.life.margin
    }

    fileprivate mutating func renew(_ record: SessionRecord, answersRefresh: Bool, now: SessionTime) {
        update(record, now: now)
        validatedAt = now.wall
        isStashed = false
        guard answersRefresh else { return }
        refreshing = nil
        endCoolDown()
    }

    fileprivate mutating func stash(
        _ record: SessionRecord, isShared: Bool, _ present: [UInt8]?, now: SessionTime
    ) {
        // Two cases: the answer had no new refresh token, so the one that was sent stays valid; or it had one, so the
        // one that was sent must never be sent again, even if a restart loses the stash.
        if let present, refreshing?.fingerprint == present {
            refreshing = nil
        } else {
            refreshing?.isAnswered = true
        }
        guard isShared else { return }
        update(record, now: now)
        isStashed = true
    }

    fileprivate mutating func end(_ reason: SessionReason, _ words: String) {
        state = .needsLogin
        self.reason = reason
        refreshing = nil
        endCoolDown()
        problem = words
    }

    /// Ends the session. The note gets a new epoch, so that the ended session's record is ignored.
    fileprivate mutating func signOut(_ reason: SessionReason) {
        state = .signedOut
        self.reason = reason
        // Work of a guest, such as queued requests, continues after the next sign-in, so the end of a guest session
        // does not change the mark.
        if reason != .guestExpired { logoutMark &+= 1 }
        epoch = SessionEpoch.make()
        nextEpoch = ""
    }

    fileprivate mutating func logOut(_ reason: SessionReason, isLocal: Bool) {
        let ended = endedEpoch ?? epoch
        signOut(reason)
        endedEpoch = ended
        endsLocally = isLocal
        refreshing = nil
        isStashed = false
        canRenew = false
        expiresAt = 0
        refreshAt = 0
    }
}
