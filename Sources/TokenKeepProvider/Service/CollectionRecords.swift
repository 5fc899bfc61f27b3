import TokenKeepCore

extension Provider {
    /// Saves a collection's record, and answers a change of its label.
    func saveCollection(_ name: ItemName, _ label: String, _ message: BusMessage) {
        ask(
            on: name.service, for: message,
            { [writer] () throws(TokenKeepError) in
                try writer.save(
                    name, try SecretBytes(""), label: label, lookup: try LookupFields(attributes: [:], contentType: ""))
            }
        ) { [self] details in
            wrote(name, details)
            bus.reply(to: message)
        }
    }
}
