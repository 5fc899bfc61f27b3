import TokenKeepCore

extension ItemWriting {
    /// Overwrites TokenKeep's item, or the newest foreign item if TokenKeep has none.
    ///
    /// Foreign items beside TokenKeep's item (twins) get the same value. The twins are written first, so that
    /// TokenKeep's item is the newest. If a twin cannot be written, the save still succeeds.
    ///
    /// - Returns: the reply to ``modified(_:)`` if the save took one step; otherwise nil.
    func replace(
        _ target: StoredItem, _ attributes: [String: String], among findings: Findings, by writing: Writing,
        _ secret: Variant, isOneStep: Bool
    ) throws(TokenKeepError) -> Reply? {
        let details = writing.details
        let name = details.name
        // Other programs cannot use a sealed secret, so a sealed secret is not written into their items.
        let twins = findings.ours.isEmpty || writing.form.sealedBy != nil ? [] : findings.foreign
        for twin in twins {
            let attributes = ItemCoding.attributes(of: details, as: writing.form, over: twin, isAdopting: false)
            do throws(TokenKeepError) {
                _ = try overwrite(twin, secret, attributes, label: twin.label, of: name, mayBeGone: true)
            } catch {
                guard ![.unavailable, .timedOut, .cancelled].contains(error.status) else { throw error }
            }
        }
        let dated = try overwrite(
            target, secret, attributes, label: target.label(for: details, isOurs: !findings.ours.isEmpty), of: name,
            mayBeGone: false,
            isDated: isOneStep && link.itemChanges != nil)
        guard !findings.ours.isEmpty else { return nil }
        if findings.foreign.isEmpty { link.paths[name] = PathCache.Entry(path: target.path) }
        try remove(findings.ours.filter { $0.path != target.path }, name)
        return dated
    }

    /// Overwrites one item. Sets the secret before the attributes, so that an interrupted save never leaves an old
    /// token with a new expiry time.
    private func overwrite(
        _ target: StoredItem, _ secret: Variant, _ attributes: [String: String], label: String, of name: ItemName,
        mayBeGone: Bool, isDated: Bool = false
    ) throws(TokenKeepError) -> Reply? {
        let subject = name.description
        let replies = try exchange(
            [item(target.path, "SetSecret", [secret])] + (isDated ? [modified(target.path)] : []))
        let searches = sealing.searches(for: name)
        if mayBeGone, try search.isGone(replies[0], target.path, of: searches, subject: subject) { return nil }
        guard replies[0].isAnswer else { throw ServiceFailure.error(replies[0], "save", subject) }
        var changes: [MethodCall] = []
        if !target.hasExactly(attributes) {
            changes.append(set("Attributes", .strings(target.settable(attributes)), of: target.path))
        }
        if !label.utf8.elementsEqual(target.label.utf8) {
            changes.append(set("Label", .string(label), of: target.path))
        }
        guard !changes.isEmpty else { return replies.last }
        for reply in try exchange(changes) {
            guard case .answer = reply else { throw ServiceFailure.error(reply, "save the attributes of", subject) }
        }
        return nil
    }

    private func set(_ property: String, _ value: Variant, of path: ObjectPath) -> MethodCall {
        properties(path, "Set", [.string(ServiceCall.itemInterface), .string(property), .variant(value)])
    }
}
