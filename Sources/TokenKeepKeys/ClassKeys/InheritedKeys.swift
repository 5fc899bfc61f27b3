import CSystemShims
import Glibc
import TokenKeepCore

/// Keys of an unlocked vault that a process inherits from `tokenkeep run` (docs/format.md, "For one process tree").
///
/// The keys are in a sealed memory file (memfd), whose content cannot change. The environment variable ``variable`` has
/// the number of the file's descriptor.
package struct InheritedKeys {
    /// The environment variable that contains the number of the memory file's descriptor.
    package static let variable = "TOKENKEEP_KEYS_FD"

    /// A key, and its description in the kernel's keyring or in memory.
    struct Entry {
        let place: String
        let key: SecretBytes
        /// The time at which the key expires, in seconds since the machine's start; nil if it does not expire.
        let deadline: Int64?
    }

    let entries: [Entry]

    private static let signature = "TKEEPTRE"
    private static let version: UInt16 = 1
    /// The maximum length of the memory file in bytes: several times the length of all keys and trusted headers of a
    /// vault.
    private static let maximumLength = 32 * 1024

    init(_ entries: [Entry]) { self.entries = entries }

    // MARK: Writing

    /// Writes the keys into a sealed memory file, which programs executed by this process inherit.
    ///
    /// - Returns: the descriptor of the file.
    /// - Throws: ``Status/unsupported`` if the kernel refuses a sealed memory file.
    func makeDescriptor() throws(TokenKeepError) -> Int32 {
        var descriptor: Int32 = -1
        let error = try serialized().withUnsafeBytes {
            tokenkeep_sealed_memory_make($0.baseAddress, $0.count, &descriptor)
        }
        guard error == 0 else {
            throw TokenKeepError(
                .unsupported,
                "the kernel refuses a sealed memory file for the keys: \(String(cString: strerror(error)))",
                module: "vault", hint: "give each command the password: --password-file FILE")
        }
        return descriptor
    }

    private func serialized() throws(TokenKeepError) -> SecretBytes {
        var head = ByteWriter()
        head.append(InheritedKeys.signature.utf8)
        head.append(integer: InheritedKeys.version)
        head.append(integer: UInt16(entries.count))
        let count = entries.reduce(head.bytes.count) { $0 + 12 + $1.place.utf8.count + $1.key.count }
        guard count <= InheritedKeys.maximumLength else {
            throw TokenKeepError(
                .unsupported, "the vault has more retiring keys than can be handed over", module: "vault",
                hint: "tokenkeep unlock, with the modules that hold its items, ends them")
        }
        return try SecretBytes(count: count) { payload in
            UnsafeMutableRawBufferPointer(rebasing: payload[...]).copyBytes(from: head.bytes)
            var offset = head.bytes.count
            for entry in entries {
                var fields = ByteWriter()
                fields.append(integer: entry.deadline ?? 0)
                fields.append(integer: UInt16(entry.place.utf8.count))
                fields.append(integer: UInt16(entry.key.count))
                fields.append(entry.place.utf8)
                UnsafeMutableRawBufferPointer(rebasing: payload[offset...]).copyBytes(from: fields.bytes)
                offset += fields.bytes.count
                entry.key.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: payload[offset...]).copyBytes(from: $0)
                }
                offset += entry.key.count
            }
        }
    }

    // MARK: Reading

    /// Reads the keys that this process inherited; nil if there is no intact memory file of the same user.
    ///
    /// A program with raised privileges inherits no keys, because its caller chooses its environment and descriptors.
    static func read() -> InheritedKeys? {
        guard !Privileges.areRaised, let value = getenv(variable), let text = String(validatingCString: value),
            let descriptor = Int32(text), descriptor >= 0
        else { return nil }
        var length = 0
        var error: Int32 = 0
        let payload = try? SecretBytes(count: maximumLength) {
            error = tokenkeep_sealed_memory_read(descriptor, $0.baseAddress, $0.count, &length)
        }
        guard error == 0, let payload else { return nil }
        return try? payload.withUnsafeBytes { bytes throws(FormatFault) in
            try parse(UnsafeRawBufferPointer(rebasing: bytes.prefix(length)))
        }
    }

    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> InheritedKeys {
        var reader = ByteReader(bytes)
        try reader.signature(signature, version: version)
        var entries: [Entry] = []
        for _ in 0..<(try reader.integer(UInt16.self, "number of keys")) {
            let deadline = try reader.integer(Int64.self, "deadline")
            let placeLength = Int(try reader.integer(UInt16.self, "length of a place"))
            let keyLength = Int(try reader.integer(UInt16.self, "length of a key"))
            let place = try reader.text(placeLength, "place")
            let bytes = try reader.take(keyLength, "key")
            guard keyLength > 0, deadline >= 0 else { throw .malformed("a key is empty, or its deadline is negative") }
            let key = try FormatFault.needing { () throws(TokenKeepError) in try SecretBytes(copying: bytes) }
            entries.append(Entry(place: place, key: key, deadline: deadline == 0 ? nil : deadline))
        }
        try reader.end()
        return InheritedKeys(entries)
    }
}
