import Foundation
import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

/// A watch goes on when its vault is removed, restored, exchanged or made anew, in whatever order, and whether it is read in
/// between or not.
///
/// The watching program has the vault's directory and log open, so that the kernel does not tell it of their removal.
@Suite struct WatchReplacementTests {
    @Test(arguments: Replacement.allCases, [false, true])
    func aChangeAfterAReplacementIsReported(_ how: Replacement, _ isReadBetween: Bool) throws {
        let world = ReplacedVault()
        try world.open().put("1", "ann")
        let watch = try StoreWatch(world.open())
        var seen = Belief(try world.open().list().items)
        try world.replace(how) { if isReadBetween { try seen.read(watch, world) } }
        for number in 1...3 {
            try world.open().put("\(number)", "late\(number)")
            #expect(watch.becomesReadable)
            let changes = try seen.read(watch, world)
            #expect(changes.contains(.saved(try name("late\(number)"))), "\(changes)")
        }
        #expect(seen.accounts == Belief(try world.open().list().items).accounts)
    }

    /// While the vault is away, the watch reports that its items are gone, and nothing else.
    @Test func aVaultThatIsAwayIsWaitedFor() throws {
        let world = ReplacedVault()
        try world.open().put("1", "ann")
        let watch = try StoreWatch(world.open())
        try world.remove(world.vault)
        #expect(watch.becomesReadable)
        #expect(try watch.all() == [.cleared(name("ann"))])
        #expect(try watch.all() == [])
        #expect(watch.lookAgainMilliseconds == -1)
        try world.open().put("1", "bob")
        #expect(try watch.all() == [.saved(name("bob"))])
    }

    /// Only the log tells of changes: what a backup's program copies after the log is found by later readings.
    @Test func itemsThatAreCopiedAfterTheLogAreReported() throws {
        let world = ReplacedVault()
        for account in ["ann", "bob"] { try world.open().put("1", account) }
        let watch = try StoreWatch(world.open())
        // The vault without its records has a log, and can be read.
        let (records, copied) = ("/era-1/records", world.copyPath + "-records")
        try world.copy(world.vault, to: world.copyPath)
        try world.move(world.copyPath + records, to: copied)
        mkdir(world.copyPath + records, 0o700)
        try world.remove(world.vault)
        _ = try watch.all()
        try world.move(world.copyPath, to: world.vault)
        var seen = Belief([])
        try seen.read(watch, world)
        #expect(watch.lookAgainMilliseconds == -1)
        try world.copy(copied, to: world.vault + records)
        let isFound = try Patience.wait {
            #expect(watch.becomesReadable)
            try seen.read(watch, world)
            return seen.accounts == ["ann", "bob"]
        }
        #expect(isFound)
    }

    @Test func manyEventsAreReportedInTheirOrder() throws {
        let world = ReplacedVault()
        let accounts = (0..<200).map { "a\(1000 + $0)" }
        for account in accounts { try world.open().put("1", account) }
        let watch = try StoreWatch(world.open())
        try world.move(world.vault, to: world.copyPath)
        #expect(try watch.all() == accounts.map { .cleared(try name($0)) })
        try world.move(world.copyPath, to: world.vault)
        #expect(try watch.all() == accounts.map { .saved(try name($0)) })
    }
}

/// The accounts that an observer of a watch believes to exist.
private struct Belief {
    private(set) var accounts: Set<String>

    init(_ items: [ItemDetails]) { accounts = Set(items.map(\.name.account)) }

    @discardableResult
    mutating func read(_ watch: StoreWatch, _ world: ReplacedVault) throws -> [ItemChange] {
        let changes = try watch.all()
        for change in changes {
            switch change {
            case .saved(let name): accounts.insert(name.account)
            case .cleared(let name): accounts.remove(name.account)
            case .listAgain: accounts = Set(((try? world.open().list().items) ?? []).map(\.name.account))
            }
        }
        return changes
    }
}

extension ReplacedVault {
    fileprivate convenience init() {
        self.init { path in try ReplacedVault.open(path).put("1", "other") }
    }

    fileprivate static func open(_ path: String) throws -> Store {
        var configuration = StoreConfiguration(stackText: "any required vault")
        configuration.vaultPath = path
        return try Store(configuration)
    }

    fileprivate func open() throws -> Store { try ReplacedVault.open(vault) }
}
