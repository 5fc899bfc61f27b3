import TokenKeepCore

extension ItemWriting {
    /// Removes every copy of an item that is not locked.
    ///
    /// - Parameter sparesOthers: whether foreign items of the same name are kept.
    /// - Throws: ``Status/locked`` if some copies may be locked. The other copies are removed nevertheless.
    func clear(
        _ name: ItemName, ifVersion version: UInt64?, sparesOthers: Bool = false
    ) throws(TokenKeepError) -> Bool {
        link.paths[name] = nil
        var findings = try search.findEverywhere(name, secret: version != nil)
        let (opened, hidden) = try locks.unlockHidden(
            findings.locked, asksCollection: findings.ours.isEmpty, found: findings.best != nil,
            subject: name.description)
        if opened { findings = try search.findEverywhere(name, secret: version != nil) }
        if findings.best == nil, let hidden { throw hidden }
        if let version {
            let present = try reading.answer(findings, name).map { (item) throws(TokenKeepError) in
                try reading.read(item, as: name, findings.secrets).details
            }
            try SaveRequest.check(version: version, of: name, present: present)
        }
        mark.hasWritten = true
        try remove(sparesOthers ? findings.ours : findings.ours + findings.foreign, name, isClear: true)
        guard hidden == nil, findings.locked.isEmpty else { throw ServiceFailure.locked(name.description) }
        sealing.forget(name, in: module, everywhere: true)
        return findings.best != nil
    }

    /// Deletes items. An item that is already gone is not an error.
    ///
    /// - Parameter isClear: whether the caller is a clear that has changed nothing before. If every reply then names a
    ///   prompt, nothing is deleted until the user answers, so the mark says that no change was sent.
    func remove(_ items: [StoredItem], _ name: ItemName, isClear: Bool = false) throws(TokenKeepError) {
        guard !items.isEmpty else { return }
        let replies = try exchange(items.map { item($0.path, "Delete", answerType: "(o)") })
        if isClear, replies.allSatisfy(ItemWriting.asks) { mark.hasWritten = false }
        let searches = sealing.searches(for: name)
        for (item, reply) in zip(items, replies) {
            if try search.isGone(reply, item.path, of: searches, subject: name.description) { continue }
            guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "clear", name.description) }
            guard let prompt = body[0].text.flatMap(ObjectPath.init) else { continue }
            _ = try locks.complete(prompt, for: name.description, reason: .deleting)
        }
    }

    /// Whether a reply names a prompt that the user must answer before the service deletes the item.
    private static func asks(_ reply: Reply) -> Bool {
        guard case .answer(let body) = reply, let prompt = body[0].text.flatMap(ObjectPath.init) else { return false }
        return !prompt.isNone
    }
}
