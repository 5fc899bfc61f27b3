import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// A watch reads the changed sessions alone, and knows as much as a list of all.
@Suite struct SessionsViewTests {
    private static let services = ["api.example.com", "web"]
    private static let accounts = ["ann", "bob", "eve", "joe"]

    private let world = SessionWorld()

    /// The sessions as the watch's changes describe them.
    private struct Seen {
        let watch: SessionsWatch
        let store: Store
        private(set) var sessions: [String: SessionInfo] = [:]

        init(_ store: Store) throws {
            self.store = store
            watch = try SessionsWatch(store)
        }

        mutating func look() throws -> SessionChanges {
            let changes = try watch.changes()
            for info in changes.gone { sessions[info.service + "/" + info.account] = nil }
            for info in changes.present { sessions[info.service + "/" + info.account] = info }
            return changes
        }

        mutating func expectAll(after step: String) throws {
            _ = try look()
            let listed = try Sessions(store).list().sessions
            let seen = sessions.values.sorted { ($0.service, $0.account) < ($1.service, $1.account) }
            #expect(seen == listed, "after \(step)")
        }
    }

    private static func change(_ store: Store, _ numbers: inout SeededNumbers) throws -> String {
        let service = services[numbers.number(0..<2)]
        let account = accounts[numbers.number(0..<4)]
        let session = try SessionEngine(store, service: service, account: account)
        let step = numbers.number(0..<10)
        switch step {
        case 0: _ = try? session.end(isLocalOnly: true)
        case 1...3: try? Sessions(store).makeActive(service: service, account: account)
        default:
            let life = numbers.number(0..<3) * 1800
            let answer = #"{"access_token":"a","expires_in":\#(life),"refresh_token":"r"}"#
            try session.begin(step == 4 ? .guest : .user, response: SecretBytes(answer))
        }
        return "step \(step) of \(service) \(account)"
    }

    @Test(arguments: 1...8) func theViewAgreesWithAList(_ seed: UInt64) throws {
        var numbers = SeededNumbers(seed: seed)
        let (store, other) = (try world.store(), try world.store())
        var seen = try Seen(store)
        try seen.expectAll(after: "the beginning")
        for number in 1...60 {
            var steps: [String] = []
            // An even number of changes can give a file its earlier inode number.
            for _ in 0..<numbers.number(1..<5) { steps.append(try SessionsViewTests.change(other, &numbers)) }
            try seen.expectAll(after: "\(steps)")
            if number == 30 {
                _ = try other.passwords.set(SecretBytes("horse"))
                try seen.expectAll(after: "a change of keys")
            }
        }
    }

    @Test func aNoteThatHasItsEarlierInodeNumberIsReadAgain() throws {
        let store = try world.store()
        let session = try SessionEngine(store, service: "web", account: "ann")
        try session.begin(.guest, response: SecretBytes(#"{"access_token":"a","expires_in":900}"#))
        var seen = try Seen(store)
        try seen.expectAll(after: "the beginning")
        let folder = world.vault + "/current/sessions/"
        let name = try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.count == 32 }
        let note = try #require(name)
        link(folder + note, folder + "kept")
        try session.begin(.user, response: SecretBytes(#"{"access_token":"b","expires_in":5000}"#))
        // The file of the first note gets the bytes of the second.
        let bytes = try #require(FileManager.default.contents(atPath: folder + note))
        let file = try #require(FileHandle(forWritingAtPath: folder + "kept"))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: bytes)
        try file.close()
        rename(folder + "kept", folder + note)
        try seen.expectAll(after: "a sign-in")
        #expect(seen.sessions.values.first?.kind == .user)
    }

    @Test func aLookReadsTheChangedSessionAlone() throws {
        let store = try world.store()
        for number in 1...20 {
            let answer = #"{"access_token":"a","expires_in":3600,"refresh_token":"r"}"#
            try SessionEngine(store, service: "web", account: "user\(number)").begin(
                .user, response: SecretBytes(answer))
        }
        var seen = try Seen(store)
        #expect(try seen.look().present.count == 20)
        #expect(try seen.look().present.isEmpty)
        try Sessions(store).makeActive(service: "web", account: "user7")
        #expect(try seen.look().present.map(\.account).sorted() == ["user1", "user7"])
        _ = try SessionEngine(store, service: "web", account: "user3").end(isLocalOnly: true)
        #expect(try seen.look().present.map(\.account) == ["user3"])
    }

    /// A listing would show that another session's file is gone.
    @Test(arguments: ["any required vault", "any required secret-service\nany required vault"])
    func aFirstSignInListsNoDirectory(_ stack: String) throws {
        let (store, other) = (try world.store(stack), try world.store(stack))
        func signIn(_ account: String) throws {
            try SessionEngine(other, service: "web", account: account).begin(
                .user, response: SecretBytes(#"{"access_token":"a","expires_in":3600,"refresh_token":"r"}"#))
        }
        try signIn("ann")
        var seen = try Seen(store)
        try seen.expectAll(after: "the beginning")
        let folder = world.vault + "/current/sessions/"
        let note = try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.count == 32 }
        try FileManager.default.removeItem(atPath: folder + #require(note))
        for account in ["bob", "eve"] {
            try signIn(account)
            let changes = try seen.look()
            #expect(changes.present.map(\.account) == [account])
            #expect(changes.gone.isEmpty)
        }
    }

    /// A keeper of 10 000 accounts would list 10 000 files. A listing would show that another session's file is gone.
    @Test func aSignInThatHasNotWrittenAnythingListsNoDirectory() throws {
        let (store, other) = (try world.store(), try world.store())
        let answer = try SecretBytes(#"{"access_token":"a","expires_in":3600,"refresh_token":"r"}"#)
        try SessionEngine(other, service: "web", account: "ann").begin(.user, response: answer)
        var seen = try Seen(store)
        try seen.expectAll(after: "the beginning")
        let folder = world.vault + "/current/sessions/"
        let note = try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.count == 32 }
        try FileManager.default.removeItem(atPath: folder + #require(note))
        let looks = MutexGuarded<[SessionChanges]>([])
        let watch = seen.watch
        var options = SessionOptions()
        options.explain = { _ in
            if let changes = try? watch.changes() { looks.withLock { $0.append(changes) } }
        }
        let bob = try SessionEngine(other, service: "web", account: "bob", options)
        #expect(throws: TokenKeepError(.notFound, "")) { try bob.token() }
        #expect(try seen.look().gone.isEmpty, "a question")
        // The look is between the first note and the change mark.
        try bob.begin(.user, response: answer)
        let during = looks.withLock { $0 }
        #expect(!during.isEmpty && during.allSatisfy { $0.gone.isEmpty && $0.present.isEmpty }, "during the sign-in")
        let changes = try seen.look()
        #expect(changes.present.map(\.account) == ["bob"])
        #expect(changes.gone.isEmpty, "after the sign-in")
    }

    @Test func lockedNamesAreReportedWhenTheyOpen() throws {
        let store = try world.store()
        try SessionEngine(store, service: "web", account: "ann").begin(
            .user, response: SecretBytes(#"{"access_token":"a","expires_in":3600,"refresh_token":"r"}"#))
        _ = try store.passwords.set(SecretBytes("horse"))
        _ = try store.lock()
        var seen = try Seen(try world.store())
        let locked = try seen.look()
        #expect(locked.present.isEmpty && locked.hasLocked)
        _ = try store.unlock(SecretBytes("horse"))
        let opened = try seen.look()
        #expect(opened.present.map(\.account) == ["ann"])
        #expect(!opened.hasLocked)
    }
}
