import TokenKeepCore
import TokenKeepKeys

/// The encoding of a pending write or removal in a record's state.
enum PendingWriteFormat {
    static let fingerprintLength = 16
    static let machineLength = 16
    private static let maximumInFlight = 16

    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> PendingWrite {
        var reader = ByteReader(bytes)
        guard let kind = PendingWrite.Kind(rawValue: try reader.integer(UInt8.self, "kind of a pending write")) else {
            throw .malformed("a pending write is of an unknown kind")
        }
        let machine = try reader.array(machineLength, "machine id")
        let since = UnixTime(try reader.integer(Int64.self, "date of a pending write"))
        let boot = try reader.array(ClockMark.bootLength, "hash of the machine's start")
        let clocks = ClockMark(boot: boot, offset: try reader.integer(Int64.self, "offset of the clocks"))
        let module = try parseModule(&reader)
        let baseCount = try reader.integer(UInt8.self, "number of base fingerprints")
        guard baseCount <= 1 else { throw .malformed("it has two base fingerprints") }
        let base = baseCount == 1 ? try reader.array(fingerprintLength, "fingerprint") : nil
        let inFlightCount = Int(try reader.integer(UInt8.self, "number of fingerprints in flight"))
        guard inFlightCount <= maximumInFlight else { throw .malformed("it has too many fingerprints in flight") }
        var inFlight: [[UInt8]] = []
        for _ in 0..<inFlightCount { inFlight.append(try reader.array(fingerprintLength, "fingerprint")) }
        try reader.end()
        return PendingWrite(
            module: module, machine: machine, kind: kind, since: since, clocks: clocks, base: base, inFlight: inFlight)
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

    static func serialized(_ part: PendingWrite) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(integer: part.kind.rawValue)
        writer.append(part.machine)
        writer.append(integer: part.since.rawValue)
        writer.append(part.clocks.boot)
        writer.append(integer: part.clocks.offset)
        writer.append(integer: UInt8(part.module.utf8.count))
        writer.append(part.module.utf8)
        writer.append(integer: UInt8(part.base == nil ? 0 : 1))
        writer.append(part.base ?? [])
        writer.append(integer: UInt8(part.inFlight.count))
        for fingerprint in part.inFlight { writer.append(fingerprint) }
        return writer.bytes
    }

    static func maximumLength(of part: PendingWrite) -> Int {
        96 + part.module.utf8.count + (part.inFlight.count + 1) * fingerprintLength
    }

    /// Whether a pending change can be encoded within the limits of the format.
    static func isValid(_ part: PendingWrite) -> Bool {
        ModuleName.isValid(part.module) && part.machine.count == machineLength
            && part.clocks.boot.count == ClockMark.bootLength
            && (part.base?.count ?? fingerprintLength) == fingerprintLength && part.inFlight.count <= maximumInFlight
            && part.inFlight.allSatisfy { $0.count == fingerprintLength }
    }
}
