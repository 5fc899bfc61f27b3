public import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// Epochs: 128 random bits for each sign-in.
enum SessionEpoch {
    static func make() -> String { Hexadecimal.text(RandomBytes.make(16)) }
}

extension Session {
    /// Begins a session with the server's token response, as it came. A present session of the account is replaced by
    /// one write; a guest so becomes a user.
    ///
    /// The first session of a service becomes the active one.
    ///
    /// - Parameter revokesReplaced: whether the token of the replaced session is put into the outbox, to be revoked at
    ///   the server. A replaced session that cannot be read is not revoked.
    /// - Throws: ``Status/invalid`` or ``Status/unsupported`` for a response that is none; nothing has changed then.
    public func begin(
        _ kind: SessionKind, response: SecretBytes, revokesReplaced: Bool = false
    ) throws(TokenKeepError) {
        try begin(kind, response: response, revokesReplaced: revokesReplaced, signInSince: nil)
    }

    /// ``begin(_:response:revokesReplaced:)`` at the end of a sign-in.
    ///
    /// - Parameter start: what the sign-in found at its beginning. The tokens of a session that another sign-in has begun
    ///   since are put into the outbox; nil for none.
    package func begin(
        _ kind: SessionKind, response: SecretBytes, revokesReplaced: Bool, signInSince start: SignInStart?
    ) throws(TokenKeepError) {
        let tokens = try response.withUnsafeBytes { bytes throws(TokenKeepError) in try TokenResponse.strict(bytes) }
        try begin(kind, tokens, isFromServer: true) { replaced in
            let isRival = start.map {
                SignInRules.isRival(replaced.epoch, replaced.generation, replaced.life.obtained, since: $0)
            }
            return revokesReplaced || isRival == true
        }
    }

    /// Whether ``begin(_:response:revokesReplaced:)``, which failed, has certainly left no session with a token: then the
    /// token may be revoked.
    package func hasCertainlyNot(begunWith token: SecretBytes, after failure: TokenKeepError) -> Bool {
        do throws(TokenKeepError) {
            let view = try withoutPrompts.read(
                CallContext(deadline: Deadline(milliseconds: options.timeoutMilliseconds)))
            return [view.record, view.foreign?.record].allSatisfy { $0?.accessToken != token }
        } catch {
            // A place that refused the record has not got it.
            return error.status == .locked && failure.status == .locked
        }
    }

    /// Begins a user's session with a bare access token, which cannot be renewed. A byte order mark, white space and the
    /// word `Bearer` around the token are left out.
    ///
    /// - Throws: ``Status/invalid`` if the rest is empty, or has characters that no token has.
    public func begin(rawToken: SecretBytes) throws(TokenKeepError) {
        guard let token = try TokenResponse.bareToken(rawToken) else {
            throw TokenKeepError(
                .invalid, "the token is empty, or has characters that no token has",
                hint: "pass on the token alone: no quotes, no JSON, no header")
        }
        try begin(.user, TokenResponse(accessToken: token, refreshToken: nil, expiresIn: nil))
    }

    /// Begins a user's session with tokens from elsewhere. Both must be given.
    ///
    /// - Parameter expiresIn: seconds; nil if unknown.
    /// - Throws: ``Status/invalid`` if a token is empty or malformed.
    public func hydrate(
        accessToken: SecretBytes, refreshToken: SecretBytes, expiresIn: Int64?
    ) throws(TokenKeepError) {
        guard TokenResponse.isToken(accessToken), TokenResponse.isToken(refreshToken) else {
            throw TokenKeepError(.invalid, "both tokens must be given, without control characters")
        }
        if let expiresIn, expiresIn < 0 { throw TokenKeepError(.invalid, "expires_in is negative") }
        try begin(.user, TokenResponse(accessToken: accessToken, refreshToken: refreshToken, expiresIn: expiresIn))
    }

    private func begin(
        _ kind: SessionKind, _ response: TokenResponse, isFromServer: Bool = false,
        revokes: ((SessionRecord) -> Bool)? = nil
    ) throws(TokenKeepError) {
        let call = try begin()
        // The token of a session that ended while it was locked would be overwritten.
        try? finishEnd()
        let epoch = SessionEpoch.make()
        let record = try SessionRecord(
            kind, response, epoch: epoch, vault: Session.text(of: store.records.openOrMake(call)),
            provider: options.provider, now: options.clock())
        func replace(_ session: Session, keepsPrevious: Bool) throws(TokenKeepError) {
            let lock = try session.changeLock(call)
            let present = revokes == nil ? nil : session.signedInRecord(call)
            let replaced = present.flatMap { revokes?($0.record) == true ? $0 : nil }
            try session.write(
                record, epoch: epoch, level: options.level, isFromServer: isFromServer, keepsPrevious: keepsPrevious,
                call)
            // The new session stands, whatever becomes of the old token.
            if let replaced { try? session.queue(replaced.record, replaced.level, replaced.note, unlessOf: record) }
            _ = consume lock
        }
        do throws(TokenKeepError) {
            try prompting(call) { session throws(TokenKeepError) in try replace(session, keepsPrevious: true) }
        } catch {
            // The new session must not depend on the old refresh token, which may stay locked or unreadable.
            guard try note()?.refreshLevel ?? 0 != 0, !call.deadline.isCancelled, error.status != .busy else {
                throw error
            }
            try replace(withoutPrompts, keepsPrevious: false)
        }
        try Sessions(store).activateIfNoneIs(name, call)
    }

    /// The record of the present session with its refresh token, its level and its note; nil if nobody is signed in, or the
    /// record cannot be read.
    private func signedInRecord(
        _ call: CallContext
    ) -> (record: SessionRecord, level: AccessLevel?, note: SessionNote)? {
        // Without a record, live(_:) would read the note of every account for its hint.
        guard let view = try? read(call, finishes: false), view.record != nil, let record = try? live(view),
            let joined = try? joined(record, call)
        else { return nil }
        return (joined, view.level, view.note)
    }

    /// Writes the record of a new epoch, under the change lock: note, record, note. A crash leaves the old or the new
    /// session, never neither. A refresh token of its own is written before the record, with the present one beside it.
    ///
    /// - Parameter keepsPrevious: whether a present refresh token that cannot be read is an error. Else its item stays until
    ///   the new record is noted, and the new token becomes an item of another account.
    func write(
        _ record: SessionRecord, epoch: String, level: AccessLevel?, isFromServer: Bool = false,
        keepsPrevious: Bool = true, _ call: CallContext
    ) throws(TokenKeepError) {
        try record.adopt(epoch: epoch)
        let known = try note()
        let before = known ?? SessionNote()
        let refreshLevel = try separateLevel(of: record, level, before)
        let place = try refreshLevel.map { level throws(TokenKeepError) in
            let place = try refreshPlace(before, needsPresent: keepsPrevious, call)
            try record.separate((place.account, level))
            return place
        }
        if place == nil { try record.separate(nil) }
        try changeNote(call) { note in
            note.nextEpoch = epoch
            if let refreshLevel { note.refreshLevel = refreshLevel.rawValue }
            note.refreshItems |= self.refreshItemBit(place?.account)
            return true
        }
        try saveSignIn(record, epoch, (level, refreshLevel), place, after: known, call)
        let now = options.clock()
        try changeNote(call) { note in
            let (known, rotation) = (note.level, note.rotation)
            note = self.note(of: record, epoch: epoch, after: note, now: now)
            note.level = level?.rawValue ?? (known == 0 ? AccessLevel.afterFirstUnlock.rawValue : known)
            note.rotation = self.options.rotation ?? rotation
            note.validatedAt = isFromServer ? now.wall : 0
            return true
        }
        slots.change(id)
        dropPreviousRefreshToken(record, refreshLevel, before, place?.previous, call)
    }

    /// Saves the items of a sign-in. If one is refused, nothing stays of the sign-in.
    private func saveSignIn(
        _ record: SessionRecord, _ epoch: String, _ levels: (session: AccessLevel?, refresh: AccessLevel?),
        _ place: RefreshPlace?, after known: SessionNote?, _ call: CallContext
    ) throws(TokenKeepError) {
        var isApart = false
        do throws(TokenKeepError) {
            try saveRefreshToken(of: record, level: levels.refresh, previous: place?.previous, call)
            isApart = place != nil
            try saveItem(record, level: levels.session, call)
        } catch {
            if SignInRules.isRefused(error.status) {
                try? withdrawSignIn(epoch, to: known, isApart ? place : nil, call)
            }
            throw error
        }
    }

    /// Takes back the note of a sign-in that was refused, and its refresh token.
    ///
    /// - Parameter place: the place that has the refresh token; nil if none has it.
    private func withdrawSignIn(
        _ epoch: String, to known: SessionNote?, _ place: RefreshPlace?, _ call: CallContext
    ) throws(TokenKeepError) {
        if let place, place.previous == nil { try dropRefreshItems([place.account], call) }
        let before = known ?? SessionNote()
        try changeNote(call) { note in
            guard note.nextEpoch == epoch else { return false }
            note.nextEpoch = before.nextEpoch
            note.refreshLevel = before.refreshLevel
            note.refreshItems = before.refreshItems
            if known == nil { note.state = .signedOut }
            return true
        }
        slots.change(id)
    }

    /// Drops the refresh token of the earlier sign-in. After a failure a later call drops it, or the next refresh.
    private func dropPreviousRefreshToken(
        _ record: SessionRecord, _ level: AccessLevel?, _ before: SessionNote, _ previous: RefreshItem.Entry?,
        _ call: CallContext
    ) {
        let replaced = refreshAccounts(before).filter { $0 != record.refreshItem }
        if !replaced.isEmpty { try? dropRefreshItems(replaced, call) }
        if previous != nil { try? saveRefreshToken(of: record, level: level, previous: nil, call) }
    }

    /// The level of the refresh token's own item; nil if the record has the token.
    ///
    /// - Throws: ``Status/invalid`` if the level that the options name is not stricter than that of the session.
    private func separateLevel(
        of record: SessionRecord, _ level: AccessLevel?, _ note: SessionNote
    ) throws(TokenKeepError) -> AccessLevel? {
        let level = level ?? AccessLevel(rawValue: note.level) ?? .afterFirstUnlock
        guard let asked = options.refreshLevel else {
            let known = AccessLevel(rawValue: note.refreshLevel)
            return known.flatMap { $0.isStricter(than: level) && record.canRenew ? $0 : nil }
        }
        guard asked != .memoryOnly else {
            throw TokenKeepError(.invalid, "the refresh token of a session cannot be memory-only")
        }
        guard asked != level else { return nil }
        guard asked.isStricter(than: level) else {
            throw TokenKeepError(
                .invalid, "the level \(asked.word) of the refresh token is not stricter than \(level.word)",
                hint: "when-unlocked is stricter than after-first-unlock; this-device-only is stricter than not")
        }
        return record.canRenew ? asked : nil
    }

    /// The session's profile, which the application keeps beside the tokens: a JSON object; nil if none was set.
    public func profile() throws(TokenKeepError) -> SecretBytes? { try live(read(begin())).profile() }

    /// Replaces the session's profile by a JSON object of at most 64 KiB.
    ///
    /// - Throws: ``Status/invalid`` if it is none, ``Status/notFound`` if nobody is signed in.
    public func setProfile(_ profile: SecretBytes) throws(TokenKeepError) {
        let call = try begin()
        _ = try live(read(call))
        try prompting(call) { session throws(TokenKeepError) in
            let lock = try session.changeLock(call)
            let record = try session.live(session.read(call, finishes: false))
            try profile.withUnsafeBytes { bytes throws(TokenKeepError) in try record.setProfile(bytes) }
            try session.save(record, level: nil, call)
            slots.change(id)
            if try stash.read() != nil { try session.noteThatStashIsSaved(call) }
            try stash.drop()
            _ = consume lock
        }
    }

    /// Locks the session for a short change.
    ///
    /// - Throws: ``Status/busy``.
    func changeLock(_ call: CallContext) throws(TokenKeepError) -> SessionLock {
        guard let lock = try SessionLock.acquire(.change, of: name, store.records, call) else {
            throw TokenKeepError(.busy, "another process is changing the session of \(name)", hint: "try again")
        }
        return lock
    }

    /// Changes the note under the item's lock. `body` returns false to leave it as it is.
    ///
    /// - Parameter known: the note as it was read; takes the place of a note that was damaged since.
    func changeNote(
        _ call: CallContext, else known: SessionNote = SessionNote(), _ body: (inout SessionNote) -> Bool
    ) throws(TokenKeepError) {
        try files.change(.note, of: name, call) { file in
            let present = file.flatMap { try? SessionNote($0.state) }
            var note = present ?? known
            if present == nil { note.logoutMark = .random(in: 1...UInt32.max) }
            return body(&note) ? note.serialized() : nil
        }
    }

    /// Changes the note of the session that `view` shows.
    ///
    /// - Returns: false if that session ended meanwhile, or another one began; nothing has changed then.
    func changeNote(
        of view: SessionView, _ call: CallContext, _ body: (inout SessionNote) -> Void
    ) throws(TokenKeepError) -> Bool {
        try changeNote(of: view.note, call, body)
    }

    /// Changes the note of the session that `known` describes. See ``changeNote(of:_:_:)``.
    func changeNote(
        of known: SessionNote, _ call: CallContext, _ body: (inout SessionNote) -> Void
    ) throws(TokenKeepError) -> Bool {
        var isSame = false
        try changeNote(call, else: known) { note in
            isSame = note.epoch == known.epoch
            if isSame { body(&note) }
            return isSame
        }
        return isSame
    }

    /// Saves the record as the session's item, and before it a refresh token that is an item of its own.
    ///
    /// - Parameters:
    ///   - level: nil for the level that the item has; `refreshLevel` likewise.
    ///   - previous: the refresh token of the earlier sign-in, until this one is noted.
    func save(
        _ record: SessionRecord, level: AccessLevel?, refreshLevel: AccessLevel? = nil,
        previous: RefreshItem.Entry? = nil, _ call: CallContext
    ) throws(TokenKeepError) {
        try saveRefreshToken(of: record, level: refreshLevel, previous: previous, call)
        try saveItem(record, level: level, call)
    }

    /// Saves the record as the session's item.
    private func saveItem(_ record: SessionRecord, level: AccessLevel?, _ call: CallContext) throws(TokenKeepError) {
        let secret = try record.serialized()
        let outcome = try save(secret, as: name, level: level, label: "session of \(name.defaultLabel)", call)
        let waiting = outcome.pendingModules.map { "; it is pending for \($0)" }.joined()
        options.explain?("saved generation \(record.generation) in \(outcome.module)\(waiting)")
    }

    /// Saves an item of the session. If its place is locked, the vault keeps it under its password.
    func save(
        _ secret: SecretBytes, as name: ItemName, level: AccessLevel?, label: String, _ call: CallContext
    ) throws(TokenKeepError) -> SaveOutcome {
        var request = try SaveRequest(name: name, secret: secret, accessLevel: level, label: label)
        request.keepsWhenLocked = true
        return try store.withoutPrompts.save(
            request, until: call.deadline.within(milliseconds: store.timeoutMilliseconds), call.lease)
    }

    /// Saves the record, without the server's other members if it is too long with them.
    func saveShortened(_ record: SessionRecord, level: AccessLevel?, _ call: CallContext) throws(TokenKeepError) {
        if try record.isTooLong() {
            options.explain?("left out members of the server's answer: the record is too long")
            try record.removeExtras()
        }
        try save(record, level: level, call)
    }

    /// Clears the record of a guest whose time is over.
    ///
    /// - Returns: false if the guest became a user meanwhile, or signed out.
    func clearGuest(_ view: SessionView, _ call: CallContext) throws(TokenKeepError) -> Bool {
        let lock = try changeLock(call)
        let isSame = try changeNote(of: view, call) { $0.signOut(.guestExpired) }
        if isSame {
            slots.change(id)
            try store.withoutPrompts.clear(name)
            let items = refreshAccounts(view.note)
            if !items.isEmpty { try dropRefreshItems(items, call) }
        }
        _ = consume lock
        if isSame { try? Sessions(store).deactivate(name, call) }
        return isSame
    }
}
