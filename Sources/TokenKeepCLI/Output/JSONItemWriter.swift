import TokenKeepCore

/// Writes items as JSON text in the layout of ``JSONOutput/text(_:)``, one item at a time and without an encoder.
///
/// An encoder would first build a tree of the whole list, which takes five times as long as listing the items.
struct JSONItemWriter {
    /// The text that ``flush(_:)`` has not written yet. Never contains a secret.
    private(set) var bytes: [UInt8] = []
    private let indentation: Int

    /// Makes a writer for objects that are indented by `indentation` spaces.
    init(indentation: Int) { self.indentation = indentation }

    /// Appends an item as an object without its secret.
    mutating func append(_ item: ItemDetails) {
        appendHead(item)
        appendTail(item)
    }

    /// Appends the members of an item's object that precede the secret. The members of the object are in alphabetical
    /// order.
    mutating func appendHead(_ item: ItemDetails) {
        bytes.append(UInt8(ascii: "{"))
        member("account", item.name.account, isFirst: true)
        key("attributes")
        appendAttributes(item.attributes)
        member("created_at", item.createdAt?.iso8601)
        member("expires_at", item.expiresAt?.iso8601)
        key("flags")
        appendFlags(item.flags.words)
        member("label", item.label)
        member("level", item.accessLevel.word)
        member("modified_at", item.modifiedAt?.iso8601)
        member("module", item.module)
        member("namespace", item.name.namespace)
    }

    /// Appends the rest of the object that ``appendHead(_:)`` began.
    mutating func appendTail(_ item: ItemDetails) {
        member("service", item.name.service)
        // Write the version as a string, because many JSON parsers keep only 53 bits of a number.
        member("version", item.version == 0 ? nil : String(item.version))
        breakLine(0)
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends a member's name and the comma before it. The first member has no comma.
    mutating func key(_ name: String, isFirst: Bool = false, depth: Int = 1) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        breakLine(depth)
        appendString(name)
        append(" : ")
    }

    /// Appends text without escaping it.
    mutating func append(_ text: String) { bytes += text.utf8 }

    /// Passes the text to `body`, and then removes the text from ``bytes``. The memory is reused for later text.
    mutating func flush(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try bytes.withUnsafeBytes(body)
        bytes.removeAll(keepingCapacity: true)
    }

    private mutating func member(_ name: String, _ value: String?, isFirst: Bool = false) {
        key(name, isFirst: isFirst)
        if let value { appendString(value) } else { append("null") }
    }

    private mutating func appendAttributes(_ attributes: ItemAttributes) {
        bytes.append(UInt8(ascii: "{"))
        for (index, pair) in attributes.pairs.sorted(by: { $0.name < $1.name }).enumerated() {
            key(pair.name, isFirst: index == 0, depth: 2)
            appendString(pair.value)
        }
        if !attributes.pairs.isEmpty { breakLine(1) }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func appendFlags(_ words: [String]) {
        bytes.append(UInt8(ascii: "["))
        for (index, word) in words.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            breakLine(2)
            appendString(word)
        }
        if !words.isEmpty { breakLine(1) }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func appendString(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars { JSONEscape.write(scalar) { bytes.append($0) } }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func breakLine(_ depth: Int) {
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indentation + 2 * depth))
    }
}
