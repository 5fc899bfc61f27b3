import TokenKeepCore

/// The fields of a state box.
struct StateFields: Equatable {
    private enum Tag {
        static let state: UInt16 = 1
        static let changedAt: UInt16 = 2
        static let debt: UInt16 = 3
        static let name: UInt16 = 4
        static let pendingRefresh: UInt16 = 16
        static let outbox: UInt16 = 17
    }
    fileprivate static let maximumDebts = 64
    private static let maximumPendingRefresh = 32_768

    var state: RecordState
    var changedAt: UnixTime
    var debts: [Debt] = []
    /// The item's name, in a tombstone: what is cleared must be found in other modules.
    var name: ItemName?
    /// A session's own fields, 16 and 17, and optional ones: kept as they are.
    var kept: [KeptField] = []

    static func parse(_ bytes: UnsafeRawBufferPointer, in arena: SecretArena) throws(FormatFault) -> StateFields {
        var fields = Fields(bytes, repeating: [Tag.debt])
        var state: RecordState?
        var changedAt: UnixTime?
        var debts: [Debt] = []
        var name: ItemName?
        var kept: [KeptField] = []
        while let (tag, value) = try fields.next() {
            var reader = ByteReader(value)
            switch tag {
            case Tag.name:
                name = try NameFormat.parse(&reader)
                try reader.end()
            case Tag.state:
                state = RecordState(rawValue: try reader.integer(UInt8.self, "state"))
                try reader.end()
            case Tag.changedAt:
                changedAt = UnixTime(try reader.integer(Int64.self, "date of change"))
                try reader.end()
            case Tag.debt:
                debts.append(try DebtFormat.parse(value))
            case Tag.pendingRefresh where value.count <= maximumPendingRefresh, Tag.outbox where value.count == 4,
                Fields.firstOptional...:
                kept.append(try KeptField(tag: tag, copying: value, in: arena))
            default: throw .malformed("it has an unknown field \(tag)")
            }
        }
        guard let state, let changedAt else { throw .malformed("its state is missing or unknown") }
        guard debts.count <= maximumDebts, state != .home || debts.isEmpty else {
            throw .malformed("its debts do not fit its state")
        }
        guard state == .tombstone || name == nil else { throw .malformed("only a tombstone repeats its name") }
        return StateFields(state: state, changedAt: changedAt, debts: debts, name: name, kept: kept)
    }

    /// The fields' bytes, in memory that was made once and is the caller's to wipe.
    func serialized() -> [UInt8] {
        let debtLength = debts.reduce(0) { $0 + DebtFormat.maximumLength(of: $1) + 6 }
        var writer = ByteWriter(capacity: 640 + debtLength + kept.reduce(0) { $0 + $1.value.count + 6 })
        writer.append(field: Tag.state, integer: state.rawValue)
        writer.append(field: Tag.changedAt, integer: changedAt.rawValue)
        for debt in debts { writer.append(field: Tag.debt, DebtFormat.serialized(debt)) }
        if let name { writer.append(field: Tag.name, NameFormat.serialized(name)) }
        for field in kept { field.write(to: &writer) }
        return writer.bytes
    }

    /// Whether a reader would take these fields.
    func check() throws(FormatFault) {
        guard debts.count <= StateFields.maximumDebts, debts.allSatisfy(DebtFormat.isValid),
            state != .home || debts.isEmpty
        else { throw .malformed("its debts do not fit the format") }
    }
}

/// A field that this version keeps without knowing what it means: it may hold a token.
struct KeptField: Equatable {
    let tag: UInt16
    let value: SecretBytes

    init(tag: UInt16, copying value: UnsafeRawBufferPointer, in arena: SecretArena) throws(FormatFault) {
        self.tag = tag
        self.value = try FormatFault.needing { () throws(TokenKeepError) in
            try SecretBytes(copying: value, in: arena)
        }
    }

    func write(to writer: inout ByteWriter) {
        value.withUnsafeBytes { writer.append(field: tag, $0) }
    }
}

/// A debt as a field's value.
enum DebtFormat {
    static let fingerprintLength = 16
    static let machineLength = 16
    private static let maximumInFlight = 16

    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> Debt {
        var reader = ByteReader(bytes)
        guard let kind = Debt.Kind(rawValue: try reader.integer(UInt8.self, "kind of a debt")) else {
            throw .malformed("a debt is of an unknown kind")
        }
        let machine = try reader.array(machineLength, "machine id")
        let since = UnixTime(try reader.integer(Int64.self, "date of a debt"))
        let module = try parseModule(&reader)
        let baseCount = try reader.integer(UInt8.self, "number of base fingerprints")
        guard baseCount <= 1 else { throw .malformed("a debt has two base fingerprints") }
        let base = baseCount == 1 ? try reader.array(fingerprintLength, "fingerprint") : nil
        let inFlightCount = Int(try reader.integer(UInt8.self, "number of fingerprints in flight"))
        guard inFlightCount <= maximumInFlight else { throw .malformed("a debt has too many fingerprints in flight") }
        var inFlight: [[UInt8]] = []
        for _ in 0..<inFlightCount { inFlight.append(try reader.array(fingerprintLength, "fingerprint")) }
        try reader.end()
        return Debt(module: module, machine: machine, kind: kind, since: since, base: base, inFlight: inFlight)
    }

    static func parseModule(_ reader: inout ByteReader) throws(FormatFault) -> String {
        let length = Int(try reader.integer(UInt8.self, "length of a module's name"))
        guard (1...ModuleName.maximumLength).contains(length) else { throw .malformed("it names no module") }
        let module = try reader.text(length, "module's name")
        guard ModuleName.isValid(module) else {
            throw .malformed("it names a module that cannot be one")
        }
        return module
    }

    static func serialized(_ debt: Debt) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(integer: debt.kind.rawValue)
        writer.append(debt.machine)
        writer.append(integer: debt.since.rawValue)
        writer.append(integer: UInt8(debt.module.utf8.count))
        writer.append(debt.module.utf8)
        writer.append(integer: UInt8(debt.base == nil ? 0 : 1))
        writer.append(debt.base ?? [])
        writer.append(integer: UInt8(debt.inFlight.count))
        for fingerprint in debt.inFlight { writer.append(fingerprint) }
        return writer.bytes
    }

    static func maximumLength(of debt: Debt) -> Int {
        64 + debt.module.utf8.count + (debt.inFlight.count + 1) * fingerprintLength
    }

    /// Whether a debt fits the format.
    static func isValid(_ debt: Debt) -> Bool {
        ModuleName.isValid(debt.module) && debt.machine.count == machineLength
            && (debt.base?.count ?? fingerprintLength) == fingerprintLength && debt.inFlight.count <= maximumInFlight
            && debt.inFlight.allSatisfy { $0.count == fingerprintLength }
    }
}
