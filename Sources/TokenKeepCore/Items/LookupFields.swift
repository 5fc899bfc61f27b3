/// The metadata that a client of the Secret Service gave an item: attributes for searches, content type, label.
///
/// Unlike in ``ItemAttributes``, names and values may be any UTF-8 text, because D-Bus allows any.
package struct LookupFields: Sendable, Equatable {
    /// The maximum number of attributes of one item.
    package static let attributeCount = 256
    /// The maximum length of an attribute's name, in bytes.
    package static let attributeName = 255
    /// The maximum length of an attribute's value, in bytes.
    package static let attributeValue = 16_384
    /// The maximum length of all names and values of one item together, in bytes.
    ///
    /// Smaller than the maximum size of a record's metadata, because other metadata of the item need space, too.
    package static let attributesLength = 49_152
    /// The maximum length of a content type, in bytes.
    package static let contentTypeLength = 255
    /// The maximum length of a label, in bytes.
    package static let labelLength = 4096

    /// The attributes by which clients find the item.
    package let attributes: [String: String]
    /// The content type of the secret, with its parameters, as the client gave it. May be empty.
    package var contentType: String
    /// The client's label if it exceeds the limits of the item's own label; nil if the item's own label is used.
    package var label: String?
    /// The item's identifier on the bus, 32 hexadecimal digits; nil if the identifier is computed from the item's name.
    package var itemID: String?

    /// Checks the limits of the fields.
    ///
    /// - Throws: ``Status/invalid`` if a field exceeds its limit.
    package init(
        attributes: [String: String], contentType: String, label: String? = nil, itemID: String? = nil
    ) throws(TokenKeepError) {
        guard attributes.count <= LookupFields.attributeCount else {
            throw TokenKeepError(.invalid, "the item has more than \(LookupFields.attributeCount) lookup attributes")
        }
        var length = 0
        for (name, value) in attributes {
            guard name.utf8.count <= LookupFields.attributeName else {
                throw LookupFields.tooLong("name of a lookup attribute", LookupFields.attributeName)
            }
            guard value.utf8.count <= LookupFields.attributeValue else {
                throw LookupFields.tooLong("value of a lookup attribute", LookupFields.attributeValue)
            }
            length += name.utf8.count + value.utf8.count
        }
        guard length <= LookupFields.attributesLength else {
            throw TokenKeepError(
                .invalid, "the lookup attributes are longer than \(LookupFields.attributesLength) bytes together")
        }
        guard contentType.utf8.count <= LookupFields.contentTypeLength else {
            throw LookupFields.tooLong("content type", LookupFields.contentTypeLength)
        }
        guard (label ?? "").utf8.count <= LookupFields.labelLength else {
            throw LookupFields.tooLong("label", LookupFields.labelLength)
        }
        self.attributes = attributes
        self.contentType = contentType
        self.label = label
        self.itemID = itemID
    }

    private static func tooLong(_ field: String, _ limit: Int) -> TokenKeepError {
        TokenKeepError(.invalid, "the \(field) is longer than \(limit) bytes")
    }
}
