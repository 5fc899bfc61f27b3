import TokenKeepCore

/// Counts what was sent that changes something: what may have been done must not blindly be done again.
final class WriteMark {
    var hasWritten = false
}

/// How many steps a save may take.
enum SaveSteps {
    case any
    /// One: a crash finds the old item or the new one. Whether the user may be asked in the steps of a later save.
    case one(mayAskLater: Bool)
}

/// What a save writes.
struct Writing {
    var details: ItemDetails
    let form: StoredForm
    /// The item in whose place it comes.
    let target: StoredItem?
    /// The attributes that this one is to have; nil where there is none, or it must be made anew.
    let attributes: [String: String]?
}

extension Conversation {
    /// Saves an item in place of the one that is there; returns its version, or nil where it takes more steps.
    func save(
        _ request: SaveRequest, in steps: SaveSteps, _ key: ItemVersionKey, _ mark: WriteMark
    ) throws(TokenKeepError) -> UInt64? {
        if let version = try saveOverUntouched(request, key, mark) { return version }
        let name = request.name
        let changes = link.itemChanges
        let needsPresent = request.precondition != .none
        let findings = try find(name, secret: needsPresent, copies: true)
        if needsPresent {
            let present = try answer(findings, name).map { (item) throws(TokenKeepError) in
                try read(item, as: name, findings.secrets, key).details
            }
            try request.check(present: present)
        }
        let writing = try writing(
            request, over: findings.ours.first ?? findings.foreign.first, isOurs: !findings.ours.isEmpty)
        let target = writing.target
        if let target, writing.attributes == nil { try checkLeaveToReplace(target, name, steps) }
        let isOneStep = isOneStep(writing, findings)
        if case .one = steps, !isOneStep { return nil }
        let secret = try encoded(request.secret, writing)
        let version = key.version(of: writing.details, secret: request.secret)
        mark.hasWritten = true
        link.paths[name] = nil
        if let target, let attributes = writing.attributes {
            let dated = try replace(target, attributes, among: findings, by: writing, secret, isOneStep: isOneStep)
            if isOneStep, !findings.ours.isEmpty { remember(target, name, version, changes, modified: dated) }
        } else {
            let path = try create(writing, secret)
            if let target { try remove([target] + findings.ours.filter { $0.path != target.path }, name) }
            link.paths[name] = path.map { PathCache.Entry(path: $0) }
        }
        if writing.form.sealedBy == nil {
            sealing.forget(name, in: module, everywhere: false)
        } else {
            sealing.sealer?.acknowledge(name, in: module)
        }
        return version
    }

    /// Sets the secret of an item that was read a moment ago, where the service told of no change since and nothing else
    /// is to be changed; nil where the item must be looked for.
    private func saveOverUntouched(
        _ request: SaveRequest, _ key: ItemVersionKey, _ mark: WriteMark
    ) throws(TokenKeepError) -> UInt64? {
        let name = request.name
        guard request.precondition == .none, let entry = link.paths[name], let target = entry.item,
            link.isUntouched(entry), try isOurs(target, name), try isStillThere(target, entry)
        else { return nil }
        let writing = try writing(request, over: target, isOurs: true)
        guard isOneStep(writing, Findings(ours: [target])) else { return nil }
        let secret = try encoded(request.secret, writing)
        link.paths[name] = nil
        mark.hasWritten = true
        let replies = try exchange([item(target.path, "SetSecret", [secret]), modified(target.path)])
        guard replies[0].isAnswer else {
            guard !replies[0].isLoss else { throw ServiceFailure.error(replies[0], "save", name.description) }
            mark.hasWritten = false  // it is gone, or locked by now
            return nil
        }
        // Something changed on the way: whatever the message met there, a search finds what the save must write.
        guard link.isUntouched(entry) else { return nil }
        let version = key.version(of: writing.details, secret: request.secret)
        remember(target, name, version, entry.changes, modified: replies[1], until: entry.freshUntil)
        return version
    }

    /// Whether an item is what it was. The service tells of a new item at the path of one that is gone, but this process may
    /// have stood still and not have read that yet: only what it heard of just now needs no question, whose answer comes
    /// behind everything told before.
    private func isStillThere(_ item: StoredItem, _ entry: PathCache.Entry) throws(TokenKeepError) -> Bool {
        guard entry.heardUntil.hasPassed else { return true }
        let reply = try exchange(attributes(item.path))
        guard case .answer(let body) = reply, let present = body[0].content.flatMap(StoredItem.strings) else {
            return false
        }
        return present == item.attributes && link.isUntouched(entry)
    }

    /// Asks for the date that an item has since its secret was set.
    func modified(_ path: ObjectPath) -> MethodCall {
        properties(path, "Get", [.string(Conversation.itemInterface), .string("Modified")], answerType: "(v)")
    }

    /// Keeps what is known of an item whose secret was set and nothing else.
    private func remember(
        _ target: StoredItem, _ name: ItemName, _ version: UInt64, _ changes: UInt64?, modified reply: Reply?,
        until end: Deadline = Deadline(milliseconds: Conversation.untouchedMilliseconds)
    ) {
        guard let changes, changes == link.itemChanges, case .answer(let body)? = reply,
            let modified = body[0].content?.number
        else { return }
        var item = target
        item.modified = modified
        link.paths[name] = PathCache.Entry(
            path: target.path, item: item, version: version, freshUntil: end, changes: changes)
    }

    /// - Throws: ``Status/policy`` where the item would be kept otherwise than it, or the present one, demands.
    private func writing(
        _ request: SaveRequest, over present: StoredItem?, isOurs: Bool
    ) throws(TokenKeepError) -> Writing {
        let known = present.flatMap { presentDetails(of: $0, for: request) }
        var details = request.details(replacing: known, module: module)
        if isOurs, !request.mayLowerRequirements { try details.checkLowersNothing(of: known, module: module) }
        let vaultID = try sealing.vaultID(for: details, isAcknowledged: request.mayLowerRequirements)
        // Another program's item gets no sealed secret, and stays as it is.
        let target = vaultID != nil && !isOurs ? nil : present
        if let target, !isOurs, request.label == request.name.defaultLabel { details.label = target.label }
        let form = StoredForm(
            isEncoded: vaultID != nil || StoredValue.needsEncoding(request.secret), sealedBy: vaultID)
        return Writing(
            details: details, form: form, target: target,
            attributes: target?.attributes(for: details, as: form, isOurs: isOurs))
    }

    private func encoded(_ secret: SecretBytes, _ writing: Writing) throws(TokenKeepError) -> Variant {
        let isSealed = writing.form.sealedBy != nil
        let stored = isSealed ? try sealing.seal(secret, of: writing.details, call) : secret
        return try link.encode(writing.form.isEncoded ? try StoredValue.encode(stored, in: arena) : stored)
    }

    /// Where the old item will not go without a question, a new one must not stand beside it.
    private func checkLeaveToReplace(
        _ target: StoredItem, _ name: ItemName, _ steps: SaveSteps
    ) throws(TokenKeepError) {
        let mayAsk =
            switch steps {
            case .any: call.promptsAllowed
            case .one(let mayAskLater): mayAskLater
            }
        guard !target.isKeePassXCs || mayAsk else {
            throw ServiceFailure.asksBeforeDeleting("the present item \(name), which this save must")
        }
    }

    /// Whether one message does it: a new item, or a secret set where everything else is as it must be.
    private func isOneStep(_ writing: Writing, _ findings: Findings) -> Bool {
        guard let target = writing.target else { return true }
        let hasTwins = !findings.ours.isEmpty && !findings.foreign.isEmpty && writing.form.sealedBy == nil
        guard let attributes = writing.attributes, findings.ours.count < 2, !hasTwins else { return false }
        return target.hasExactly(attributes) && writing.details.label.utf8.elementsEqual(target.label.utf8)
    }

    /// The details whose level, flags and date a save may keep; an item that cannot be read is replaced all the same.
    private func presentDetails(of item: StoredItem, for request: SaveRequest) -> ItemDetails? {
        try? ItemCoding.details(of: item, name: request.name, module: module)
    }
}
