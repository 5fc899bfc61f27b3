import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Watches of a store that cannot reach a module, while another process can reach the module.
@Suite struct WatchOutageTests {
    private let service = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private var stores: TestStore { TestStore(service, in: directory) }

    @Test func eachChangeIsCovered() throws {
        let near = try stores.open()
        let far = try stores.open(isConnected: false)
        for account in ["known", "gone"] { try near.put("0", account) }
        try far.put("1", "pending")
        let watch = try StoreWatch(stores.open(isConnected: false))
        #expect(watch.problem?.status == .unavailable)
        #expect(try watch.all() == [])
        func covers(_ what: String, _ change: () throws -> Void) throws {
            try change()
            #expect(try watch.all().last == .listAgain, "\(what)")
            #expect(try watch.all() == [], "\(what), once")
        }
        try covers("new") { try near.put("1", "new") }
        try covers("known") { try near.put("1", "known") }
        try covers("gone") { try near.clear(service: "example.com", account: "gone") }
        try covers("drained") { _ = try near.pendingChanges.sync() }
        try covers("pending 2") { try near.put("2", "pending") }
        try covers("pending 3") { try near.put("3", "pending") }
        try covers("pending cleared") { try near.clear(service: "example.com", account: "pending") }
        try covers("known cleared from afar") { try far.clear(service: "example.com", account: "known") }
        try covers("known saved from afar") { try far.put("2", "known") }
    }

    /// A watch does not report a module that stays unavailable more than once.
    @Test func anOutageAloneIsNotToldAgainAndAgain() throws {
        try stores.open().put("0", "ann")
        try stores.open(isConnected: false).put("0", "bob")
        let far = try stores.open(isConnected: false)
        let deadline = Deadline.patient
        var view = try ItemView.first(of: far, service: nil, until: deadline).view
        for _ in 1...5 {
            for occasion in [ItemView.Occasion.clock, .module] {
                let (changes, isRead) = view.update(from: far, service: nil, on: occasion, until: deadline)
                #expect(changes == [] && isRead)
            }
        }
        #expect(view.update(from: far, service: nil, on: .signal, until: deadline).changes == [.listAgain])
        // The module can be reached again.
        let near = try stores.open()
        _ = view.update(from: near, service: nil, on: .module, until: deadline)
        #expect(view.update(from: near, service: nil, on: .signal, until: deadline).changes == [])
        // A known item becomes unreadable.
        #expect(view.update(from: far, service: nil, on: .clock, until: deadline).changes == [])
        #expect(view.update(from: near, service: nil, on: .clock, until: deadline).changes == [])
        #expect(view.update(from: far, service: nil, on: .signal, until: deadline).changes == [.listAgain])
        #expect(view.update(from: near, service: nil, on: .module, until: deadline).changes == [.listAgain])
    }
}
