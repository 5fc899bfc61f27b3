import TokenKeepCore

/// Unlocks the items and collections that a call needs.
struct KeyringLocks: ServicePart {
    let whole: ServiceCall

    /// Unlocks the locked items that match. If there are none, unlocks the default collection, because a locked collection
    /// may not list its items.
    ///
    /// - Returns: whether anything was unlocked, so that the caller should search again.
    /// - Throws: ``Status/locked`` if a prompt is needed and not allowed; ``Status/cancelled`` if the
    ///   user dismisses the prompt; ``Status/unavailable``, marked as absent, if there is no default collection.
    func unlock(_ findings: Findings, for name: ItemName) throws(TokenKeepError) -> Bool {
        if !findings.locked.isEmpty {
            try unlock(findings.locked, subject: name.description)
            return true
        }
        guard try isDefaultCollectionLocked(for: name.description, found: findings.best != nil) else { return false }
        try unlock([.defaultCollection], subject: name.description)
        return true
    }

    /// Unlocks items or collections. Services unlock a collection without a password without a prompt.
    func unlock(_ paths: [ObjectPath], subject: String) throws(TokenKeepError) {
        let body = try answer(service("Unlock", [.paths(paths)], answerType: "(aoo)"), to: "unlock", subject)
        guard let prompt = body[1].text.flatMap(ObjectPath.init) else { throw ServiceFailure.locked(subject) }
        _ = try complete(prompt, for: subject)
    }

    /// Unlocks everything that may hide items from a search. Returns an error if something stays locked.
    ///
    /// - Parameters:
    ///   - asksCollection: whether to unlock the default collection as well, because some services hide the items of a
    ///     locked collection.
    ///   - found: whether the search found an item. If so, a missing default collection is not an error.
    /// - Returns: whether anything was unlocked, so that the caller should search again; and the error if it stayed
    ///   locked.
    func unlockHidden(
        _ locked: [ObjectPath], asksCollection: Bool, found: Bool, subject: String
    ) throws(TokenKeepError) -> (opened: Bool, problem: TokenKeepError?) {
        let found = found || !locked.isEmpty
        var collection: [ObjectPath] = []
        if asksCollection, try isDefaultCollectionLocked(for: subject, found: found) {
            collection = [.defaultCollection]
        }
        guard !(locked + collection).isEmpty else { return (false, nil) }
        do throws(TokenKeepError) {
            try unlock(locked + collection, subject: subject)
            return (true, nil)
        } catch {
            guard error.status == .locked else { throw error }
            return (false, error)
        }
    }

    /// Whether the default collection is locked. If there is none, returns false if items were found, and otherwise
    /// throws.
    private func isDefaultCollectionLocked(for subject: String, found: Bool) throws(TokenKeepError) -> Bool {
        do throws(TokenKeepError) {
            return try isDefaultCollectionLocked(for: subject)
        } catch {
            guard error.isAbsence, found else { throw error }
            return false
        }
    }

    /// Whether a reply means that there is no default collection. After an ambiguous reply, the alias `default`
    /// decides.
    func lacksDefaultCollection(_ reply: Reply) throws(TokenKeepError) -> Bool {
        guard reply.mayMeanMissing else { return reply.isMissingObject }
        let alias = try exchange(service("ReadAlias", [.string("default")], answerType: "(o)"))
        guard case .answer(let body) = alias else { return false }
        return body[0].text == "/"
    }

    /// Whether the default collection, in which the service makes new items, is locked.
    func isDefaultCollectionLocked(for subject: String) throws(TokenKeepError) -> Bool {
        let reply: Reply
        if let early = whole.early?.takeLockReply() {
            reply = early
        } else {
            reply = try exchange(KeyringLocks.isDefaultCollectionLocked(of: link.owner))
        }
        if try lacksDefaultCollection(reply) { throw KeyringLocks.noDefaultCollection }
        guard case .answer(let body) = reply, let isLocked = body[0].content?.boolean else {
            throw ServiceFailure.error(reply, "find", subject)
        }
        return isLocked
    }

    /// The call that queries whether a service's default collection is locked.
    static func isDefaultCollectionLocked(of owner: String) -> MethodCall {
        MethodCall(
            destination: owner, path: .defaultCollection, interface: "org.freedesktop.DBus.Properties", member: "Get",
            body: .tuple([.string(ServiceCall.collectionInterface), .string("Locked")]), answerType: "(v)")
    }

    static let noDefaultCollection = TokenKeepError(
        .unavailable, "the Secret Service has no default keyring",
        hint: "create one in the keyring's own program, or allow prompts (--interactive)", isAbsence: true)
}
