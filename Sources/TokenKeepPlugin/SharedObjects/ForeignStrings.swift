import Glibc
import TokenKeepCore
internal import TokenKeepHeaders

/// Reads texts and items from a module's memory.
enum ForeignStrings {
    /// A text of a module as one line for the user, with invalid UTF-8 repaired; nil for NULL.
    static func line(_ text: UnsafePointer<CChar>?) -> String? {
        guard let text else { return nil }
        let bytes = UnsafeRawBufferPointer(start: text, count: strnlen(text, 512))
        return ForeignText.line(String(decoding: bytes, as: UTF8.self))
    }

    /// The first bytes, at most 512, of a text in the module's memory. They are not copied, so the buffer is valid only
    /// until the module frees the text.
    static func raw(_ text: UnsafePointer<CChar>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text, count: strnlen(text, 512))
    }

    /// Copies a text of at most `limit` bytes; nil for NULL. Reads at most one byte beyond the limit.
    ///
    /// - Throws: ``Status/corrupt`` if the text is longer or is not UTF-8.
    static func text(
        _ text: UnsafePointer<CChar>?, _ field: String, atMost limit: Int
    ) throws(TokenKeepError) -> String? {
        guard let text else { return nil }
        let length = strnlen(text, limit + 1)
        guard length <= limit else { throw .foreign("a \(field) longer than \(limit) bytes") }
        guard let string = String(validating: UnsafeRawBufferPointer(start: text, count: length), as: UTF8.self) else {
            throw .foreign("a \(field) that is not UTF-8")
        }
        return string
    }

    /// Copies those fields of a module's structure that both the module and this host know. The other fields are zero.
    ///
    /// - Parameter least: the minimum size in bytes: up to the last required field of the first version.
    static func copy<Structure>(
        _ source: UnsafeRawPointer, size: Int, least: Int, into structure: inout Structure
    ) -> Bool {
        guard size >= least, size <= Int(TOKENKEEP_MODULE_ROOM) else { return false }
        withUnsafeMutableBytes(of: &structure) { target in
            target.copyMemory(
                from: UnsafeRawBufferPointer(start: source, count: min(size, target.count)))
        }
        return true
    }
}

extension AnsweredItem {
    /// Copies the item out of a module's structure and the memory that the structure points to.
    init(
        _ pointer: UnsafePointer<tokenkeep_module_item>?, withSecret: Bool
    ) throws(TokenKeepError) {
        guard let pointer else { throw .foreign("NULL for an item") }
        var item = tokenkeep_module_item()
        let size = UnsafeRawPointer(pointer).loadUnaligned(as: Int.self)
        let least = 56  // up to `secret_length`
        guard ForeignStrings.copy(pointer, size: size, least: least, into: &item) else {
            throw .foreign("an item with an impossible struct_size")
        }
        namespace = try ForeignStrings.text(item.name_space, "namespace", atMost: Limits.namespace)
        service = try ForeignStrings.text(item.service, "service", atMost: Limits.service)
        account = try ForeignStrings.text(item.account, "account", atMost: Limits.account)
        label = try ForeignStrings.text(item.label, "label", atMost: Limits.label)
        if withSecret { secret = try AnsweredItem.secret(of: item) }
        accessLevel = item.accessibility
        flags = item.flags
        createdAt = item.created_at
        modifiedAt = item.modified_at
        expiresAt = item.expires_at
        attributes = try AnsweredItem.attributes(of: item)
    }

    private static func secret(
        of item: tokenkeep_module_item
    ) throws(TokenKeepError) -> SecretBytes {
        guard item.secret != nil || item.secret_length == 0 else { throw .foreign("NULL for a secret") }
        // size_t is Int in Swift, so a length beyond Int.max is negative here.
        guard (0...Limits.secret).contains(item.secret_length) else {
            throw .foreign("a secret longer than \(Limits.secret) bytes")
        }
        return try SecretBytes(
            copying: UnsafeRawBufferPointer(start: item.secret, count: item.secret_length))
    }

    private static func attributes(
        of item: tokenkeep_module_item
    ) throws(TokenKeepError) -> [(name: String, value: String)] {
        guard (0...Limits.attributeCount).contains(item.attribute_count),
            item.attributes != nil || item.attribute_count == 0
        else {
            throw .foreign("attributes that are none")
        }
        var attributes: [(name: String, value: String)] = []
        for index in 0..<item.attribute_count {
            guard let attribute = item.attributes?[index],
                let name = try ForeignStrings.text(attribute.name, "attribute", atMost: Limits.attributeName),
                let value = try ForeignStrings.text(attribute.value, "value", atMost: Limits.attributeValue)
            else { throw .foreign("an attribute without a name or value") }
            attributes.append((name, value))
        }
        return attributes
    }
}
