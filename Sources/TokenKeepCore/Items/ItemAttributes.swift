/// The attributes that an application gives an item: names and values, checked and sorted by name.
///
/// Attributes are metadata, not secrets: a module may store them unencrypted, so that other programs can read them.
public struct ItemAttributes: Sendable, Hashable {
    /// Names and values, sorted by the bytes of the names. Each name occurs once.
    public let pairs: [(name: String, value: String)]

    /// A list without attributes.
    public static let none = ItemAttributes()

    private init() { pairs = [] }

    /// Checks the limits of the attributes, and sorts the attributes by name.
    ///
    /// - Throws: ``Status/invalid`` if there are more than ``Limits/attributeCount`` attributes; if a name is empty,
    ///   too long, given twice or not made of `[a-z0-9._-]`; if a value exceeds its limits.
    public init(_ pairs: [(name: String, value: String)]) throws(TokenKeepError) {
        guard !pairs.isEmpty else {
            self = .none
            return
        }
        guard pairs.count <= Limits.attributeCount else {
            throw TokenKeepError(.invalid, "the item has more than \(Limits.attributeCount) attributes")
        }
        for pair in pairs {
            try Limits.check(pair.name, field: "attribute name", atLeast: 1, atMost: Limits.attributeName)
            guard pair.name.utf8.allSatisfy(ItemAttributes.isNameByte) else {
                throw TokenKeepError(.invalid, "the attribute name \"\(pair.name)\" is not of a-z, 0-9, '.', '_', '-'")
            }
            try Limits.check(
                pair.value, field: "value of attribute \"\(pair.name)\"", atMost: Limits.attributeValue)
        }
        let ordered = pairs.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        for (left, right) in zip(ordered, ordered.dropFirst()) where left.name == right.name {
            throw TokenKeepError(.invalid, "the attribute \"\(left.name)\" is given twice")
        }
        self.pairs = ordered
    }

    /// The value of the attribute with this name; nil if there is none.
    public subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    /// Two lists of attributes are equal if they have the same names and values.
    public static func == (left: ItemAttributes, right: ItemAttributes) -> Bool {
        left.pairs.elementsEqual(right.pairs) { $0 == $1 }
    }

    /// Hashes the names and values of all attributes in the list.
    public func hash(into hasher: inout Hasher) {
        for pair in pairs {
            hasher.combine(pair.name)
            hasher.combine(pair.value)
        }
    }

    /// Whether the name of an attribute or a module may contain this byte: `[a-z0-9._-]`.
    public static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
