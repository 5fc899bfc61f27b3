import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A reader that remembers that nothing was pending must see when something is.
@Suite struct JournalSnapshotTests {
    private let directory = TemporaryDirectory(inMemory: true)
    private let call = CallContext.patient
    private var path: String { directory.path + "/vault" }

    private func vault(_ path: String? = nil) -> Records {
        Records(VaultOpener(path: path ?? self.path, residentKeys: ClassKeyStore(obstacle: "this is a test")))
    }

    private func change(_ account: String, _ pending: [PendingWrite], in records: Records) throws {
        var item = try records.begin(try ItemName(service: "s", account: account), call)
        try item.apply(.cleared(pending: pending))
    }

    private var removal: PendingWrite {
        PendingWrite(
            module: "secret-service", machine: Array(repeating: 1, count: 16), kind: .remove, since: UnixTime(1))
    }

    /// A reader that has asked so often, and so late, that it remembers.
    private func quietReader() throws -> Records {
        let reader = vault()
        let isQuiet = try Patience.wait { () throws -> Bool in
            let mayHavePending = try reader.journal.snapshot().mayHavePending
            #expect(!mayHavePending)
            return reader.quiet.withLock { $0 != nil }
        }
        #expect(isQuiet)
        return reader
    }

    @Test(arguments: [true, false]) func aPendingRemovalIsSeenAtOnce(wasPendingBefore: Bool) throws {
        let writer = vault()
        try change("a", wasPendingBefore ? [removal] : [], in: writer)
        try change("a", [], in: writer)
        let reader = try quietReader()
        for _ in 0..<100 {
            let before = try reader.journal.snapshot()
            try change("a", [removal], in: writer)
            #expect(try reader.journal.snapshot().mayHavePending)
            #expect(try reader.journal.snapshot().generation != before.generation)
            try change("a", [], in: writer)
            #expect(try !reader.journal.snapshot().mayHavePending)
        }
    }

    @Test func changesWithoutPendingWritesAreCounted() throws {
        let writer = vault()
        try change("a", [], in: writer)
        let reader = try quietReader()
        let before = try reader.journal.snapshot().generation
        try change("b", [], in: writer)
        #expect(reader.quiet.withLock { $0?.place.isUnchanged } == true)
        #expect(try reader.journal.snapshot().generation != before)
        #expect(try reader.journal.snapshot().generation == reader.journal.generation())
    }

    @Test func anotherVaultInItsPlaceIsSeen() throws {
        try change("a", [], in: vault())
        let reader = try quietReader()
        try change("a", [removal], in: vault(directory.path + "/other"))
        rename(path, directory.path + "/old")
        #expect(try reader.journal.snapshot().generation == 0)
        rename(directory.path + "/other", path)
        #expect(try reader.journal.snapshot().mayHavePending)
    }

    /// Nothing is pending in it, which is no secret; its items are refused.
    @Test func aVaultThatIsOpenToOthersIsRefused() throws {
        try change("a", [], in: vault())
        let reader = try quietReader()
        chmod(path, 0o755)
        #expect(throws: TokenKeepError(.denied, "")) {
            try reader.item(ItemName(service: "example.com", account: "a"), call)
        }
        #expect(throws: TokenKeepError(.denied, "")) { try vault().journal.snapshot() }
    }
}
