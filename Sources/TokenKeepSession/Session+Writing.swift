public import TokenKeepCore
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
    /// - Throws: ``Status/invalid`` or ``Status/unsupported`` for a response that is none; nothing has changed then.
    public func begin(_ kind: SessionKind, response: SecretBytes) throws(TokenKeepError) {
        let tokens = try response.withUnsafeBytes { bytes throws(TokenKeepError) in try TokenResponse.strict(bytes) }
        try begin(kind, tokens, isFromServer: true)
    }

    /// Begins a user's session with a bare access token, which cannot be renewed.
    public func begin(rawToken: SecretBytes) throws(TokenKeepError) {
        guard TokenResponse.isToken(rawToken) else {
            throw TokenKeepError(.invalid, "the token is empty, or has control characters")
        }
        try begin(.user, TokenResponse(accessToken: rawToken, refreshToken: nil, expiresIn: nil))
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
        _ kind: SessionKind, _ response: TokenResponse, isFromServer: Bool = false
    ) throws(TokenKeepError) {
        let call = try begin()
        // The token of a session that ended while it was locked would be overwritten.
        try? finishEnd()
        let epoch = SessionEpoch.make()
        let record = try SessionRecord(
            kind, response, epoch: epoch, provider: options.provider, now: options.clock())
        let lock = try changeLock(call)
        try write(record, epoch: epoch, level: options.level, isFromServer: isFromServer, call)
        _ = consume lock
        try Sessions(store).activateIfNoneIs(name, call)
    }

    /// Writes the record of a new epoch, under the change lock: note, record, note. A crash leaves the old or the new
    /// session, never neither.
    func write(
        _ record: SessionRecord, epoch: String, level: AccessLevel?, isFromServer: Bool = false, _ call: CallContext
    ) throws(TokenKeepError) {
        try record.adopt(epoch: epoch)
        try changeNote(call) { note in
            note.nextEpoch = epoch
            return true
        }
        try save(record, level: level, call)
        let now = options.clock()
        try changeNote(call) { note in
            let (known, rotation) = (note.level, note.rotation)
            note = SessionNote(record, epoch: epoch, nil, now: now)
            note.level = level?.rawValue ?? (known == 0 ? AccessLevel.afterFirstUnlock.rawValue : known)
            note.rotation = self.options.rotation ?? rotation
            note.validatedAt = isFromServer ? now.wall : 0
            return true
        }
        slots.change(id)
    }

    /// The session's profile, which the application keeps beside the tokens: a JSON object; nil if none was set.
    public func profile() throws(TokenKeepError) -> SecretBytes? { try live(read(begin())).profile() }

    /// Replaces the session's profile by a JSON object of at most 64 KiB.
    ///
    /// - Throws: ``Status/invalid`` if it is none, ``Status/notFound`` if nobody is signed in.
    public func setProfile(_ profile: SecretBytes) throws(TokenKeepError) {
        let call = try begin()
        _ = try live(read(call))
        let lock = try changeLock(call)
        let record = try live(read(call, finishes: false))
        try profile.withUnsafeBytes { bytes throws(TokenKeepError) in try record.setProfile(bytes) }
        try save(record, level: nil, call)
        slots.change(id)
        try stash.drop()
        _ = consume lock
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
            var note = file.flatMap { try? SessionNote($0.state) } ?? known
            return body(&note) ? note.serialized() : nil
        }
    }

    /// Changes the note of the session that `view` shows.
    ///
    /// - Returns: false if that session ended meanwhile, or another one began; nothing has changed then.
    func changeNote(
        of view: SessionView, _ call: CallContext, _ body: (inout SessionNote) -> Void
    ) throws(TokenKeepError) -> Bool {
        var isSame = false
        try changeNote(call, else: view.note) { note in
            isSame = note.epoch == view.note.epoch
            if isSame { body(&note) }
            return isSame
        }
        return isSame
    }

    /// Saves the record as the session's item.
    func save(_ record: SessionRecord, level: AccessLevel?, _ call: CallContext) throws(TokenKeepError) {
        let request = try SaveRequest(
            name: name, secret: try record.serialized(), accessLevel: level,
            label: "session of \(name.defaultLabel)",
            expiresAt: nil)
        _ = try store.save(request, until: call.deadline.within(milliseconds: store.timeoutMilliseconds))
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
            try store.clear(service: name.service, account: name.account)
        }
        _ = consume lock
        if isSame { try? Sessions(store).deactivate(name, call) }
        return isSame
    }
}
