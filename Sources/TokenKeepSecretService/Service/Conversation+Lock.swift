import TokenKeepCore

extension Conversation {
    /// Opens what hides an item: locked items that may be it, else the default collection where that is locked.
    ///
    /// - Returns: whether anything was opened, so that it is worth looking again.
    /// - Throws: ``Status/locked`` where that takes a prompt and none is allowed, ``Status/cancelled``;
    ///   ``Status/unavailable``, as an absence, where there is no default collection.
    func unlock(_ findings: Findings, for name: ItemName) throws(TokenKeepError) -> Bool {
        if !findings.locked.isEmpty {
            try unlock(findings.locked, subject: name.description)
            return true
        }
        guard try isDefaultCollectionLocked(for: name.description, found: findings.best != nil) else { return false }
        try unlock([.defaultCollection], subject: name.description)
        return true
    }

    /// Opens items or collections. Asking for it prompts nobody yet, and a collection without a password just opens.
    func unlock(_ paths: [ObjectPath], subject: String) throws(TokenKeepError) {
        let body = try answer(service("Unlock", [.paths(paths)], answerType: "(aoo)"), to: "unlock", subject)
        guard let prompt = body[1].text.flatMap(ObjectPath.init) else { throw ServiceFailure.locked(subject) }
        _ = try complete(prompt, for: subject)
    }

    /// Opens what may hide some items of a search, as far as that goes.
    ///
    /// - Parameters:
    ///   - asksCollection: whether the default collection counts, too: some services show nothing of a locked one.
    ///   - found: whether the search found anything, so that a missing default collection is no failure.
    /// - Returns: whether anything was opened, so that it is worth looking again; and what stays hidden.
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

    /// Whether the collection where new items go is locked; where it is missing, and something was found elsewhere, no.
    private func isDefaultCollectionLocked(for subject: String, found: Bool) throws(TokenKeepError) -> Bool {
        do throws(TokenKeepError) {
            return try isDefaultCollectionLocked(for: subject)
        } catch {
            guard error.isAbsence, found else { throw error }
            return false
        }
    }

    /// Whether an answer says that there is no default collection. A method that is not known is not enough to say so.
    func lacksDefaultCollection(_ reply: Reply) throws(TokenKeepError) -> Bool {
        guard reply.mayMeanMissing else { return reply.isMissingObject }
        let alias = try exchange(service("ReadAlias", [.string("default")], answerType: "(o)"))
        guard case .answer(let body) = alias else { return false }
        return body[0].text == "/"
    }

    /// Whether the collection where new items go is locked.
    func isDefaultCollectionLocked(for subject: String) throws(TokenKeepError) -> Bool {
        let reply = try exchange(
            properties(
                .defaultCollection, "Get", [.string(Conversation.collectionInterface), .string("Locked")],
                answerType: "(v)"))
        if try lacksDefaultCollection(reply) { throw Conversation.noDefaultCollection }
        guard case .answer(let body) = reply, let isLocked = body[0].content?.boolean else {
            throw ServiceFailure.error(reply, "find", subject)
        }
        return isLocked
    }

    static let noDefaultCollection = TokenKeepError(
        .unavailable, "the Secret Service has no default keyring",
        hint: "create one in the keyring's own program, or allow prompts (--interactive)", isAbsence: true)
}
