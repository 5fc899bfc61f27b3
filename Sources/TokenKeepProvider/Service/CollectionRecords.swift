import TokenKeepCore

extension Provider {
    /// The name of a collection's record.
    func recordName(of collection: IndexedCollection) throws(Refusal) -> ItemName {
        guard let name = Provider.recordName(ofCollection: collection.id) else {
            throw .noSuchObject("there is no collection \(collection.id)")
        }
        return name
    }

    /// Saves a collection's record, and then calls `completion` with true. If the save fails, sends the error as the
    /// call's reply, and calls `completion` with false.
    func saveCollection(
        _ name: ItemName, _ label: String, _ message: BusMessage, _ completion: @escaping (Bool) -> Void
    ) {
        ask(
            on: name.service, for: message,
            { [writer] () throws(TokenKeepError) in
                try writer.save(
                    name, try SecretBytes(""), label: label, lookup: try LookupFields(attributes: [:], contentType: ""))
            },
            orElse: { completion(false) }
        ) { [self] details in
            wrote(name, details)
            completion(true)
        }
    }
}
