import TokenKeepCore
import TokenKeepKeys

/// The encoding of the sealed copies in a record's state, which stays readable while the vault is locked.
enum SealedCopiesFormat {
    private static let maximumHolders = 64
    private static let maximumKeys = 16

    /// Throws if a reader would reject these sealed copies of the item `name`.
    static func check(_ sealed: SealedCopies, of name: ItemName?) throws(FormatFault) {
        guard let name, name.removedService == nil, sealed.level != .memoryOnly,
            ItemFlags.known.isSuperset(of: sealed.flags), sealed.holders.count <= maximumHolders,
            sealed.holders.allSatisfy(isValid)
        else { throw .malformed("its sealed copies do not fit the format") }
    }

    private static func isValid(_ holder: SealedCopies.Holder) -> Bool {
        ModuleName.isValid(holder.module) && holder.machine.count == PendingWriteFormat.machineLength
            && holder.keyIDs.count <= maximumKeys && holder.fingerprints.count <= SealedCopies.maximumFingerprints
            && holder.fingerprints.allSatisfy { $0.count == PendingWriteFormat.fingerprintLength }
    }

    /// Parses the level and the flags of the sealed copies.
    static func parse(_ reader: inout ByteReader) throws(FormatFault) -> SealedCopies {
        let level = AccessLevel(rawValue: try reader.integer(UInt32.self, "level"))
        let flags = ItemFlags(rawValue: try reader.integer(UInt32.self, "flags"))
        guard let level else { throw .malformed("the level of its sealed copies is unknown") }
        return SealedCopies(level: level, flags: flags)
    }

    static func parseHolder(_ reader: inout ByteReader) throws(FormatFault) -> SealedCopies.Holder {
        let machine = try reader.array(PendingWriteFormat.machineLength, "machine id")
        let module = try PendingWriteFormat.parseModule(&reader)
        let count = Int(try reader.integer(UInt8.self, "number of keys"))
        guard count <= maximumKeys else { throw .malformed("a module has too many keys") }
        var keyIDs: [UInt64] = []
        for _ in 0..<count { keyIDs.append(try reader.integer(UInt64.self, "key id")) }
        let fingerprintCount = Int(try reader.integer(UInt8.self, "number of fingerprints"))
        guard fingerprintCount <= SealedCopies.maximumFingerprints else {
            throw .malformed("a module has too many fingerprints")
        }
        var fingerprints: [[UInt8]] = []
        for _ in 0..<fingerprintCount {
            fingerprints.append(try reader.array(PendingWriteFormat.fingerprintLength, "fingerprint"))
        }
        return SealedCopies.Holder(module: module, machine: machine, keyIDs: keyIDs, fingerprints: fingerprints)
    }

    /// Encodes the level and the flags of the sealed copies.
    static func serialized(_ sealed: SealedCopies) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(integer: sealed.level.rawValue)
        writer.append(integer: sealed.flags.rawValue)
        return writer.bytes
    }

    static func serialized(_ holder: SealedCopies.Holder) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(holder.machine)
        writer.append(integer: UInt8(holder.module.utf8.count))
        writer.append(holder.module.utf8)
        writer.append(integer: UInt8(holder.keyIDs.count))
        for id in holder.keyIDs { writer.append(integer: id) }
        writer.append(integer: UInt8(holder.fingerprints.count))
        for fingerprint in holder.fingerprints { writer.append(fingerprint) }
        return writer.bytes
    }
}
