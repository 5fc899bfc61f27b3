import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

/// A real gnome-keyring that is stopped when a connected store calls, and goes on once it has the call's message.
///
/// A change is pending for the keyring, and another program has saved a newer value there.
@Suite struct StoppedKeyringTests {
    private let keyring: PrivateKeyring
    private let ours: TestStore
    private let theirs: TestStore

    init() throws {
        keyring = try PrivateKeyring()
        ours = TestStore(keyring.bus, in: TemporaryDirectory(inMemory: true))
        theirs = TestStore(keyring.bus, in: TemporaryDirectory(inMemory: true))
    }

    /// Runs a call of a connected store on the changes; returns its answer.
    private func whileStopped<Answer>(
        afterChange change: (Store) throws -> Void, _ call: (Store) throws -> Answer
    ) throws -> Answer {
        let store = try ours.open()
        try store.put("old")
        try change(try ours.open(isConnected: false))
        awaitNextSecond()
        try theirs.open().put("theirs")
        let monitor = try BusMonitor(keyring.bus)
        keyring.freeze(true)
        let waker = TestThread { [keyring] in
            _ = Patience.wait { monitor.hasPassedCalls }
            keyring.freeze(false)
        }
        defer { waker.join() }
        return try call(store)
    }

    @Test func aLoadAnswersTheNewerValue() throws {
        let found = try whileStopped(afterChange: { try $0.put("ours") }, { try $0.value() })
        #expect(found == "theirs")
    }

    @Test func aPendingRemovalHidesNoNewerValue() throws {
        let clear: (Store) throws -> Void = { _ = try $0.clear(service: "example.com", account: "ann") }
        let found = try whileStopped(afterChange: clear, { try $0.value() })
        #expect(found == "theirs")
    }

    @Test(arguments: [true, false]) func aConditionSeesTheNewerValue(saves: Bool) throws {
        var version: UInt64 = 0
        let error = try whileStopped(afterChange: { version = try $0.put("ours").version }) { store throws -> TokenKeepError? in
            let error = #expect(throws: TokenKeepError.self) {
                if saves {
                    try store.put("new", if: .version(version))
                } else {
                    try store.clear(service: "example.com", account: "ann", ifVersion: version)
                }
            }
            let found = try store.value()
            #expect(found == "theirs")
            return error
        }
        #expect(error?.status == .conflict)
    }
}
