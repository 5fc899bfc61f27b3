import Glibc
import Synchronization
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// The log of changes and its readers.
@Suite struct ChangeLogTests {
    private let directory = TemporaryDirectory()
    private var vault: String { directory.path + "/vault" }
    private var path: String { vault + "/changes" }

    init() { mkdir(directory.path + "/vault", 0o700) }

    private func log() throws -> ChangeLog { try ChangeLog(#require(try VaultDirectory.open(vault))) }

    private static func record(_ number: Int) -> [UInt8] {
        (0..<16).map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> ($0 * 8)) : 7 }
    }

    private func inode() throws -> UInt64 { try #require(try SystemCall.status(of: path, in: AT_FDCWD)).identity.inode }

    /// A reader of a log that has an entry: before that, anything may have changed.
    private func reader() throws -> ChangeLogReader {
        try log().append(.anything)
        return ChangeLogReader(vault: vault)
    }

    @Test func namesWhatWasChangedSinceTheLastReading() throws {
        var reader = try reader()
        #expect(reader.changedRecords {} == [])
        for number in [1, 2, 1] { try log().append(.changed(ChangeLogTests.record(number))) }
        #expect(reader.changedRecords {} == [ChangeLogTests.record(1), ChangeLogTests.record(2)])
        #expect(reader.changedRecords {} == [])
        try log().append(.anything)
        #expect(reader.changedRecords {} == nil)
        #expect(reader.changedRecords {} == [])
    }

    /// A process that was killed after its change has announced nothing.
    @Test func whatHasBegunIsNamedUntilItHasEnded() throws {
        var reader = try reader()
        try log().append(.began(ChangeLogTests.record(1)))
        for _ in 0..<3 { #expect(reader.changedRecords {} == [ChangeLogTests.record(1)]) }
        try log().append(.ended(ChangeLogTests.record(1)))
        #expect(reader.changedRecords {} == [])
        for number in 0..<100 { try log().append(.began(ChangeLogTests.record(number))) }
        #expect(reader.changedRecords {} == nil, "too many to read each time")
        #expect(reader.changedRecords {} == [])
    }

    /// The reader is always within the last two logs.
    @Test func aLongLogIsReplacedAndNothingIsMissed() throws {
        var reader = try reader()
        var newLogs = 0
        for round in 0..<60 {
            let numbers = (0..<500).map { round * 500 + $0 }
            let log = try log()
            for number in numbers { try log.append(.changed(ChangeLogTests.record(number))) }
            let found = try #require(reader.changedRecords { newLogs += 1 })
            #expect(found == numbers.map(ChangeLogTests.record))
            let size = try #require(try SystemCall.status(of: path, in: AT_FDCWD)).size
            #expect(size < 2 * ChangeLog.limit)
        }
        #expect(newLogs > 1)
    }

    /// Another process writes through a descriptor that it opened before.
    @Test func anEntryForAReplacedLogGoesToTheNewOne() throws {
        let early = try log()
        var reader = try reader()
        let before = try inode()
        var number = 0
        while try inode() == before {
            number += 1
            try log().append(.changed(ChangeLogTests.record(number)))
        }
        #expect(reader.changedRecords {} == (1...number).map(ChangeLogTests.record))
        try early.append(.changed(ChangeLogTests.record(0)))
        #expect(reader.changedRecords {} == [ChangeLogTests.record(0)])
    }

    /// Each round writes less than a whole log, so that the reader is never left behind by two.
    @Test func noEntryIsMissedWhileOthersReplaceTheLog() throws {
        var reader = try reader()
        let (rounds, threads, each) = (12, 4, 1_000)
        var seen: Set<[UInt8]> = []
        var newLogs = 0
        for round in 0..<rounds {
            let ended = Counter()
            let workers = (0..<threads).map { thread in
                let first = (round * threads + thread) * each
                return writer(of: first..<first + each) { ended.value.add(1, ordering: .releasing) }
            }
            var isLast = false
            while !isLast {
                isLast = ended.value.load(ordering: .acquiring) == threads
                seen.formUnion(try #require(reader.changedRecords { newLogs += 1 }))
            }
            for worker in workers { worker.join() }
        }
        #expect(seen.count == rounds * threads * each && newLogs > 1)
    }

    private func writer(of numbers: Range<Int>, _ whenEnded: @escaping @Sendable () -> Void) -> TestThread {
        let vault = vault
        return TestThread {
            defer { whenEnded() }
            guard let directory = try? VaultDirectory.open(vault), let log = try? ChangeLog(directory) else { return }
            for number in numbers { _ = try? log.append(.changed(ChangeLogTests.record(number))) }
        }
    }

    @Test func aLogThatIsEmptiedRemovedOrDamagedMayHaveNamedAnything() throws {
        var reader = try reader()
        for number in 0..<4 { try log().append(.changed(ChangeLogTests.record(number))) }
        #expect(reader.changedRecords {} != nil)
        #expect(truncate(path, 0) == 0)
        for number in 0..<9 { try log().append(.changed(ChangeLogTests.record(number))) }
        #expect(reader.changedRecords {} == nil)
        unlink(path)
        #expect(reader.changedRecords {} == nil)
        try log().append(.changed(ChangeLogTests.record(1)))
        #expect(reader.changedRecords {} == nil)
        directory.write((directory.read("vault/changes") ?? []) + [1, 2, 3], to: "vault/changes")
        #expect(reader.changedRecords {} == nil)
        try log().append(.changed(ChangeLogTests.record(2)))
        #expect(reader.changedRecords {} == [ChangeLogTests.record(2)])
        directory.write(
            (directory.read("vault/changes") ?? []) + [UInt8](repeating: 0xFF, count: 32), to: "vault/changes")
        #expect(reader.changedRecords {} == nil)
    }
}

private final class Counter: Sendable {
    let value = Atomic(0)
}
