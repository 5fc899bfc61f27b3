import TokenKeepCore

/// An item as a module returned it. Texts have been checked to be UTF-8; nothing else has been checked yet.
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

    /// Checks the item that answers a load.
    ///
    /// - Throws: ``Status/corrupt`` if the module returned another item, or if a part exceeds its limits.
    func item(named name: ItemName, module: String) throws(TokenKeepError) -> TokenItem {
        if namespace != nil || service != nil || account != nil {
            guard try self.name() == name else { throw .foreign("another item than the one that was asked for") }
        }
        guard let secret else { throw .foreign("an item without a secret") }
        return TokenItem(details: try details(of: name, module: module), secret: secret)
    }

    /// Checks an item of a list, and returns its details.
    ///
    /// - Throws: ``Status/corrupt`` if the item does not belong to the list, or if a part exceeds its limits.
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

    /// Runs a check. Replaces the check's error, because its message may quote the module's answer.
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

/// Makes a text from a module safe to show to the user.
enum ForeignText {
    private static let mostBytes = 512

    /// The text as one line of about 512 bytes at most, without control characters.
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
