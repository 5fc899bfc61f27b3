import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys

@Suite struct TemporaryKeysTests {
    private let vaultID = [UInt8](repeating: 1, count: 16)

    @Test func temporaryKeysAreNeverWithoutTheirMark() throws {
        let time = MutexGuarded<Int64>(0)
        let store = ClassKeyStore(simulatingKernelAt: { time.withLock { $0 } })
        let key = try OpenKey.make(.level(.afterFirstUnlock))
        try store.keep([key], nil, of: vaultID, expiringAfter: 60)
        for (second, isThere, isMarked) in [(59, true, true), (60, false, true), (62, false, false)] {
            time.withLock { $0 = Int64(second) }
            #expect(try (store.key(key.id, for: key.purpose, of: vaultID) != nil) == isThere, "\(second)")
            #expect(store.areTemporary(vaultID) == isMarked, "\(second)")
        }
    }

    @Test func keysThatAreKeptAgainLoseTheirMark() throws {
        let store = ClassKeyStore(simulatingKernelAt: { 0 })
        let key = try OpenKey.make(.level(.afterFirstUnlock))
        try store.keep([key], nil, of: vaultID, expiringAfter: 60)
        try store.keep([key], nil, of: vaultID)
        #expect(!store.areTemporary(vaultID))
    }
}
