import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys

@testable import TokenKeepRecords

/// A reader that remembers that nothing was owed must see when something is.
@Suite struct OutlookTests {
    private let directory = TemporaryDirectory(inMemory: true)
    private let call = CallContext(deadline: Deadline(milliseconds: 5000))
    private var path: String { directory.path + "/vault" }

    private func vault() -> Vault { Vault(arena: SecretArena(), path: path) }

    private func change(_ account: String, _ debts: [PendingWrite], in vault: Vault) throws {
        let name = try ItemName(service: "s", account: account)
        try vault.change(name, call) { _, _ throws(TokenKeepError) in
            (debts.isEmpty ? .remove : .tombstone(debts: debts), ())
        }
    }

    private var debt: PendingWrite {
        PendingWrite(module: "secret-service", machine: Array(repeating: 1, count: 16), kind: .delete, since: UnixTime(1))
    }

    /// A reader that has asked so often, and so late, that it remembers.
    private func quietReader() throws -> Vault {
        let reader = vault()
        let deadline = Deadline(milliseconds: 10_000)
        while reader.quiet.withLock({ $0 == nil }), !deadline.hasPassed {
            #expect(try reader.snapshot().mayHavePending == false)
            sched_yield()
        }
        #expect(reader.quiet.withLock { $0 != nil })
        return reader
    }

    @Test(arguments: [true, false]) func whatIsOwedIsSeenAtOnce(wasPendingBefore: Bool) throws {
        let writer = vault()
        try change("a", wasPendingBefore ? [debt] : [], in: writer)
        try change("a", [], in: writer)
        let reader = try quietReader()
        for _ in 0..<100 {
            let before = try reader.snapshot()
            try change("a", [debt], in: writer)
            #expect(try reader.snapshot().mayHavePending)
            #expect(try reader.snapshot().generation != before.generation)
            try change("a", [], in: writer)
            #expect(try !reader.snapshot().mayHavePending)
        }
    }

    @Test func changesThatOweNothingAreCounted() throws {
        let writer = vault()
        try change("a", [], in: writer)
        let reader = try quietReader()
        let before = try reader.snapshot().generation
        try change("b", [], in: writer)
        #expect(reader.quiet.withLock { $0?.place.isSame } == true)
        #expect(try reader.snapshot().generation != before)
        #expect(try reader.snapshot().generation == reader.generation())
    }

    @Test func anotherVaultInItsPlaceIsSeen() throws {
        try change("a", [], in: vault())
        let reader = try quietReader()
        let other = Vault(arena: SecretArena(), path: directory.path + "/other")
        try change("a", [debt], in: other)
        rename(path, directory.path + "/old")
        #expect(try reader.snapshot().generation == 0)
        rename(directory.path + "/other", path)
        #expect(try reader.snapshot().mayHavePending)
    }

    @Test func aVaultThatIsOpenToOthersIsRefused() throws {
        try change("a", [], in: vault())
        let reader = try quietReader()
        chmod(path, 0o755)
        #expect(throws: TokenKeepError(.denied, "")) { try reader.snapshot() }
    }
}
