import TokenKeepCore

extension ServiceCall {
    /// Removes every copy of an item that is not locked.
    ///
    /// - Parameter sparesOthers: whether foreign items of the same name stay.
    /// - Throws: ``Status/locked`` if copies may be locked. All other copies are removed all the same.
    func clear(
        _ name: ItemName, ifVersion version: UInt64?, sparesOthers: Bool = false, _ key: ItemVersionKey,
        _ mark: WriteMark
    ) throws(TokenKeepError) -> Bool {
        link.paths[name] = nil
        var findings = try searchEverywhere(name, secret: version != nil)
        let (opened, hidden) = try unlockHidden(
            findings.locked, asksCollection: findings.ours.isEmpty, found: findings.best != nil,
            subject: name.description)
        if opened { findings = try searchEverywhere(name, secret: version != nil) }
        if findings.best == nil, let hidden { throw hidden }
        if let version {
            let present = try findings.best.map { (item) throws(TokenKeepError) in
                try read(item, as: name, findings.secrets, key).details
            }
            try SaveRequest.check(version: version, of: name, present: present)
        }
        mark.hasWritten = true
        try remove(sparesOthers ? findings.ours : findings.ours + findings.foreign, name, mark)
        guard hidden == nil, findings.locked.isEmpty else { throw ServiceFailure.locked(name.description) }
        sealing.forget(name, in: module, everywhere: true)
        return findings.best != nil
    }

    /// Deletes items. An item that is already gone is not an error.
    ///
    /// - Parameter mark: reset if the service answered only with prompts, because nothing is deleted before the user
    ///   answers.
    func remove(_ items: [StoredItem], _ name: ItemName, _ mark: WriteMark? = nil) throws(TokenKeepError) {
        guard !items.isEmpty else { return }
        let replies = try exchange(items.map { item($0.path, "Delete", answerType: "(o)") })
        if replies.allSatisfy(ServiceCall.asks) { mark?.hasWritten = false }
        let searches = searches(for: name)
        for (item, reply) in zip(items, replies) {
            if try isGone(reply, item.path, of: searches, subject: name.description) { continue }
            guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "clear", name.description) }
            guard let prompt = body[0].text.flatMap(ObjectPath.init) else { continue }
            _ = try complete(prompt, for: name.description, reason: .deleting)
        }
    }

    /// Whether a reply names a prompt, which must be answered before the item is deleted.
    private static func asks(_ reply: Reply) -> Bool {
        guard case .answer(let body) = reply, let prompt = body[0].text.flatMap(ObjectPath.init) else { return false }
        return !prompt.isNone
    }
}
