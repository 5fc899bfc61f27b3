import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// What the vault seals is what another implementation would have sealed.
@Suite struct SealedVectorTests {
    private static let prefixLength = 96

    /// Those that are sealed under the current keys, in the order of their names.
    private static let current = Vector.all.filter {
        $0.fields["sealed"] != nil && $0.fields["expect"] == "OK" && !$0.testDescription.hasSuffix("retiring-class-key")
    }

    private let call = CallContext.patient

    private func seal(
        _ secret: SecretBytes, _ details: ItemDetails, _ records: Records, _ call: CallContext
    ) throws -> SecretBytes {
        let item = try records.begin(details.name, call)
        return try item.sealer.seal(secret, of: details, for: details.module, call)
    }

    @Test func thereAreVectors() { #expect(SealedVectorTests.current.count > 20) }

    /// All but the nonce and what hangs on it is the same, and the module is noted.
    @Test(arguments: current)
    func sealsTheSame(vector: Vector) throws {
        let directory = TemporaryDirectory()
        vector.unpack(into: directory)
        let records = try vector.records(in: directory)
        let presence = try vector.unlock(records, call)
        let call = presence.map(self.call.granting) ?? self.call
        let (details, bytes) = try #require(try vector.sealed())
        let secret = try SecretBytes(bytes: try #require(vector.secret))
        let sealed = try seal(secret, details, records, call)
        let anew = sealed.withUnsafeBytes { Array($0) }
        #expect(anew.prefix(SealedVectorTests.prefixLength) == bytes.prefix(SealedVectorTests.prefixLength))
        #expect(anew.count == bytes.count && anew != bytes)
        let opened = try VaultSealer(records).open(sealed, of: details, call)
        #expect(opened.withUnsafeBytes { Array($0) } == vector.secret)
        let copies = try records.open().flatMap { try SealedRecords($0).copies(of: details.name) }
        let keyID = try #require(try records.open()).keys.currentKey(for: .level(details.accessLevel)).id
        #expect(copies?.level == details.accessLevel && copies?.flags == details.flags)
        let fingerprint = try #require(try records.open()).keys.journal.fingerprint(of: sealed)
        #expect(copies?.holders.last?.keyIDs.contains(keyID) == true)
        #expect(copies?.holders.last?.fingerprints.last == fingerprint)
    }

    /// What a retiring key sealed is sealed anew under the current one.
    @Test(arguments: ["valid-sealed-retiring-class-key", "valid-sealed-older-era-retiring-class-key"])
    func sealsUnderTheCurrentKey(name: String) throws {
        let vector = try #require(Vector.all.first { $0.testDescription == name })
        let directory = TemporaryDirectory()
        vector.unpack(into: directory)
        let records = try vector.records(in: directory)
        _ = try vector.unlock(records, call)
        let (details, bytes) = try #require(try vector.sealed())
        let secret = try VaultSealer(records).open(SecretBytes(bytes: bytes), of: details, call)
        let sealed = try seal(secret, details, records, call)
        let keyID = try #require(try records.open()).keys.currentKey(for: .level(details.accessLevel)).id
        let id = withUnsafeBytes(of: keyID.littleEndian) { Array($0) }
        sealed.withUnsafeBytes { anew in
            #expect(Array(anew[72..<80]) == id && Array(anew[..<56]) == Array(bytes[..<56]))
        }
        #expect(Array(bytes[72..<80]) != id)
    }

    /// The vectors hold no secret of this size.
    @Test func sealsTheLongestSecret() throws {
        let vault = LockedVault(keyringObstacle: "this is a test")
        try vault.save("any")
        let sealer = VaultSealer(vault.records)
        let details = ItemDetails(
            name: try ItemName(service: "s", account: "a"), label: "", accessLevel: .whenUnlocked,
            module: "secret-service")
        let bytes = (0..<Limits.secret).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let sealed = try seal(SecretBytes(bytes: bytes), details, vault.records, call)
        #expect(sealed.count == SealedVectorTests.prefixLength + bytes.count + 40)
        #expect(try sealer.open(sealed, of: details, call).withUnsafeBytes { Array($0) } == bytes)
    }
}
