import TokenKeepCore

/// An item as a module gave it: nothing of it is believed yet but that its texts are UTF-8.
struct AnsweredItem: Sendable {
    var namespace: String?
    var service: String?
    var account: String?
    var label: String?
    var secret: SecretBytes?
    var accessLevel: UInt32 = 0
    var flags: UInt32 = 0
    var createdAt: Int64 = 0
    var modifiedAt: Int64 = 0
    var expiresAt: Int64 = 0
    var attributes: [(name: String, value: String)] = []

    /// The item that was asked for by its name.
    ///
    /// - Throws: ``Status/corrupt`` where it is another, or a part is outside its limits.
    func item(named name: ItemName, module: String) throws(TokenKeepError) -> TokenItem {
        if namespace != nil || service != nil || account != nil {
            guard try self.name() == name else { throw .foreign("another item than the one that was asked for") }
        }
        guard let secret else { throw .foreign("an item without a secret") }
        return TokenItem(details: try details(of: name, module: module), secret: secret)
    }

    /// An item of a list.
    ///
    /// - Throws: ``Status/corrupt`` where nobody asked for it, or a part is outside its limits.
    func details(namespace: String, service: String?, module: String) throws(TokenKeepError) -> ItemDetails {
        let name = try name()
        guard name.isIn(namespace: namespace, service: service) else {
            throw .foreign("an item of another namespace or service")
        }
        return try details(of: name, module: module)
    }

    private func name() throws(TokenKeepError) -> ItemName {
        try AnsweredItem.within("a name") { () throws(TokenKeepError) in
            try ItemName(namespace: namespace ?? "", service: service ?? "", account: account ?? "")
        }
    }

    private func details(of name: ItemName, module: String) throws(TokenKeepError) -> ItemDetails {
        try AnsweredItem.within("a label") { () throws(TokenKeepError) in
            try Limits.check(label ?? "", field: "label", atMost: Limits.label)
        }
        let attributes = try AnsweredItem.within("attributes") { () throws(TokenKeepError) in
            try ItemAttributes(self.attributes)
        }
        let level = accessLevel == 0 ? AccessLevel.afterFirstUnlock : AccessLevel(rawValue: accessLevel)
        guard let level, level != .memoryOnly else { throw .foreign("a level that is none") }
        let flags = ItemFlags(rawValue: self.flags)
        guard ItemFlags.known.isSuperset(of: flags) else { throw .foreign("flags that are none") }
        return ItemDetails(
            name: name, label: label ?? name.defaultLabel, attributes: attributes, accessLevel: level, flags: flags,
            createdAt: try AnsweredItem.time(createdAt), modifiedAt: try AnsweredItem.time(modifiedAt),
            expiresAt: try AnsweredItem.time(expiresAt), module: module)
    }

    private static func time(_ seconds: Int64) throws(TokenKeepError) -> UnixTime? {
        guard seconds >= 0 else { throw .foreign("a time before 1970") }
        return seconds == 0 ? nil : UnixTime(seconds)
    }

    /// The words of `body`'s error may quote the module's answer: they are dropped.
    private static func within<Result>(
        _ part: String, _ body: () throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            throw .foreign("\(part) outside the limits")
        }
    }
}

/// A text that a module wrote for people, fit to be shown.
enum ForeignText {
    private static let mostBytes = 512

    /// One line of at most 512 bytes, without control characters.
    static func line(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            guard line.utf8.count < mostBytes else { break }
            let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
            line.unicodeScalars.append(isControl ? " " : scalar)
        }
        return line
    }
}
