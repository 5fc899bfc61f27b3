import CSystemShims
import Glibc
package import TokenKeepCore

/// The headers (files of encrypted keys) that an unlock verified (docs/format.md, "While the vault is unlocked").
///
/// Verified headers are kept in the kernel's keyring. Every later reader compares the vault's header with the verified
/// headers.
package struct HeaderTrust {
    /// One header that an unlock verified. While all keys are being replaced, there are two entries: the old and the
    /// new header.
    struct Entry {
        let era: UInt64
        let epoch: UInt64
        let hash: [UInt8]
        /// The key that verifies the authentication code (MAC B) of later headers in the same era.
        ///
        /// This key opens no item, and stays available when the vault is locked.
        let headerKey: SecretBytes

        init(_ header: Header, file: [UInt8], headerKey: SecretBytes) {
            era = header.era
            epoch = header.epoch
            hash = HeaderTrust.hash(of: file)
            self.headerKey = headerKey
        }

        fileprivate init(era: UInt64, epoch: UInt64, hash: [UInt8], headerKey: SecretBytes) {
            self.era = era
            self.epoch = epoch
            self.hash = hash
            self.headerKey = headerKey
        }
    }

    var entries: [Entry]
    /// The mount namespace in which ``path`` leads to the vault, or ``unknownNamespace``.
    let mountNamespace: UInt64
    /// The vault's path. If the vault is no longer at this path, its keys are removed from the kernel, but not the
    /// verified headers.
    let path: String
    /// Whether the verified headers are in the kernel's keyring, so that a removal of the vault's password removes them
    /// for every process. False if they are only in this process's memory.
    var isShared = true

    static let maximumLength = 1 + mostEntries * entryLength + 8 + 4096
    private static let mostEntries = 2
    private static let entryLength = 80
    private static let unknownNamespace = UInt64.max

    /// - Parameter mountNamespace: nil for the mount namespace of this process.
    init(entries: [Entry], mountNamespace: UInt64? = nil, path: String) {
        self.entries = entries
        self.mountNamespace = mountNamespace ?? HeaderTrust.ownMountNamespace
        self.path = path
    }

    /// The number of this process's mount namespace, or ``unknownNamespace`` without `/proc`.
    private static var ownMountNamespace: UInt64 {
        var status = stat()
        let isKnown = tokenkeep_fstatat(AT_FDCWD, "/proc/self/ns/mnt", &status, 0) == 0
        return isKnown ? UInt64(status.st_ino) : unknownNamespace
    }

    /// Whether the vault was deleted or moved; false if its path cannot be checked.
    ///
    /// The path cannot be checked from another mount namespace: the vault may exist although this process cannot see
    /// it.
    func isLost(_ vaultID: [UInt8]) -> Bool {
        mountNamespace != HeaderTrust.unknownNamespace && mountNamespace == HeaderTrust.ownMountNamespace
            && VaultDirectory.isGone(vaultID, from: path)
    }

    /// Whether a header with a password is of a later era than every verified header.
    ///
    /// The keys may have been replaced on another machine or in a container. Only an unlock by the password verifies that.
    func isReplacedElsewhere(by header: Header) -> Bool {
        header.hasPassword && entries.allSatisfy { $0.era < header.era }
    }

    /// Checks a header against the headers that unlocks verified.
    ///
    /// - Throws: ``Status/locked`` if the keys were replaced elsewhere, so that only the password can verify the
    ///   header, or if only this process has the verified headers and a header of a later era has no password, because
    ///   the user may have removed the password; ``Status/corrupt`` for every other header that the verified headers do
    ///   not confirm.
    func check(_ header: Header, file: [UInt8]) throws(TokenKeepError) {
        guard !isReplacedElsewhere(by: header) else { throw HeaderTrust.replacedElsewhere }
        guard let entry = entries.first(where: { $0.era == header.era }) else { throw refusal(of: header) }
        if HeaderMAC.areEqual(entry.hash, HeaderTrust.hash(of: file)) { return }
        guard header.epoch >= entry.epoch, try HeaderMAC.isRightB(file, headerKey: entry.headerKey) else {
            throw HeaderTrust.refusal
        }
    }

    /// The error for a header that the verified headers do not confirm.
    ///
    /// A header of a later era without a password is always refused. If only this process has the verified headers, the
    /// error says that the user may have removed the password, because no file proves a removal.
    private func refusal(of header: Header) -> TokenKeepError {
        let mayBeRemoval = !isShared && !header.hasPassword && entries.allSatisfy { $0.era < header.era }
        return mayBeRemoval ? HeaderTrust.passwordRemoved : HeaderTrust.refusal
    }

    private static let passwordRemoved = TokenKeepError(
        .locked,
        "the vault's password was removed since this program got its keys, or a foreign header was put in its place",
        module: "vault",
        hint:
            "nothing was changed; if you removed the password, start the program again, and tokenkeep run if it started the "
            + "program; if not, put the vault's own files back: current, and the era that it names")

    private static let replacedElsewhere = TokenKeepError(
        .locked, "the vault's keys were replaced on another machine or in a container", module: "vault",
        hint: "unlock it: tokenkeep unlock")

    /// Merges earlier verified headers into these verified headers, so that no era or epoch becomes lower.
    ///
    /// An earlier header of a later era stays, because a process may be replacing the vault's keys by the keys of that
    /// era.
    func replacing(_ earlier: HeaderTrust?) -> HeaderTrust {
        guard let earlier else { return self }
        var merged = self
        for entry in earlier.entries {
            if let index = merged.entries.firstIndex(where: { $0.era == entry.era }) {
                if entry.epoch > merged.entries[index].epoch { merged.entries[index] = entry }
            } else if merged.entries.allSatisfy({ $0.era < entry.era }) {
                merged.entries.append(entry)
            }
        }
        merged.entries = merged.entries.suffix(HeaderTrust.mostEntries)
        return merged
    }

    /// Throws if a header is older than the verified header of its era, or if its era has no verified header. Does not
    /// detect alterations.
    ///
    /// - Throws: ``Status/locked`` if only this process has the verified headers and a header of a later era has no
    ///   password, because the user may have removed the password; otherwise ``Status/corrupt``.
    func checkAge(_ header: Header) throws(TokenKeepError) {
        guard let entry = entries.first(where: { $0.era == header.era }), header.epoch >= entry.epoch else {
            throw refusal(of: header)
        }
    }

    /// Whether an unlock has verified exactly this header file.
    func verified(_ header: Header, file: [UInt8]) -> Bool {
        entries.contains { $0.era == header.era && HeaderMAC.areEqual($0.hash, HeaderTrust.hash(of: file)) }
    }

    /// The error for a header (file of encrypted keys) that was forged, is too old or belongs to another vault.
    package static let refusal = TokenKeepError(
        .corrupt, "an older or foreign header was put in the place of the vault's", module: "vault",
        hint:
            "nothing was changed; put the vault's own files back: current, and the era that it names. An older copy of the "
            + "whole vault, which you restored yourself, is read from the next start of the machine on")

    static func isRefusal(_ error: TokenKeepError) -> Bool { error.message == refusal.message }

    static func hash(of file: [UInt8]) -> [UInt8] {
        file.withUnsafeBytes { KeyedHash.digest(of: $0, count: 32) }
    }

    /// Encodes the verified headers for the kernel's keyring.
    func serialized() throws(TokenKeepError) -> SecretBytes {
        let path = Array(self.path.utf8)
        let end = 1 + entries.count * HeaderTrust.entryLength
        return try SecretBytes(count: end + 8 + path.count) { payload in
            payload[0] = UInt8(entries.count)
            for (index, entry) in entries.enumerated() {
                var head = ByteWriter()
                head.append(integer: entry.era)
                head.append(integer: entry.epoch)
                head.append(entry.hash)
                let start = 1 + index * HeaderTrust.entryLength
                UnsafeMutableRawBufferPointer(rebasing: payload[start...]).copyBytes(from: head.bytes)
                entry.headerKey.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: payload[(start + 48)..<(start + 80)]).copyMemory(from: $0)
                }
            }
            var number = ByteWriter()
            number.append(integer: mountNamespace)
            UnsafeMutableRawBufferPointer(rebasing: payload[end...]).copyBytes(from: number.bytes + path)
        }
    }

    /// Parses the verified headers. The bytes are untrusted, because another program of the user may have written them.
    static func parse(_ bytes: UnsafeRawBufferPointer) throws(FormatFault) -> HeaderTrust {
        var reader = ByteReader(bytes)
        let count = Int(try reader.integer(UInt8.self, "number of entries"))
        guard (1...mostEntries).contains(count) else { throw .malformed("it has not one or two entries") }
        var entries: [Entry] = []
        for _ in 0..<count {
            let era = try reader.integer(UInt64.self, "era")
            let epoch = try reader.integer(UInt64.self, "epoch")
            let hash = try reader.array(32, "hash")
            let key = try reader.take(32, "header key")
            let headerKey = try FormatFault.needing { () throws(TokenKeepError) in
                try SecretBytes(copying: key)
            }
            entries.append(Entry(era: era, epoch: epoch, hash: hash, headerKey: headerKey))
        }
        let mountNamespace = try reader.integer(UInt64.self, "mount namespace")
        return HeaderTrust(
            entries: entries, mountNamespace: mountNamespace, path: try reader.text(reader.remaining, "path"))
    }
}
