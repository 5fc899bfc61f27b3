import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

/// A connected store beside a real gnome-keyring that is stopped, with a pending change for the keyring, while another
/// program has saved a newer value there.
@Suite struct StoppedKeyringMovedClockTests {
    /// The pending change, which the store itself did not make.
    enum Change: CaseIterable {
        case save, removal, removalOfTheService
    }

    private let shared: SharedKeyring
    private var keyring: PrivateKeyring { shared.keyring }
    private var ours: TestStore { shared.ours }
    private var theirs: TestStore { shared.theirs }

    init() throws { shared = try SharedKeyring() }

    /// Returns a connected store, and the version of the item with its pending change.
    private func connected(_ change: Change) throws -> (store: Store, version: UInt64) {
        let store = try ours.open()
        var version = try store.put("old").version
        let offline = try ours.open(isConnected: false)
        switch change {
        case .save: version = try offline.put("ours").version
        case .removal: try offline.clear(service: "example.com", account: "ann")
        case .removalOfTheService: _ = try offline.clear(service: "example.com")
        }
        awaitNextSecond()
        try theirs.open().put("theirs")
        return (store, version)
    }

    private func conditionalChange(_ store: Store, _ version: UInt64, saves: Bool) -> Status {
        do {
            if saves {
                try store.put("new", if: .version(version))
            } else {
                try store.clear(service: "example.com", account: "ann", ifVersion: version)
            }
            return .ok
        } catch {
            return error.status
        }
    }

    // MARK: A keyring that goes on once it has the call's message

    @Test(arguments: Change.allCases) func aLoadAnswersTheNewerValue(change: Change) throws {
        let (store, _) = try connected(change)
        #expect(try keyring.stopped(during: { try store.value() }) == "theirs")
    }

    @Test(arguments: [true, false]) func aConditionSeesTheNewerValue(saves: Bool) throws {
        let (store, version) = try connected(.save)
        let status = try keyring.stopped { conditionalChange(store, version, saves: saves) }
        #expect(status == .conflict)
        #expect(try store.value() == "theirs")
    }

    // MARK: A keyring that does not go on

    /// The longest duration of a call, by the tests' clock, which still runs between the call's limit and the call's end.
    private func limit(_ store: Store) -> Duration {
        .milliseconds(store.timeoutMilliseconds) + .milliseconds(Patience.milliseconds)
    }

    /// The record answers, and the store leaves time for its answer.
    @Test(arguments: Change.allCases) func aLoadEndsByItsDeadline(change: Change) throws {
        let (store, _) = try connected(change)
        let loaded = try keyring.hung { try store.value() }
        #expect(loaded.answer == (change == .save ? "ours" : nil))
        #expect(loaded.duration < limit(store), "\(loaded.duration)")
        // The change is still pending: it hides no newer value once the keyring goes on.
        #expect(try Patience.wait { try ours.open().value() == "theirs" })
    }

    @Test(arguments: [true, false]) func aConditionThatCannotBeCheckedChangesNothing(saves: Bool) throws {
        let (store, version) = try connected(.save)
        let changed = try keyring.hung { conditionalChange(store, version, saves: saves) }
        #expect(changed.answer == .timedOut)
        #expect(changed.duration < limit(store), "\(changed.duration)")
        #expect(try Patience.wait { try ours.open().value() == "theirs" })
    }
}
