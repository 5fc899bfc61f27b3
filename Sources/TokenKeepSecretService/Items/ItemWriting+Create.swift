import TokenKeepCore

extension ItemWriting {
    /// Makes an item and returns its path; nil if a prompt made the item and reported no path.
    func create(_ writing: Writing, _ secret: Variant) throws(TokenKeepError) -> ObjectPath? {
        let details = writing.details
        let subject = details.name.description
        let attributes = ItemCoding.attributes(of: details, as: writing.form)
        let create = collection(
            "CreateItem",
            [
                .properties([
                    ("\(ServiceCall.itemInterface).Label", .string(details.label)),
                    ("\(ServiceCall.itemInterface).Attributes", .strings(attributes)),
                ]), secret, .boolean(false),
            ], answerType: "(oo)")
        var reply = try exchange(create)
        if try locks.lacksDefaultCollection(reply) {
            try createDefaultCollection()
            reply = try exchange(create)
        }
        guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, "save", subject) }
        if let path = body[0].text.flatMap(ObjectPath.init), !path.isNone { return path }
        guard let prompt = body[1].text.flatMap(ObjectPath.init), !prompt.isNone else {
            throw TokenKeepError(.corrupt, "the Secret Service saved \(subject) and does not say where")
        }
        let reason: PromptReason = try createsUnasked(subject) ? .nothing : .unlocking
        return try locks.complete(prompt, for: subject, reason: reason)?.text.flatMap(ObjectPath.init)
    }

    /// Whether the service makes a new item without a dialog even though it replies with a prompt.
    ///
    /// KeePassXC does so while it is unlocked.
    private func createsUnasked(_ subject: String) throws(TokenKeepError) -> Bool {
        guard !call.promptsAllowed, try link.isKeePassXC(until: deadline) else { return false }
        return try !locks.isDefaultCollectionLocked(for: subject)
    }

    /// Makes a default collection, because the service has none. The service prompts the user for a password.
    private func createDefaultCollection() throws(TokenKeepError) {
        guard call.promptsAllowed else { throw KeyringLocks.noDefaultCollection }
        let properties = Variant.properties([("\(ServiceCall.collectionInterface).Label", .string("Default keyring"))])
        let body = try answer(
            service("CreateCollection", [properties, .string("default")], answerType: "(oo)"), to: "create",
            "a default keyring")
        guard let prompt = body[1].text.flatMap(ObjectPath.init) else { throw KeyringLocks.noDefaultCollection }
        _ = try locks.complete(prompt, for: "a default keyring")
    }
}
