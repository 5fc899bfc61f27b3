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
        do throws(TokenKeepError) {
            guard try isDefaultCollectionLocked(for: name.description) else { return false }
        } catch {
            guard error.isAbsence, findings.best != nil else { throw error }
            return false
        }
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
    /// - Returns: whether anything was opened, so that it is worth looking again; and what stays hidden.
    func unlockHidden(
        _ locked: [ObjectPath], foundNone: Bool, subject: String
    ) throws(TokenKeepError) -> (opened: Bool, problem: TokenKeepError?) {
        let collection: [ObjectPath] =
            foundNone && locked.isEmpty
            ? try isDefaultCollectionLocked(for: subject) ? [.defaultCollection] : [] : []
        guard !(locked + collection).isEmpty else { return (false, nil) }
        do throws(TokenKeepError) {
            try unlock(locked + collection, subject: subject)
            return (true, nil)
        } catch {
            guard error.status == .locked else { throw error }
            return (false, error)
        }
    }

    /// Whether the collection where new items go is locked.
    func isDefaultCollectionLocked(for subject: String) throws(TokenKeepError) -> Bool {
        let reply = try exchange(
            properties(
                .defaultCollection, "Get", [.string(Conversation.collectionInterface), .string("Locked")],
                answerType: "(v)"))
        if reply.isMissingObject { throw Conversation.noDefaultCollection }
        guard case .answer(let body) = reply, let isLocked = body[0].content?.boolean else {
            throw ServiceFailure.error(reply, "find", subject)
        }
        return isLocked
    }

    static let noDefaultCollection = TokenKeepError(
        .unavailable, "the Secret Service has no default keyring",
        hint: "create one in the keyring's own program, or allow prompts", isAbsence: true)
}
