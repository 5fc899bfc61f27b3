import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys

@testable import TokenKeepRecords

/// The mark that tokens wait to be revoked.
@Suite struct OutboxMarkTests {
    private let directory = TemporaryDirectory()

    /// Each logout sets the mark, and those of several accounts run side by side.
    @Test func everyThreadThatSetsItAtOnceSucceeds() throws {
        let records = Records(VaultOpener(path: directory.path + "/vault", residentKeys: ClassKeyStore()))
        let mark = OutboxMark(records, namespace: "")
        let failures = MutexGuarded<[String]>([])
        try mark.set()
        for _ in 0..<100 {
            #expect(mark.remove(if: mark.identity))
            let threads = (0..<4).map { _ in
                TestThread {
                    do throws(TokenKeepError) {
                        try mark.set()
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                }
            }
            for thread in threads { thread.join() }
            #expect(mark.isSet)
        }
        #expect(failures.withLock { Set($0) } == [])
    }

    /// Logouts side by side do not wait for each other.
    @Test func nobodyRemovesItWhileATokenIsAdded() throws {
        let records = Records(VaultOpener(path: directory.path + "/vault", residentKeys: ClassKeyStore()))
        try OutboxMark(records, namespace: "").set()
        let call = CallContext(deadline: .patient)
        let isRemovable = { try OutboxLock.tryForRemoving(records) != nil }
        do {
            let first = try OutboxLock.acquireForAdding(records, call)
            let second = try OutboxLock.acquireForAdding(records, call)
            let (isFirst, isSecond) = (first != nil, second != nil)
            #expect(isFirst && isSecond)
            #expect(try !isRemovable())
        }
        let removing = try OutboxLock.tryForRemoving(records)
        let isRemoving = removing != nil
        #expect(isRemoving)
        #expect(try !isRemovable())
        let late = try OutboxLock.acquireForAdding(records, CallContext(deadline: Deadline(milliseconds: 0)))
        let isAdding = late != nil
        #expect(!isAdding)
    }
}
