package import TokenKeepCore
package import TokenKeepKeys

/// The fields of a metadata box.
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
    /// Optional fields, kept unchanged.
    package var kept: [UnknownField] = []

    /// The fields of a metadata box, with level and flags from the record's prefix.
    ///
    /// - Parameter kept: optional fields, kept unchanged.
    package init(details: ItemDetails, kept: [UnknownField] = []) {
        self.details = details
        self.kept = kept
    }

    package static func parse(
        _ bytes: UnsafeRawBufferPointer, level: AccessLevel, flags: ItemFlags
    ) throws(FormatFault) -> MetadataFields {
        var fields = FieldReader(bytes, repeating: [Tag.attribute])
        // Lists, because dictionaries cost a load more than the disk does.
        var texts: [String?] = [nil, nil, nil, nil]
        var numbers: [UInt64?] = [nil, nil, nil, nil]
        var attributes: [(name: String, value: String)] = []
        var kept: [UnknownField] = []
        while let (tag, value) = try fields.next() {
            var reader = ByteReader(value)
            switch tag {
            case Tag.namespace...Tag.label:
                texts[Int(tag - Tag.namespace)] = try reader.text(value.count, "metadata")
            case Tag.createdAt...Tag.version:
                numbers[Int(tag - Tag.createdAt)] = try reader.integer(UInt64.self, "metadata")
                try reader.end()
            case Tag.attribute:
                let length = Int(try reader.integer(UInt8.self, "length of an attribute's name"))
                let name = try reader.text(length, "attribute's name")
                attributes.append((name, try reader.text(reader.remaining, "attribute's value")))
            case FieldReader.firstOptional...: kept.append(try UnknownField(tag: tag, copying: value))
            default: throw .malformed("it has an unknown field \(tag)")
            }
        }
        return MetadataFields(
            details: try details(texts, numbers, attributes, level: level, flags: flags), kept: kept)
    }

    private static func details(
        _ texts: [String?], _ numbers: [UInt64?], _ attributes: [(name: String, value: String)],
        level: AccessLevel, flags: ItemFlags
    ) throws(FormatFault) -> ItemDetails {
        guard let namespace = texts[0], let service = texts[1], let account = texts[2], let label = texts[3],
            let createdAt = numbers[0], let modifiedAt = numbers[1], let version = numbers[3], version != 0
        else { throw .malformed("a field of its metadata is missing") }
        do throws(TokenKeepError) {
            try Limits.check(label, field: "label", atMost: Limits.label)
            let checked = try ItemAttributes(attributes)
            guard checked.pairs.elementsEqual(attributes, by: { $0 == $1 }) else {
                throw TokenKeepError(.invalid, "its attributes are out of order")
            }
            return ItemDetails(
                name: try ItemName(namespace: namespace, service: service, account: account), label: label,
                attributes: checked, accessLevel: level, flags: flags,
                createdAt: UnixTime(Int64(bitPattern: createdAt)),
                modifiedAt: UnixTime(Int64(bitPattern: modifiedAt)),
                expiresAt: numbers[2].map { UnixTime(Int64(bitPattern: $0)) }, version: version,
                module: "vault")
        } catch {
            throw .malformed("its metadata is outside the limits: \(error.message)")
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
        for field in kept { field.write(to: &writer) }
        return writer.bytes
    }
}
