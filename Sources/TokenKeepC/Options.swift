import TokenKeepCore
import TokenKeepEngine
import TokenKeepHeaders

/// Copies a caller's structure. It may be from an older version of the header, and shorter, or from a newer version,
/// and longer.
///
/// Reads only the bytes that the caller's `struct_size` declares. `pointee` is not used, because it would read the size
/// of this version's structure.
///
/// - Parameter empty: a zeroed structure of this version.
/// - Throws: ``Status/invalid`` if the declared size is impossible; ``Status/unsupported`` if a field is set that only
///   a newer version knows.
func copy<Options>(
    _ pointer: UnsafePointer<Options>, over empty: Options, _ argument: String
) throws(TokenKeepError) -> Options {
    let foreign = UnsafeRawPointer(pointer)
    let size = foreign.loadUnaligned(as: UInt.self)  // struct_size is the first field
    let own = UInt(MemoryLayout<Options>.size)
    // A size that is not a multiple of the alignment would cut a pointer in two. A size of more than 4096 means that
    // `struct_size` was not set.
    guard size >= UInt(MemoryLayout<UInt>.size), size <= 4096, size % UInt(MemoryLayout<Options>.alignment) == 0 else {
        throw TokenKeepError(
            .invalid, "struct_size of the \(argument) is \(size)", hint: "set it to the size of the structure, \(own)")
    }
    let tail = UnsafeRawBufferPointer(start: foreign, count: Int(size)).dropFirst(Int(own))
    guard tail.allSatisfy({ $0 == 0 }) else {
        throw TokenKeepError(
            .unsupported, "the \(argument) set a field that this version does not know", hint: "update TokenKeep")
    }
    var copy = empty
    withUnsafeMutableBytes(of: &copy) {
        $0.copyMemory(from: UnsafeRawBufferPointer(start: foreign, count: Int(min(size, own))))
    }
    return copy
}

/// Throws ``Status/unsupported`` for flags that this version does not know.
func checkFlags(_ flags: UInt32, known: UInt32, _ argument: String) throws(TokenKeepError) {
    let unknown = flags & ~known
    guard unknown == 0 else {
        throw TokenKeepError(.unsupported, "flags of the \(argument): this version does not know \(unknown)")
    }
}

extension StoreConfiguration {
    /// Reads `tokenkeep_open_options`; NULL stands for the defaults.
    init(_ pointer: UnsafePointer<tokenkeep_open_options>?) throws(TokenKeepError) {
        guard let pointer else {
            self.init()
            return
        }
        let options = try copy(pointer, over: tokenkeep_open_options(), "open options")
        try checkFlags(options.flags, known: UInt32(TOKENKEEP_INTERACTIVE), "open options")
        self.init(
            stack: try Boundary.optionalText(options.stack, "stack", atMost: 255),
            stackText: try Boundary.optionalText(
                options.stack_text, "stack_text", atMost: StackParser.maximumLength),
            namespace: try Boundary.optionalText(
                options.name_space, "namespace", atMost: Limits.namespace) ?? "",
            timeoutMilliseconds: options.timeout_ms,
            isInteractive: options.flags & UInt32(TOKENKEEP_INTERACTIVE) != 0)
        prompt = options.prompt.map { CPrompt(function: $0, data: options.prompt_data).handler }
    }
}

/// The values of a `tokenkeep_save_options`.
struct SaveOptions {
    var accessLevel: AccessLevel?
    var flags: ItemFlags = []
    var label: String?
    var attributes: ItemAttributes = .none
    var expiresAt: UnixTime?
    var keepsWhenLocked = false
    var precondition: SaveRequest.Precondition = .none
    var savedVersion: UnsafeMutablePointer<UInt64>?

    /// Reads `tokenkeep_save_options`; NULL stands for the defaults.
    init(_ pointer: UnsafePointer<tokenkeep_save_options>?) throws(TokenKeepError) {
        guard let pointer else { return }
        let options = try copy(pointer, over: tokenkeep_save_options(), "save options")
        let ifAbsent = UInt32(TOKENKEEP_IF_ABSENT)
        let keepWhenLocked = UInt32(TOKENKEEP_KEEP_WHEN_LOCKED)
        let ofCall = ifAbsent | keepWhenLocked
        try checkFlags(options.flags, known: ItemFlags.known.rawValue | ofCall, "save options")
        accessLevel = try SaveOptions.level(options.accessibility)
        flags = ItemFlags(rawValue: options.flags & ~ofCall)
        keepsWhenLocked = options.flags & keepWhenLocked != 0
        label = try Boundary.optionalText(options.label, "label", atMost: Limits.label)
        attributes = try SaveOptions.attributes(options.attributes, count: options.attribute_count)
        if options.expires_at != 0 { expiresAt = UnixTime(options.expires_at) }
        precondition = try SaveOptions.precondition(
            ifAbsent: options.flags & ifAbsent != 0, version: options.expected_version)
        savedVersion = options.saved_version
    }

    /// Reads the flags that are stored with an item. Throws ``Status/unsupported`` if any other flag is set.
    static func keptFlags(_ flags: UInt32) throws(TokenKeepError) -> ItemFlags {
        try checkFlags(flags, known: ItemFlags.known.rawValue, "protection")
        return ItemFlags(rawValue: flags)
    }

    static func level(_ number: UInt32) throws(TokenKeepError) -> AccessLevel? {
        guard number != 0 else { return nil }
        guard let level = AccessLevel(rawValue: number) else {
            throw TokenKeepError(.invalid, "accessibility \(number) is no level", hint: "the levels are 1 to 6")
        }
        return level
    }

    private static func precondition(
        ifAbsent: Bool, version: UInt64
    ) throws(TokenKeepError) -> SaveRequest.Precondition {
        switch (ifAbsent, version) {
        case (false, 0): .none
        case (true, 0): .absent
        case (false, _): .version(version)
        case (true, _):
            throw TokenKeepError(.invalid, "TOKENKEEP_IF_ABSENT and expected_version exclude each other")
        }
    }

    private static func attributes(
        _ pointer: UnsafePointer<tokenkeep_attribute>?, count: Int
    ) throws(TokenKeepError) -> ItemAttributes {
        guard count != 0 else { return .none }
        guard 1...Limits.attributeCount ~= count else {
            throw TokenKeepError(.invalid, "attribute_count is more than \(Limits.attributeCount)")
        }
        let pointer = try Boundary.required(pointer, "array of attributes")
        var pairs: [(name: String, value: String)] = []
        for attribute in UnsafeBufferPointer(start: pointer, count: count) {
            let name = try Boundary.text(attribute.name, "attribute name", atMost: Limits.attributeName)
            let value = try Boundary.text(attribute.value, "attribute value", atMost: Limits.attributeValue)
            pairs.append((name, value))
        }
        return try ItemAttributes(pairs)
    }
}
