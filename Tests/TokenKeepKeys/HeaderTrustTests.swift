import Testing
import TokenKeepCore

@testable import TokenKeepKeys

/// Which header a reader takes beside what an unlock verified.
@Suite struct HeaderTrustTests {
    private let vaultID = [UInt8](repeating: 7, count: 16)

    /// An era's keys, and headers of later epochs under them.
    private struct Era {
        let made: EraKeys
        let ring: KeyRing
        var headerKey: SecretBytes { get throws { try ring.currentKey(for: .header).bytes } }

        init(_ vaultID: [UInt8], _ number: UInt64) throws {
            made = try EraKeys.make(vaultID: vaultID, era: number, opener: .keyfile, journalKey: nil, retiring: [])
            ring = try made.ring(ClassKeyStore(obstacle: "this is a test"))
        }

        /// The header with one more slot, and an epoch that is higher by `count`.
        func later(_ count: Int = 1, headerKey: SecretBytes? = nil) throws -> (header: Header, file: [UInt8]) {
            var header = made.header
            for _ in 0..<count { header = try header.with(slots: made.header.slots + [.other(type: 9, bytes: [1])]) }
            return (
                header,
                try HeaderMAC.file(of: header, nameMAC: ring.headerMAC, headerKey: headerKey ?? self.headerKey)
            )
        }

        func entry(_ header: Header? = nil, _ file: [UInt8]? = nil) throws -> HeaderTrust.Entry {
            HeaderTrust.Entry(header ?? made.header, file: file ?? made.headerFile, headerKey: try headerKey)
        }
    }

    private func isTaken(_ header: Header, _ file: [UInt8], _ entries: [HeaderTrust.Entry]) -> Bool {
        (try? HeaderTrust(entries: entries, path: "/v").check(header, file: file)) != nil
    }

    @Test func theVerifiedHeaderAndLaterOnesAreTaken() throws {
        let era = try Era(vaultID, 1)
        #expect(try isTaken(era.made.header, era.made.headerFile, [era.entry()]))
        for count in [1, 5] {
            let (header, file) = try era.later(count)
            #expect(try isTaken(header, file, [era.entry()]))
            // Not the other way round.
            #expect(try !isTaken(era.made.header, era.made.headerFile, [era.entry(header, file)]))
        }
    }

    @Test func aHeaderUnderAnotherKeyIsRefused() throws {
        let era = try Era(vaultID, 1)
        let (header, file) = try era.later(headerKey: SecretBytes(randomCount: 32))
        #expect(try !isTaken(header, file, [era.entry()]))
        #expect(throws: HeaderTrust.refusal) {
            try HeaderTrust(entries: [era.entry()], path: "/v").check(header, file: file)
        }
    }

    /// The status for a header, with what this process alone knows, or with what a removal of the password removes, too.
    private func status(
        _ header: Header, _ file: [UInt8], _ entry: HeaderTrust.Entry, isShared: Bool
    ) -> [Status?] {
        var trust = HeaderTrust(entries: [entry], path: "/v")
        trust.isShared = isShared
        var result: [Status?] = []
        do { try trust.check(header, file: file); result.append(nil) } catch { result.append(error.status) }
        do { try trust.checkAge(header); result.append(nil) } catch { result.append(error.status) }
        return result
    }

    /// A removal of the password in another process cannot reach the note in this process's memory: the later era without a
    /// password is not read, and is no damage either. Everything else is refused as if the note were shared.
    @Test func aLaterEraWithoutAPasswordIsLockedForWhoAloneHasTheTrust() throws {
        let eras = try (1...3).map { try Era(vaultID, $0) }
        let (now, present) = (eras[1].made, try eras[1].entry())
        for (era, isShared, status) in [
            (eras[2], true, Status.corrupt), (eras[2], false, .locked), (eras[0], false, .corrupt),
        ] {
            let made = era.made
            #expect(self.status(made.header, made.headerFile, present, isShared: isShared) == [status, status])
        }
        let (header, file) = try eras[1].later()
        #expect(
            try status(now.header, now.headerFile, eras[1].entry(header, file), isShared: false) == [
                .corrupt, .corrupt,
            ])
        let (_, forged) = try eras[1].later(headerKey: SecretBytes(randomCount: 32))
        #expect(status(header, forged, present, isShared: false) == [.corrupt, nil])
    }

    /// The keyring is shared, also that of a test; the memory of a process is not.
    @Test func theTrustInMemoryIsNotShared() throws {
        let era = try Era(vaultID, 1)
        for (keys, isShared) in [
            (ClassKeyStore(obstacle: "this is a test"), false), (ClassKeyStore(simulatingKernelAt: { 0 }), true),
        ] {
            try keys.keep([], HeaderTrust(entries: [era.entry()], path: "/v"), of: vaultID)
            #expect(try keys.trust(of: vaultID)?.isShared == isShared)
        }
    }

    /// During a change of keys the present era and the next one have an entry each.
    @Test func eachEraHasItsEntry() throws {
        let eras = try (1...3).map { try Era(vaultID, $0) }
        for entries in [[eras[0], eras[1]], [eras[1], eras[0]]] {
            let entries = try entries.map { try $0.entry() }
            for (index, era) in eras.enumerated() {
                #expect(isTaken(era.made.header, era.made.headerFile, entries) == (index < 2))
                let (header, file) = try era.later()
                #expect(isTaken(header, file, entries) == (index < 2))
            }
        }
    }

    @Test(arguments: ["/home/anna/.local/share/tokenkeep", "", "/дім"]) func isReadAsItWasWritten(path: String) throws {
        let eras = try (1...2).map { try Era(vaultID, $0).entry() }
        for count in 1...2 {
            let trust = HeaderTrust(entries: Array(eras.prefix(count)), path: path)
            let payload = try trust.serialized()
            #expect(payload.count == 1 + count * 80 + 8 + path.utf8.count && payload.withUnsafeBytes { $0[0] } == count)
            let read = try payload.lent { bytes throws(FormatFault) in try HeaderTrust.parse(bytes) }
            #expect(read.path == path && read.entries.count == count && read.mountNamespace == trust.mountNamespace)
            for (entry, other) in zip(read.entries, eras) {
                #expect(entry.era == other.era && entry.epoch == other.epoch && entry.hash == other.hash)
                #expect(entry.headerKey == other.headerKey)
            }
        }
    }

    @Test func aPayloadThatBreaksTheRulesIsNone() throws {
        let entry = try Era(vaultID, 1).entry()
        let good = try HeaderTrust(entries: [entry], path: "").serialized().withUnsafeBytes { Array($0) }
        let entries = Array(good.dropFirst())
        let bad: [[UInt8]] = [
            [], [0], [0] + entries, [3] + entries + entries + entries, Array(good.dropLast()), [2] + entries,
            good + [0xFF],
        ]
        for payload in bad {
            #expect(throws: FormatFault.self) {
                try payload.lent { bytes throws(FormatFault) in try HeaderTrust.parse(bytes) }
            }
        }
    }

    /// Two processes may lock at once, and a third one reads a header meanwhile.
    @Test func noLockRemovesTheTrustForAMoment() async throws {
        let keys = ClassKeyStore()
        let vaultID = RandomBytes.make(16)
        let era = try Era(vaultID, 1)
        // Tests that run meanwhile drop the keys of vaults that are gone, but none of another mount namespace.
        let trust = try HeaderTrust(entries: [era.entry()], mountNamespace: 1, path: "/v")
        try keys.keep(era.made.keys, trust, of: vaultID)
        defer { keys.removal.forget(vaultID) }
        let failures = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<200 {
                        do { _ = try ClassKeyStore().removal.purge(all: true, of: vaultID) } catch { return "\(error)" }
                    }
                    return nil
                }
            }
            group.addTask {
                for _ in 0..<2000 {
                    do {
                        if try ClassKeyStore().trust(of: vaultID) == nil { return "the trust is gone" }
                    } catch { return "\(error)" }
                }
                return nil
            }
            return await group.reduce(into: [String]()) { $0 += [$1].compactMap { $0 } }
        }
        #expect(failures == [])
        #expect(try keys.trust(of: vaultID)?.entries.count == 1)
    }

    /// A lock ends the keys; the header key in the trust stays, and opens no item.
    @Test func aLockKeepsTheTrust() throws {
        let keys = ClassKeyStore(obstacle: "this is a test")
        let era = try Era(vaultID, 1)
        try keys.keep(era.made.keys, HeaderTrust(entries: [era.entry()], path: "/v"), of: vaultID)
        let place = try #require(era.made.keys.first { $0.purpose == .level(.afterFirstUnlock) })
        #expect(try keys.key(place.id, for: place.purpose, of: vaultID) == place.bytes)
        for hidden in era.made.keys where hidden.purpose == .header {
            #expect(try keys.key(hidden.id, for: .header, of: vaultID) == nil)
        }
        _ = try keys.removal.purge(all: true, of: vaultID)
        #expect(try keys.key(place.id, for: place.purpose, of: vaultID) == nil)
        #expect(try keys.trust(of: vaultID)?.entries.count == 1)
        keys.removal.forget(vaultID)
        #expect(try keys.trust(of: vaultID) == nil)
    }
}
