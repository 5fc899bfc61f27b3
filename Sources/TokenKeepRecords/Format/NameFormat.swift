import TokenKeepCore
import TokenKeepKeys

/// The encoding of an item's name: namespace, service and account, each preceded by its length.
enum NameFormat {
    /// - Parameter mayRemoveService: whether the name may also be that of a pending service removal. Such a name has an
    ///   empty service, and the service to be removed as its account.
    static func parse(
        _ reader: inout ByteReader, mayRemoveService: Bool = false
    ) throws(FormatFault) -> ItemName {
        var parts: [String] = []
        for _ in 0..<3 {
            let length = try reader.integer(UInt32.self, "length of a part of the name")
            parts.append(try reader.text(Int(length), "name"))
        }
        do throws(TokenKeepError) {
            if mayRemoveService, parts[1].isEmpty { return try ItemName(removalOf: parts[2], in: parts[0]) }
            return try ItemName(namespace: parts[0], service: parts[1], account: parts[2])
        } catch {
            throw .malformed("its name is outside the limits: \(error.message)")
        }
    }

    static func serialized(_ name: ItemName) -> [UInt8] {
        var parts = LengthPrefixedBytes()
        for part in [name.namespace, name.service, name.account] { parts.append(part.utf8) }
        return parts.bytes
    }
}
