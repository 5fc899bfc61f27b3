import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Every file of a vault, cut short or altered at every byte: a typed error or the right value, the other item as it
/// was, nothing deleted, no trap.
@Suite struct DamageTests {
    private let directory = TemporaryDirectory()
    private let call = CallContext.patient

    private func module() -> VaultModule {
        VaultModule(Records(VaultOpener(path: directory.path + "/vault", residentKeys: ClassKeyStore())))
    }

    /// The record file of an account that was just saved beside the others.
    private func saveAndFind(_ account: String, _ secret: String) throws -> String {
        let before = Set(directory.names(in: "vault/era-1/records"))
        try module().put(secret, account)
        return "vault/era-1/records/"
            + (try #require(Set(directory.names(in: "vault/era-1/records")).subtracting(before).first))
    }

    private static let typed: Set<Status> = [.corrupt, .unsupported]

    /// Loads `account`: its secret, or nil after a typed error.
    private func loadOrTypedError(_ account: String) throws -> String? {
        do {
            return try module().value(account)
        } catch {
            #expect(DamageTests.typed.contains(error.status), "\(error)")
            return nil
        }
    }

    @Test(arguments: ["keyfile", "header", "header.2", "record"])
    func survivesEveryAlteredByte(which: String) throws {
        let record = try saveAndFind("ann", "token-of-ann")
        try module().put("token-of-bob", "bob")
        let file = which == "record" ? record : "vault/era-1/" + which
        let original = try #require(directory.read(file))
        let before = directory.names(in: "vault/era-1") + directory.names(in: "vault/era-1/records")
        for index in original.indices {
            for mask in [UInt8(0x01), 0x80, 0xFF] {
                var altered = original
                altered[index] ^= mask
                directory.write(altered, to: file)
                let ann = try loadOrTypedError("ann")
                #expect(ann == nil || ann == "token-of-ann", "byte \(index)")
                // The other copy stands in for a header, also where MAC B alone fails.
                #expect(which.hasPrefix("header") == (ann != nil), "byte \(index) of \(which)")
                let bob = which == "keyfile" ? try loadOrTypedError("bob") : try module().value("bob")
                #expect(bob == (which == "keyfile" ? nil : "token-of-bob"), "byte \(index)")
            }
        }
        #expect(directory.names(in: "vault/era-1") + directory.names(in: "vault/era-1/records") == before)
        directory.write(original, to: file)
        #expect(try module().value("ann") == "token-of-ann")
    }

    @Test(arguments: ["keyfile", "header", "header.2", "record"])
    func survivesEveryLength(which: String) throws {
        let record = try saveAndFind("ann", "token-of-ann")
        try module().put("token-of-bob", "bob")
        let file = which == "record" ? record : "vault/era-1/" + which
        let original = try #require(directory.read(file))
        for length in original.indices {
            directory.write(Array(original[..<length]), to: file)
            let ann = try loadOrTypedError("ann")
            #expect(which.hasPrefix("header") ? ann == "token-of-ann" : ann == nil, "\(length) bytes of \(which)")
            if which != "keyfile" { #expect(try module().value("bob") == "token-of-bob") }
        }
        directory.write(original + [0], to: file)
        _ = try loadOrTypedError("ann")
    }

    /// A byte of the contents, or one of MAC A or MAC B.
    @Test func bothHeadersDamagedIsCorruptAndWritesNothing() throws {
        try module().put("token", "ann")
        let headers = ["vault/era-1/header", "vault/era-1/header.2"]
        let good = try #require(directory.read(headers[0]))
        for index in [40] + good.indices.suffix(64) {
            var bad = good
            bad[index] ^= 1
            for file in headers { directory.write(bad, to: file) }
            let before = ["keyfile", "header", "header.2"].map { directory.read("vault/era-1/" + $0) }
            #expect(throws: TokenKeepError(.corrupt, ""), "byte \(index)") { try module().value("ann") }
            #expect(throws: TokenKeepError(.corrupt, ""), "byte \(index)") { try module().put("new", "ann") }
            #expect(["keyfile", "header", "header.2"].map { directory.read("vault/era-1/" + $0) } == before)
            // One right copy heals it.
            for file in headers {
                directory.write(good, to: file)
                #expect(try module().value("ann") == "token", "byte \(index)")
                directory.write(bad, to: file)
            }
        }
    }

    @Test(arguments: [["header", "header.2"], ["keyfile"], ["keyfile", "header", "header.2"]])
    func makesNoNewVaultOverAnOldOne(lost: [String]) throws {
        try module().put("token", "ann")
        for file in lost { unlink("\(directory.path)/vault/era-1/\(file)") }
        let before = directory.names(in: "vault") + directory.names(in: "vault/era-1")
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().value("ann") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().put("new", "ann") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().put("new", "other") }
        #expect(directory.names(in: "vault") + directory.names(in: "vault/era-1") == before)
    }

    @Test func lostRecordsDirectoryIsNotAnEmptyVault() throws {
        try module().put("token", "ann")
        rename("\(directory.path)/vault/era-1/records", "\(directory.path)/vault/elsewhere")
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().value("ann") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().put("new", "ann") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().list(namespace: "", service: nil, call) }
    }

    @Test func setsADamagedRecordAsideBeforeItIsReplaced() throws {
        let record = try saveAndFind("ann", "old")
        for number in 1...2 {
            var bytes = try #require(directory.read(record))
            bytes[bytes.count - 1] ^= 1
            directory.write(bytes, to: record)
            // Conditions about an item that cannot be read fail rather than pass.
            let name = try name()
            for precondition in [SaveRequest.Precondition.absent, .version(1)] {
                let request = try SaveRequest(name: name, secret: SecretBytes("new"), precondition: precondition)
                #expect(throws: TokenKeepError(.corrupt, "")) { try module().save(request, call) }
            }
            #expect(throws: TokenKeepError(.corrupt, "")) { try module().value("ann") }
            try module().put("new \(number)", "ann")
            #expect(try module().value("ann") == "new \(number)")
            #expect(directory.read("\(record).corrupt-\(number)") == bytes)
        }
        #expect(try module().list(namespace: "", service: nil, call).items.count == 1)
    }

    @Test func setsADamagedRecordAsideWhenItIsCleared() throws {
        let record = try saveAndFind("ann", "old")
        var bytes = try #require(directory.read(record))
        bytes[100] ^= 1
        directory.write(bytes, to: record)
        #expect(try module().clear(name(), ifVersion: nil, call))
        #expect(throws: TokenKeepError(.notFound, "")) { try module().value("ann") }
        #expect(directory.read("\(record).corrupt-1") == bytes)
    }

    /// A record that a later version wrote is nobody's to replace or clear, also where it is longer than one of this.
    @Test(arguments: [0, RecordPrefix.maximumFile])
    func leavesARecordOfALaterVersionAlone(more: Int) throws {
        let record = try saveAndFind("ann", "old")
        var bytes = try #require(directory.read(record))
        bytes[8] = 2
        bytes += [UInt8](repeating: 0, count: more)
        directory.write(bytes, to: record)
        #expect(throws: TokenKeepError(.unsupported, "")) { try module().value("ann") }
        #expect(throws: TokenKeepError(.unsupported, "")) { try module().put("new", "ann") }
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try module().clear(name(), ifVersion: nil, call)
        }
        #expect(directory.read(record) == bytes)
    }

    @Test func listsWhatCanBeReadAndNamesTheRest() throws {
        let record = try saveAndFind("ann", "old")
        try module().put("token", "bob")
        directory.write([1, 2, 3], to: record)
        let listing = try module().list(namespace: "", service: nil, call)
        #expect(listing.items.map(\.name.account) == ["bob"])
        #expect(listing.problem?.status == .corrupt)
    }
}
