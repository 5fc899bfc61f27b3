import TokenKeepCore

/// Parses a program's answer line by line. The answer is untrusted.
final class ProgramAnswer {
    /// The maximum length of a line with its line feed, in bytes.
    static let longestLine = 64 * 1024
    /// The maximum length of an answer, all lines together, in bytes.
    static let longestAnswer = 64 << 20

    private enum Stage { case version, fields, whole }
    private var stage = Stage.version
    private let call: PluginCall
    private let expected: PluginCall.Expected
    private var status: Status?
    private var item: AnsweredItem?
    private var secret: WipingBuffer?
    /// Whether the program keeps running for another request.
    private(set) var keepsRunning = false
    /// The capabilities that the program has reported.
    private(set) var capabilities: PluginCapabilities = []

    init(_ call: PluginCall, _ expected: PluginCall.Expected) {
        self.call = call
        self.expected = expected
    }

    /// Whether the answer's final empty line has arrived.
    var isWhole: Bool { stage == .whole }

    /// Parses the complete lines at the start of the buffer.
    ///
    /// - Throws: ``Status/corrupt`` if a line is invalid.
    func parse(from buffer: WipingBuffer) throws(TokenKeepError) {
        var parsed = 0
        while !isWhole {
            let rest = UnsafeRawBufferPointer(rebasing: buffer.bytes[parsed...])
            guard let end = rest.prefix(ProgramAnswer.longestLine).firstIndex(of: UInt8(ascii: "\n")) else {
                guard rest.count < ProgramAnswer.longestLine else { throw .foreign("a line longer than 64 KiB") }
                break
            }
            try parse(line: UnsafeRawBufferPointer(rebasing: rest[..<end]))
            parsed += end + 1
        }
        guard !isWhole || parsed == buffer.count else { throw .foreign("more than one answer") }
        buffer.removeFirst(parsed)
    }

    /// The items of the answer. Throws the error that the answer reports, or ``Status/corrupt`` for an invalid answer.
    func items() throws(TokenKeepError) -> [AnsweredItem] {
        guard let status else { throw .foreign("no status") }
        if let item, expected == .item, status == .ok { call.answer { (_) in item } }
        return try call.items(after: status, expecting: expected)
    }

    private func parse(line: UnsafeRawBufferPointer) throws(TokenKeepError) {
        if line.isEmpty {
            guard stage == .fields else { throw .foreign("an empty line before its version") }
            try endItem()
            stage = .whole
            return
        }
        guard let equals = line.firstIndex(of: UInt8(ascii: "=")), equals > 0, equals <= 96,
            line[..<equals].allSatisfy({ ItemAttributes.isNameByte($0) || $0 == UInt8(ascii: "+") })
        else { throw .foreign("a line that is not key=value") }
        let key = String(decoding: line[..<equals], as: UTF8.self)
        let value = UnsafeRawBufferPointer(rebasing: line[(equals + 1)...])
        if stage == .version {
            guard key == "tokenkeep", value.elementsEqual("1".utf8) else { throw .foreign("another version than 1") }
            stage = .fields
            return
        }
        try parse(key, value)
    }

    private func parse(_ key: String, _ value: UnsafeRawBufferPointer) throws(TokenKeepError) {
        if ["status", "message", "keep"].contains(key) { try once(key, &said) }
        switch key {
        case "status": status = try ProgramAnswer.status(value)
        case "message":
            let text = try WipingBuffer(capacity: value.count)
            try ProgramAnswer.decode(value, into: text)
            call.set(error: text.bytes)
        case "note": call.addRemark(try line(value))
        case "keep": keepsRunning = value.elementsEqual("yes".utf8)
        case "capability": try report(capability: value)
        case "item":
            try endItem()
            item = AnsweredItem()
            (isList, described) = (true, [])
        case "secret+": try parse(secret: value)
        default: try parse(field: key, value)
        }
    }

    private var isList = false
    private var said: Set<String> = []
    private var described: Set<String> = []

    private func once(_ key: String, _ keys: inout Set<String>) throws(TokenKeepError) {
        guard keys.insert(key).inserted else { throw .foreign("two lines of \(key)") }
    }

    /// The protocol's names of an item's fields, except those of attributes.
    private static let fields: Set<String> = [
        "namespace", "service", "account", "label", "accessibility", "flags", "created_at", "modified_at", "expires_at",
    ]

    private func parse(field key: String, _ value: UnsafeRawBufferPointer) throws(TokenKeepError) {
        // Ignore other keys, because a later version of the protocol may define them.
        guard ProgramAnswer.fields.contains(key) || key.hasPrefix("attribute.") else { return }
        try once(key, &described)
        var item = self.item ?? AnsweredItem()
        switch key {
        case "namespace": item.namespace = try text(value, Limits.namespace)
        case "service": item.service = try text(value, Limits.service)
        case "account": item.account = try text(value, Limits.account)
        case "label": item.label = try text(value, Limits.label)
        case "accessibility": item.accessLevel = try ProgramAnswer.number(value)
        case "flags": item.flags = try ProgramAnswer.number(value)
        case "created_at": item.createdAt = try ProgramAnswer.number(value)
        case "modified_at": item.modifiedAt = try ProgramAnswer.number(value)
        case "expires_at": item.expiresAt = try ProgramAnswer.number(value)
        default:
            guard item.attributes.count < Limits.attributeCount else { throw .foreign("too many attributes") }
            item.attributes.append(
                (String(key.dropFirst("attribute.".count)), try text(value, Limits.attributeValue)))
        }
        self.item = item
    }

    private func parse(secret value: UnsafeRawBufferPointer) throws(TokenKeepError) {
        guard expected == .item else { throw .foreign("a secret that nobody asked for") }
        let secret: WipingBuffer
        if let begun = self.secret { secret = begun } else { secret = try WipingBuffer(capacity: 256) }
        self.secret = secret
        try ProgramAnswer.decode(value, into: secret)
        guard secret.count <= Limits.secret else { throw .foreign("a secret longer than \(Limits.secret) bytes") }
        item = item ?? AnsweredItem()
    }

    /// Completes the item that the lines so far describe.
    private func endItem() throws(TokenKeepError) {
        if let secret { item?.secret = try SecretBytes(copying: secret.bytes) }
        secret = nil
        guard isList, let item else { return }
        call.answer { (_) in item }
        self.item = nil
    }

    private func report(capability value: UnsafeRawBufferPointer) throws(TokenKeepError) {
        guard value.count <= 64, value.allSatisfy(ItemAttributes.isNameByte) else {
            throw .foreign("a capability that is no word")
        }
        let word = String(decoding: value, as: UTF8.self)
        guard let known = PluginCapabilities.words.first(where: { $0.word == word }) else {
            return call.addRemark("it says of itself what is not known here: \(word)")
        }
        capabilities.insert(known.capability)
    }

    private static func status(_ value: UnsafeRawBufferPointer) throws(TokenKeepError) -> Status {
        let word = String(decoding: value, as: UTF8.self)
        guard let status = Status.allCases.first(where: { $0.name.lowercased() == word }),
            status.mayBeSaid(opening: true)
        else { throw .foreign("a status that no module may give") }
        return status
    }

    private static func number<Number: FixedWidthInteger>(
        _ value: UnsafeRawBufferPointer
    ) throws(TokenKeepError) -> Number {
        guard value.count <= 20, let number = Number(String(decoding: value, as: UTF8.self)) else {
            throw .foreign("a number that is none")
        }
        return number
    }

    private func line(_ value: UnsafeRawBufferPointer) throws(TokenKeepError) -> String {
        ForeignText.line(try text(value, ProgramAnswer.longestLine))
    }

    private func text(_ value: UnsafeRawBufferPointer, _ limit: Int) throws(TokenKeepError) -> String {
        guard value.count <= (limit + 2) / 3 * 4 else { throw .foreign("a text longer than \(limit) bytes") }
        let decoded = try WipingBuffer(capacity: value.count)
        try ProgramAnswer.decode(value, into: decoded)
        guard let text = String(validating: decoded.bytes, as: UTF8.self) else {
            throw .foreign("a text that is not UTF-8")
        }
        return text
    }

    private static func decode(_ value: UnsafeRawBufferPointer, into buffer: WipingBuffer) throws(TokenKeepError) {
        guard let count = Base64Text.decode(value, into: try buffer.room(for: value.count / 4 * 3 + 3)) else {
            throw .foreign("base64 that is none")
        }
        buffer.grow(by: count)
    }
}
