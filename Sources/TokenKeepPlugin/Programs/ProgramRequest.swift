import TokenKeepCore

/// The lines of a request to a module's program. See `docs/modules.md`.
struct ProgramRequest {
    /// The maximum number of a secret's bytes on one line: 60 000 characters of base64, well below the limit of 64 KiB.
    private static let piece = 45_000
    /// The bytes of the request.
    let buffer: WipingBuffer

    init(_ operation: String, _ options: PluginOptions, _ call: PluginCall) throws(TokenKeepError) {
        buffer = try WipingBuffer(capacity: 4096)
        try word("tokenkeep", "1")
        try word("operation", operation)
        try word("timeout_ms", String(call.deadline.remainingMilliseconds))
        try word("prompt", call.promptsAllowed ? "yes" : "no")
        for argument in options.arguments { try text("argument", argument) }
    }

    func add(_ name: ItemName) throws(TokenKeepError) {
        try add(namespace: name.namespace, service: name.service)
        try text("account", name.account)
    }

    func add(namespace: String, service: String?) throws(TokenKeepError) {
        try text("namespace", namespace)
        if let service { try text("service", service) }
    }

    func add(_ item: TokenItem) throws(TokenKeepError) {
        let details = item.details
        try add(details.name)
        try text("label", details.label)
        try word("accessibility", String(details.accessLevel.rawValue))
        try word("flags", String(details.flags.rawValue))
        for (key, time) in [
            ("created_at", details.createdAt), ("modified_at", details.modifiedAt), ("expires_at", details.expiresAt),
        ] {
            if let time { try word(key, String(time.rawValue)) }
        }
        for attribute in details.attributes.pairs { try text("attribute.\(attribute.name)", attribute.value) }
        try item.secret.withUnsafeBytes { bytes throws(TokenKeepError) in
            var rest = bytes[...]
            repeat {
                try line("secret+", UnsafeRawBufferPointer(rebasing: rest.prefix(ProgramRequest.piece)))
                rest = rest.dropFirst(ProgramRequest.piece)
            } while !rest.isEmpty
        }
    }

    /// Appends the empty line that ends the request.
    func end() throws(TokenKeepError) { try buffer.append("\n") }

    private func word(_ key: String, _ word: String) throws(TokenKeepError) { try buffer.append("\(key)=\(word)\n") }

    private func text(_ key: String, _ text: String) throws(TokenKeepError) {
        let plain = try WipingBuffer(capacity: text.utf8.count)
        try plain.append(text)
        try line(key, plain.bytes)
    }

    private func line(_ key: String, _ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) {
        try buffer.append("\(key)=")
        let length = Base64Text.length(of: bytes.count)
        Base64Text.encode(bytes, into: try buffer.room(for: length + 1))  // base64 adds a NUL
        buffer.grow(by: length)
        try buffer.append("\n")
    }
}
