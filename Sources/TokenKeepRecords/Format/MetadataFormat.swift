package import TokenKeepCore
package import TokenKeepKeys

/// The fields in the encrypted metadata of a record.
package struct MetadataFields {
    private enum Tag {
        static let namespace: UInt16 = 1
        static let service: UInt16 = 2
        static let account: UInt16 = 3
        static let label: UInt16 = 4
        static let createdAt: UInt16 = 5
        static let modifiedAt: UInt16 = 6
        static let expiresAt: UInt16 = 7
        static let version: UInt16 = 8
        static let attribute: UInt16 = 9
    }

    package var details: ItemDetails
    /// Fields that this version does not know. They are preserved when the metadata is written again.
    package var kept: [UnknownField] = []

    /// Makes the metadata of an item. The level and flags are in the record's unencrypted prefix instead.
    ///
    /// - Parameter kept: fields that this version does not know, to be written unchanged.
    package init(details: ItemDetails, kept: [UnknownField] = []) {
        self.details = details
        self.kept = kept
    }

    package static func parse(
        _ bytes: UnsafeRawBufferPointer, level: AccessLevel, flags: ItemFlags
    ) throws(FormatFault) -> MetadataFields {
        var fields = FieldReader(bytes, repeating: Tag.attribute)
        var found = Found()
        var lookup = LookupFieldsFormat()
        var kept: [UnknownField] = []
        while let (tag, value) = try fields.next() {
            if try lookup.read(tag, value) { continue }
            if tag >= FieldReader.firstOptional {
                kept.append(try UnknownField(tag: tag, copying: value))
            } else {
                var reader = ByteReader(value)
                try found.read(tag, &reader)
            }
        }
        var details = try found.details(level: level, flags: flags)
        details.lookup = try lookup.fields()
        return MetadataFields(details: details, kept: kept)
    }

    /// The known fields that have been parsed so far.
    private struct Found {
        var namespace: String?
        var service: String?
        var account: String?
        var label: String?
        var createdAt: Int64?
        var modifiedAt: Int64?
        var expiresAt: Int64?
        var version: UInt64?
        var attributes: [(name: String, value: String)] = []

        mutating func read(_ tag: UInt16, _ reader: inout ByteReader) throws(FormatFault) {
            switch tag {
            case Tag.namespace: namespace = try reader.text(reader.remaining, "metadata")
            case Tag.service: service = try reader.text(reader.remaining, "metadata")
            case Tag.account: account = try reader.text(reader.remaining, "metadata")
            case Tag.label: label = try reader.text(reader.remaining, "metadata")
            case Tag.createdAt: createdAt = try reader.integer(Int64.self, "metadata")
            case Tag.modifiedAt: modifiedAt = try reader.integer(Int64.self, "metadata")
            case Tag.expiresAt: expiresAt = try reader.integer(Int64.self, "metadata")
            case Tag.version: version = try reader.integer(UInt64.self, "metadata")
            case Tag.attribute:
                let length = Int(try reader.integer(UInt8.self, "length of an attribute's name"))
                let name = try reader.text(length, "attribute's name")
                attributes.append((name, try reader.text(reader.remaining, "attribute's value")))
            default: throw .malformed("it has an unknown field \(tag)")
            }
            try reader.end()
        }

        func details(level: AccessLevel, flags: ItemFlags) throws(FormatFault) -> ItemDetails {
            guard let namespace, let service, let account, let label, let createdAt, let modifiedAt, let version,
                version != 0
            else { throw .malformed("a field of its metadata is missing") }
            do throws(TokenKeepError) {
                try Limits.check(label, field: "label", atMost: Limits.label)
                let checked = try ItemAttributes(attributes)
                guard checked.pairs.elementsEqual(attributes, by: { $0 == $1 }) else {
                    throw TokenKeepError(.invalid, "its attributes are out of order")
                }
                return ItemDetails(
                    name: try ItemName(namespace: namespace, service: service, account: account), label: label,
                    attributes: checked, accessLevel: level, flags: flags, createdAt: UnixTime(createdAt),
                    modifiedAt: UnixTime(modifiedAt), expiresAt: expiresAt.map { UnixTime($0) }, version: version,
                    module: "vault")
            } catch {
                throw .malformed("its metadata is outside the limits: \(error.message)")
            }
        }
    }

    package func serialized() -> [UInt8] {
        var writer = ByteWriter(capacity: 512)
        writer.append(field: Tag.namespace, details.name.namespace.utf8)
        writer.append(field: Tag.service, details.name.service.utf8)
        writer.append(field: Tag.account, details.name.account.utf8)
        writer.append(field: Tag.label, details.label.utf8)
        writer.append(field: Tag.createdAt, integer: details.createdAt?.rawValue ?? 0)
        writer.append(field: Tag.modifiedAt, integer: details.modifiedAt?.rawValue ?? 0)
        if let expiresAt = details.expiresAt { writer.append(field: Tag.expiresAt, integer: expiresAt.rawValue) }
        writer.append(field: Tag.version, integer: details.version)
        for attribute in details.attributes.pairs {
            writer.append(
                field: Tag.attribute,
                [UInt8(attribute.name.utf8.count)] + Array(attribute.name.utf8) + Array(attribute.value.utf8))
        }
        if let lookup = details.lookup { LookupFieldsFormat.write(lookup, to: &writer) }
        for field in kept { field.write(to: &writer) }
        return writer.bytes
    }
}
