import TokenKeepCore

/// Records whether a call has sent a change. A change that may have happened must not be sent again.
final class WriteMark {
    var hasWritten = false
}

/// The number of messages that a save may take.
enum SaveSteps {
    case any
    /// One message, so that a crash leaves either the old or the new item.
    ///
    /// `mayAskLater` says whether a later save of the same item may prompt the user.
    case one(mayAskLater: Bool)
}

/// The item that a save writes, and the stored item that it overwrites.
struct Writing {
    var details: ItemDetails
    let form: StoredForm
    /// The stored item that the save overwrites; nil for a new item.
    let target: StoredItem?
    /// The target's new attributes; nil if there is no target, or if the save must delete the target and make a new
    /// item.
    let attributes: [String: String]?
}

/// Saves and clears items.
struct ItemWriting: ServicePart {
    let whole: ServiceCall
    /// Computes the versions of items.
    let key: ItemVersionKey
    let mark: WriteMark

    var reading: ItemReading { ItemReading(whole: whole, key: key) }

    /// Saves an item, in place of the existing item, and returns its version; nil if the save needs more than `steps`.
    ///
    /// If the service refuses a secret in a session whose key is not proven, raises the doubt about the session.
    func save(_ request: SaveRequest, in steps: SaveSteps) throws(TokenKeepError) -> UInt64? {
        do throws(TokenKeepError) {
            return try write(request, in: steps)
        } catch {
            if mark.hasWritten, !link.isProven, error.status == .io { doubt.raise() }
            throw error
        }
    }

    private func write(_ request: SaveRequest, in steps: SaveSteps) throws(TokenKeepError) -> UInt64? {
        if let version = try saveOverUntouched(request) { return version }
        let name = request.name
        let changes = link.itemChanges
        // A repeated save overwrites the item of the first attempt, which already met the precondition.
        let needsPresent = request.precondition != .none && !(doubt.isRepetition && mark.hasWritten)
        let found = try search.find(name, secret: needsPresent, copies: true)
        if needsPresent { try compare(found, request) }
        let (findings, fleeting) = try lasting(found)
        let writing = try writing(
            request, over: findings.ours.first ?? findings.foreign.first, isOurs: !findings.ours.isEmpty,
            known: fleeting.first)
        let target = writing.target
        if let target, writing.attributes == nil { try checkLeaveToReplace(target, name, steps) }
        let isOneStep = fleeting.isEmpty && isOneStep(writing, findings)
        if case .one = steps, !isOneStep { return nil }
        let stored = try stored(request.secret, writing)
        let secret = try link.encode(stored)
        let version = key.version(of: writing.details, secret: request.secret)
        mark.hasWritten = true
        link.paths[name] = nil
        if let target, let attributes = writing.attributes {
            let dated = try replace(target, attributes, among: findings, by: writing, secret, isOneStep: isOneStep)
            try verify(stored, at: target.path)
            if isOneStep, !findings.ours.isEmpty { remember(target, name, version, changes, modified: dated) }
        } else {
            let path = try create(writing, secret)
            if let path { try refuseFleeting(path, name.description) }
            if let path { try verify(stored, at: path) }
            if let target { try remove([target] + findings.ours.filter { $0.path != target.path }, name) }
            link.paths[name] = path.map { PathCache.Entry(path: $0) }
        }
        try remove(fleeting, name)
        noteForm(of: writing)
        return version
    }

    /// Reads a saved secret back, unless an earlier secret has already proven the session's key.
    ///
    /// - Throws: ``Status/corrupt`` if the service returns another secret, because the two ends have different session
    ///   keys. In a repetition with a new session, a difference is accepted: another program has written meanwhile.
    private func verify(_ stored: SecretBytes, at path: ObjectPath) throws(TokenKeepError) {
        guard !link.isProven, case .answer(let body) = try exchange(getSecrets([path])),
            let entry = body[0].children.first(where: { $0[0].text == path.text })
        else { return }
        guard try decode(entry[1]) == stored || doubt.isRepetition else {
            doubt.raise()
            throw TokenKeepError(.corrupt, "the Secret Service kept another secret than it was sent")
        }
    }

    /// Checks the save's precondition against the item that a load would return.
    private func compare(_ found: Findings, _ request: SaveRequest) throws(TokenKeepError) {
        let present = try reading.answer(found, request.name).map { (item) throws(TokenKeepError) in
            try reading.read(item, as: request.name, found.secrets).details
        }
        try request.check(present: present)
    }

    /// Records in the vault whether the service's copy of the item is now sealed.
    private func noteForm(of writing: Writing) {
        if writing.form.sealedBy == nil {
            sealing.forget(writing.details.name, in: module, everywhere: false)
        } else {
            sealing.sealer?.acknowledge(writing.details.name, in: module)
        }
    }

    /// Saves over a cached item by setting only its secret; nil if the item must be searched for first.
    ///
    /// Also nil if the service has signalled a change of items, or if the save would change more than the secret.
    private func saveOverUntouched(_ request: SaveRequest) throws(TokenKeepError) -> UInt64? {
        let name = request.name
        guard request.precondition == .none, link.isProven, let entry = link.paths[name], let target = entry.item,
            link.isUntouched(entry), try search.isOurs(target, name), try !isFleeting(target.path),
            try isStillThere(target, entry)
        else { return nil }
        let writing = try writing(request, over: target, isOurs: true)
        guard isOneStep(writing, Findings(ours: [target])) else { return nil }
        let secret = try link.encode(try stored(request.secret, writing))
        link.paths[name] = nil
        mark.hasWritten = true
        let replies = try exchange([item(target.path, "SetSecret", [secret]), modified(target.path)])
        guard replies[0].isAnswer else {
            guard !replies[0].isLoss else { throw ServiceFailure.error(replies[0], "save", name.description) }
            mark.hasWritten = false  // the item is gone or locked by now
            return nil
        }
        // Some item has changed meanwhile, so the caller must search for the item and save again.
        guard link.isUntouched(entry) else { return nil }
        let version = key.version(of: writing.details, secret: request.secret)
        remember(target, name, version, entry.changes, modified: replies[1], until: entry.freshUntil)
        return version
    }

    /// Whether a cached item still exists with the same attributes.
    ///
    /// The service may have deleted the item and made another item at the same path, and this process may not have read
    /// the signals yet. Unless the item was just read, a call is sent: signals that the service sent before the reply
    /// arrive with it.
    private func isStillThere(_ item: StoredItem, _ entry: PathCache.Entry) throws(TokenKeepError) -> Bool {
        guard entry.heardUntil.hasPassed else { return true }
        let reply = try exchange(attributes(item.path))
        guard case .answer(let body) = reply, let present = body[0].content.flatMap(StoredItem.strings) else {
            return false
        }
        return present == item.attributes && link.isUntouched(entry)
    }

    /// Caches an item after a save that set only its secret.
    private func remember(
        _ target: StoredItem, _ name: ItemName, _ version: UInt64, _ changes: UInt64?, modified reply: Reply?,
        until end: Deadline = Deadline(milliseconds: ItemReading.untouchedMilliseconds)
    ) {
        guard let changes, changes == link.itemChanges, case .answer(let body)? = reply,
            let modified = body[0].content?.number
        else { return }
        var item = target
        item.modified = modified
        link.paths[name] = PathCache.Entry(
            path: target.path, item: item, version: version, freshUntil: end, changes: changes)
    }

    /// Prepares a save: the item's details, its stored form and the item to overwrite.
    ///
    /// - Parameter fleeting: TokenKeep's item in the session collection. The save keeps its level if TokenKeep has no
    ///   other item.
    /// - Throws: ``Status/policy`` if a protection requirement of the new or the existing item would not be met.
    private func writing(
        _ request: SaveRequest, over present: StoredItem?, isOurs: Bool, known fleeting: StoredItem? = nil
    ) throws(TokenKeepError) -> Writing {
        let isKnown = isOurs || fleeting != nil
        let known = (isOurs ? present : fleeting ?? present).flatMap { presentDetails(of: $0, for: request) }
        let details = request.details(replacing: known, module: module)
        if isKnown, !request.mayLowerRequirements { try details.checkLowersNothing(of: known, module: module) }
        let vaultID = try sealing.vaultID(for: details, isAcknowledged: request.mayLowerRequirements)
        // A sealed secret is never written into a foreign item, so the foreign item stays unchanged.
        let target = vaultID != nil && !isOurs ? nil : present
        let isEncoded = if vaultID != nil { true } else { try needsEncoding(request.secret) }
        let form = StoredForm(isEncoded: isEncoded, sealedBy: vaultID)
        return Writing(
            details: details, form: form, target: target,
            attributes: target?.attributes(for: details, as: form, isOurs: isOurs))
    }

    /// Whether a secret must be encoded, because the service would change the plain secret, or the plain secret would
    /// damage other items.
    private func needsEncoding(_ secret: SecretBytes) throws(TokenKeepError) -> Bool {
        let (isRisky, isRiskyInKeePassXC) = (
            StoredValue.needsEncoding(secret), StoredValue.needsEncodingInKeePassXC(secret)
        )
        guard isRisky != isRiskyInKeePassXC else { return isRisky }
        return try link.isKeePassXC(until: deadline) ? isRiskyInKeePassXC : isRisky
    }

    /// The bytes that the service stores for a secret: sealed or plain, with or without base64.
    private func stored(_ secret: SecretBytes, _ writing: Writing) throws(TokenKeepError) -> SecretBytes {
        let isSealed = writing.form.sealedBy != nil
        let stored = isSealed ? try sealing.seal(secret, of: writing.details, call) : secret
        return writing.form.isEncoded ? try StoredValue.encode(stored) : stored
    }

    /// Throws if the save must delete the existing item, and the deletion needs a prompt that is not allowed.
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

    /// Whether the save needs only one message: for a new item, or if only the secret changes.
    private func isOneStep(_ writing: Writing, _ findings: Findings) -> Bool {
        guard let target = writing.target else { return true }
        let hasTwins = !findings.ours.isEmpty && !findings.foreign.isEmpty && writing.form.sealedBy == nil
        guard let attributes = writing.attributes, findings.ours.count < 2, !hasTwins else { return false }
        let label = target.label(for: writing.details, isOurs: !findings.ours.isEmpty)
        return target.hasExactly(attributes) && label.utf8.elementsEqual(target.label.utf8)
    }

    /// The details of the existing item, from which the save may copy level, flags and date.
    ///
    /// nil if they are unreadable. The save replaces even an unreadable item.
    private func presentDetails(of item: StoredItem, for request: SaveRequest) -> ItemDetails? {
        try? ItemCoding.details(of: item, name: request.name, module: module)
    }
}
