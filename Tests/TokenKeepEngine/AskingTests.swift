import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine

/// Changes of an item while the service asks its user whether it may delete the item.
@Suite struct AskingTests {
    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)

    /// - Parameter meanwhile: runs while the user is asked, as another process's action.
    private func opened(
        isInteractive: Bool = false, isLocked: Bool = false, meanwhile: @escaping @Sendable () -> Void = {}
    ) throws -> Store {
        try TestStore(world, in: directory).open {
            $0.isInteractive = isInteractive
            $0.standIns["secret-service"] = { [world] in
                AskingConnection(
                    base: ScriptedConnection(world, isConnected: true, versionKey: $0), isLocked: isLocked,
                    meanwhile: meanwhile)
            }
        }
    }

    /// The user allowed the deletion of the old item only, so a newer item stays.
    @Test func whatIsSavedWhileTheUserThinksIsNotDeleted() throws {
        try opened().put("old")
        let asked = MutexGuarded(0)
        let store = try opened(isInteractive: true) {
            asked.withLock { $0 += 1 }
            _ = try? opened().put("newer")
            #expect((try? opened().value()) == "newer")
        }
        try store.clear(service: "example.com", account: "ann")
        #expect(asked.withLock { $0 } == 1)
        #expect(try opened().value() == "newer")
        #expect(try opened().pendingChanges.sync().left == 0)
        #expect(try opened().value() == "newer")
        #expect(world.items[try name()]?.secret.utf8String == "newer")
    }

    /// A locked service shows no prompt. Only a deletion that the service wants its user to confirm leads to a prompt.
    @Test func onlyWhatAsksIsAsked() throws {
        try opened().put("old")
        let asked = MutexGuarded(0)
        try opened(isInteractive: true, isLocked: true) { asked.withLock { $0 += 1 } }
            .clear(service: "example.com", account: "ann")
        #expect(asked.withLock { $0 } == 0)
        #expect(try opened().pendingChanges.report().entries.count == 1)
    }

    @Test func nobodyAsksTheSameTwiceAtOnce() throws {
        try opened().put("old")
        let asked = MutexGuarded(0)
        let store = try opened(isInteractive: true) {
            asked.withLock { $0 += 1 }
            #expect(
                (try? opened(isInteractive: true, meanwhile: { asked.withLock { $0 += 1 } }).pendingChanges.sync().left)
                    == 1)
        }
        try store.clear(service: "example.com", account: "ann")
        #expect(asked.withLock { $0 } == 1)
        #expect(world.items.isEmpty)
        #expect(try opened().pendingChanges.report().entries.isEmpty)
    }
}

/// A connection to a service that asks its user before each deletion.
private struct AskingConnection: BasicModule {
    let base: ScriptedConnection
    var isLocked = false
    let meanwhile: @Sendable () -> Void

    var name: String { base.name }
    var supportsPendingWrites: Bool { true }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem { try base.load(name, call) }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try base.save(request, call)
    }

    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        let found = try Dispatcher.unlessNotFound { () throws(TokenKeepError) in try base.load(name, call) }
        guard let present = found else { return false }
        if let version { try SaveRequest.check(version: version, of: name, present: present.details) }
        guard call.promptsAllowed else {
            var error = TokenKeepError(.locked, "it asks first")
            error.asksBeforeDeleting = !isLocked
            throw error
        }
        meanwhile()
        return try base.clear(name, ifVersion: nil, call)
    }

    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try base.list(namespace: namespace, service: service, call)
    }

    func report(_ call: CallContext) -> ModuleReport { base.report(call) }
}
