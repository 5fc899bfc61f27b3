import Glibc
import SystemPackage
import TokenKeepCore

extension Vault {
    /// How long other processes may hold items before the header is given up, in milliseconds.
    private static let headerPatience: UInt32 = 30_000

    /// Replaces both copies of the header while nobody writes: `header.2` first, so that a reader always finds the old or
    /// the new one whole.
    ///
    /// - Parameters:
    ///   - opened: what the change was made of; it must still be so.
    ///   - check: looks at the records once more, while nobody can change them.
    /// - Throws: ``Status/conflict`` where another process changed the keys meanwhile.
    func replaceHeader(
        of opened: Opened, slots: [Slot], _ call: CallContext,
        check: (OwnedDescriptor) throws(TokenKeepError) -> Void = { _ in }
    ) throws(TokenKeepError) -> Opened {
        let directory = opened.directory
        let lock = try VaultLock(.whole, of: directory, call.until(Deadline(milliseconds: Vault.headerPatience)))
        defer { lock.release() }
        guard let present = try cache.keys(of: directory, fresh: true),
            present.header.epoch == opened.keys.header.epoch, present.header.slots == opened.keys.header.slots
        else {
            throw TokenKeepError(
                .conflict, "another process changed the vault's keys meanwhile", module: "vault", hint: "try again")
        }
        try check(records(of: directory))
        let file = present.file(of: present.header.with(slots: slots))
        guard file.count <= Header.maximumLength, slots.count <= Header.maximumSlots, !slots.isEmpty else {
            throw TokenKeepError(.internal, "the vault's header would not be readable", module: "vault")
        }
        for name in try cache.failingHeaders(of: directory) where try isThere(name, in: directory.descriptor) {
            try VaultFiles.setAside(name, in: directory.descriptor)
        }
        for name in VaultMaking.headers.reversed() { try VaultMaking.write(file, to: name, in: directory) }
        guard let keys = try cache.keys(of: directory, fresh: true) else { throw VaultMaking.headersLost(directory) }
        return Opened(directory: directory, keys: keys)
    }

    /// The prefixes of all records, as far as they can be read. Needs no key.
    func prefixes(
        in records: OwnedDescriptor, _ body: (RecordPrefix) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) {
        for name in try RecordNames.all(in: records) {
            guard let prefix = try prefix(of: name, in: records) else { continue }
            try body(prefix)
        }
    }

    private func prefix(of name: [UInt8], in records: OwnedDescriptor) throws(TokenKeepError) -> RecordPrefix? {
        do throws(Errno) {
            guard
                let file = try SystemCall.open(
                    RecordNames.fileName(name), in: records.number, O_RDONLY | O_NONBLOCK),
                try SystemCall.status(of: file).isRegularFile
            else { return nil }
            let bytes = try SystemCall.bytes(of: file, atMost: RecordPrefix.length)
            return try? bytes.lent { bytes throws(FormatFault) in
                var reader = ByteReader(bytes)
                return try RecordPrefix.parse(&reader)
            }
        } catch {
            guard error == .tooManySymbolicLinkLevels else { throw error.error("cannot read a record") }
            return nil
        }
    }
}
