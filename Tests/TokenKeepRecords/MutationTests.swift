import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Mutated headers, records, sealed secrets and exports, with and without authentic MACs: no trap, no wrong value.
///
/// `TOKENKEEP_MUTATIONS` is the number of mutations of each kind, `TOKENKEEP_MODEL_SEED` the first seed.
@Suite struct MutationTests {
    private static let count = environmentNumber("TOKENKEEP_MUTATIONS") ?? 2000
    private static let firstSeed = environmentNumber("TOKENKEEP_MODEL_SEED") ?? 1

    private let vaultID = [UInt8](repeating: 7, count: 16)
    private let store = ClassKeyStore(obstacle: "this is a test")
    private let name: ItemName
    private let secret: SecretBytes
    private let made: EraKeys
    private let ring: KeyRing

    init() throws {
        name = try ItemName(service: "example.com", account: "ann")
        secret = try SecretBytes("the token of ann")
        let journal = try OpenKey.make(.journal)
        made = try EraKeys.make(vaultID: vaultID, era: 1, opener: .keyfile, journalKey: journal, retiring: [])
        ring = try made.ring(store)
    }

    private func play(_ body: (inout Mutation, UInt64) throws -> Bool) throws -> (taken: Int, refused: Int) {
        var (taken, refused) = (0, 0)
        for seed in Self.firstSeed..<Self.firstSeed + Self.count {
            var mutation = Mutation(seed: seed)
            if try body(&mutation, seed) { taken += 1 } else { refused += 1 }
        }
        #expect(refused > 0)
        return (taken, refused)
    }

    /// A keyfile opens an altered header only if both MACs are authentic, and gets the vault's own keys alone.
    @Test(arguments: [false, true]) func headers(withMACs: Bool) throws {
        let body = made.header.serializedWithoutMACs()
        let headerKey = try ring.currentKey(for: .header).bytes
        let counts = try play { mutation, seed in
            let file =
                withMACs
                ? try HeaderMAC.file(of: mutation.mutated(body), nameMAC: ring.headerMAC, headerKey: headerKey)
                : mutation.mutated(made.headerFile)
            guard
                let opened = try? KeyRing.open(headerFile: file, keyfile: made.keyfile, era: 1, residentKeys: store)
            else { return false }
            #expect(withMACs || file == made.headerFile, "seed \(seed)")
            for key in opened.openKeys {
                let original = made.keys.first { $0.id == key.id && $0.purpose == key.purpose }
                #expect(original?.bytes == key.bytes, "seed \(seed)")
            }
            #expect(opened.names == ring.names && opened.states == ring.states, "seed \(seed)")
            return true
        }
        #expect(!withMACs || counts.taken > 0)
    }

    private func item() throws -> TokenItem {
        var details = ItemDetails(
            name: name, label: "Ann's token", attributes: try ItemAttributes([(name: "kind", value: "session")]),
            createdAt: UnixTime(1), modifiedAt: UnixTime(2), module: "vault")
        details.version = ring.journal.versions.version(of: details, secret: secret)
        return TokenItem(details: details, secret: secret)
    }

    private var state: StateFields {
        let machine = [UInt8](repeating: 3, count: 16)
        let fingerprint = [UInt8](repeating: 4, count: 16)
        let write = PendingWrite(
            module: "secret-service", machine: machine, kind: .write, since: UnixTime(3), base: fingerprint,
            inFlight: [fingerprint])
        let removal = PendingWrite(module: "keyctl", machine: machine, kind: .remove, since: UnixTime(4))
        return StateFields(changedAt: UnixTime(5), pending: [write, removal])
    }

    /// A record whose prefix, state and metadata may be altered before they are sealed with the vault's own keys.
    private func record(_ item: TokenItem, _ mutation: inout Mutation) throws -> [UInt8] {
        let (metadataKey, classKey) = try (
            ring.currentKey(for: .metadata), ring.currentKey(for: .level(item.details.accessLevel))
        )
        var metadata = MetadataFields(details: item.details).serialized()
        var states = state.serialized()
        let part = mutation.number(0..<3)
        if part == 0 { metadata = mutation.mutated(metadata) } else { states = mutation.mutated(states) }
        let prefix = RecordPrefix(
            kind: .value, level: item.details.accessLevel, vaultID: vaultID, name: ring.fileName(of: name),
            flags: item.details.flags, era: 1, metadataKeyID: metadataKey.id, classKeyID: classKey.id,
            stateLength: states.count + AuthenticatedBox.overhead,
            metadataLength: metadata.count + AuthenticatedBox.overhead,
            secretLength: item.secret.count + AuthenticatedBox.overhead)
        let metadataBox = metadata.withUnsafeBytes {
            AuthenticatedBox.seal($0, key: metadataKey.bytes, data: prefix.metadataAdditionalData())
        }
        let boxes =
            metadataBox
            + item.secret.withUnsafeBytes {
                AuthenticatedBox.seal(
                    $0, key: classKey.bytes, data: prefix.secretAdditionalData(metadataBox: metadataBox))
            }
        let data = boxes.withUnsafeBytes { prefix.stateAdditionalData(boxes: $0) }
        return prefix.serialized()
            + states.withUnsafeBytes { AuthenticatedBox.seal($0, key: ring.states, data: data) } + boxes
    }

    /// What opens is the item that was saved: its name, its secret, and metadata under its own version.
    @Test(arguments: [false, true]) func records(areSealed: Bool) throws {
        let item = try item()
        let whole = try RecordWriter.value(
            MetadataFields(details: item.details), secret: secret, state: state, keys: ring, presence: nil)
        let counts = try play { mutation, seed in
            let bytes = areSealed ? try record(item, &mutation) : mutation.mutated(whole)
            do throws(FormatFault) {
                let file = try RecordFile(bytes, name: ring.fileName(of: name), keys: ring)
                let state = try file.openState()
                _ = try file.journalRecord(state)
                let opened = try file.openItem(nil)
                #expect(areSealed || bytes == whole, "seed \(seed)")
                #expect(opened.secret == secret && opened.details.name == name, "seed \(seed)")
                #expect(opened.details.label == item.details.label, "seed \(seed)")
                return true
            } catch {
                return false
            }
        }
        #expect(!areSealed || counts.taken > 0)
    }

    @Test func sealedSecrets() throws {
        let details = try item().details
        let sealed = try SealedSecret.seal(secret, of: details, keys: ring, nil)
        _ = try play { mutation, seed in
            let bytes = mutation.mutated(sealed)
            let mutated = try SecretBytes(bytes: bytes)
            _ = SealedSecret.vaultID(of: mutated)
            guard let opened = try? SealedSecret.open(mutated, of: details, keys: ring, nil) else { return false }
            #expect(bytes == sealed && opened == secret, "seed \(seed)")
            return true
        }
    }

    /// Of an altered export no item is imported; items altered before they were sealed are read or refused.
    @Test(arguments: [false, true]) func exports(areSealed: Bool) throws {
        let directory = TemporaryDirectory(inMemory: true)
        let call = CallContext(deadline: Deadline(milliseconds: 600_000))
        let path = directory.path + "/export"
        let item = try ExportedItem.plaintext(of: item())
        let plaintext = item.withUnsafeBytes { Array($0) }
        func write(_ items: [[UInt8]]) throws {
            let derivation = KeyDerivation.argon2id(passes: 1, memoryKiB: 8, salt: RandomBytes.make(16))
            let writer = try ExportWriter(path, passphrase: SecretBytes("phrase"), by: derivation, call)
            for item in items { try writer.append(SecretBytes(bytes: item)) }
            try writer.finish()
        }
        try write([plaintext, plaintext])
        let whole = try #require(directory.read("export"))
        _ = try play { mutation, seed in
            var bytes = whole
            if areSealed {
                unlink(path)
                try write([mutation.mutated(plaintext)])
            } else {
                bytes = mutation.mutated(whole)
                directory.write(bytes, to: "export")
                // A changed cost would make the derivation slow; the head's parser has refused or taken it.
                guard let head = try? ExportHead(parsing: bytes), head.isCheap else { return false }
            }
            let reader = try? ExportReader(path, passphrase: SecretBytes("phrase"), call)
            guard let reader else { return false }
            var items: [TokenItem] = []
            do {
                try reader.forEachItem(call) { bytes throws(TokenKeepError) in
                    do throws(FormatFault) {
                        items.append(try bytes.lent { bytes throws(FormatFault) in try ExportedItem.parse(bytes) })
                    } catch {
                        throw error.error(in: "export")
                    }
                }
            } catch { return false }
            #expect(areSealed || bytes == whole, "seed \(seed)")
            return true
        }
    }
}

extension ExportHead {
    fileprivate init(parsing bytes: [UInt8]) throws(FormatFault) {
        self = try Array(bytes.prefix(ExportHead.length)).lent { bytes throws(FormatFault) in
            try ExportHead(parsing: bytes)
        }
    }

    fileprivate var isCheap: Bool {
        guard case .argon2id(let passes, let memoryKiB, _) = derivation else { return true }
        return passes <= 4 && memoryKiB <= 1024
    }
}
