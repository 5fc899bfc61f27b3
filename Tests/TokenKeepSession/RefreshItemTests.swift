import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

@testable import TokenKeepKeys
@testable import TokenKeepSession

/// Refresh tokens at a stricter level than their session.
struct RefreshItemTests {
    private let world = SessionWorld()
    private let service = "api.example.com"
    private let refreshService = "org.tokenkeep.session.refresh"

    /// A session whose refresh token is of level when-unlocked, in a vault with a password.
    private func separated() throws -> SessionEngine {
        _ = try world.store().passwords.set(SecretBytes("horse"))
        return try world.signedIn(refreshLevel: .whenUnlocked)
    }

    private func record() throws -> String {
        try world.store().load(service: service, account: "ann").secret.utf8String ?? ""
    }

    private func refreshItem() throws -> TokenItem {
        let store = try world.store()
        let item = try #require(try store.list(service: refreshService).items.first)
        return try store.load(service: refreshService, account: item.name.account)
    }

    private func refreshItems() throws -> Int { try world.store().list(service: refreshService).items.count }

    @Test func theRecordHasNoRefreshTokenAndTheItemHasTheLevel() throws {
        let session = try separated()
        #expect(try !record().contains("refresh-1"))
        let item = try refreshItem()
        #expect(item.details.accessLevel == .whenUnlocked)
        #expect(item.secret.utf8String?.contains("refresh-1") == true)
        let info = try session.info()
        #expect(info.refreshLevel == .whenUnlocked)
        #expect(info.level == .afterFirstUnlock)
        #expect(info.canRenew)
    }

    @Test func aRefreshReplacesBoth() throws {
        let session = try separated()
        world.move(seconds: 3400)
        try world.store().unlock(SecretBytes("horse"))
        #expect(try session.token().text == "access-2")
        #expect(try !record().contains("refresh-2"))
        #expect(try refreshItem().secret.utf8String?.contains("refresh-2") == true)
        #expect(try refreshItem().details.accessLevel == .whenUnlocked)
        world.move(seconds: 3400)
        try world.store().unlock(SecretBytes("horse"))
        #expect(try world.session().token().text == "access-3", "another handle knows the item by the record")
    }

    @Test func whileItIsLockedTheAccessTokenWorksAndNothingIsSent() throws {
        let session = try separated()
        world.move(seconds: 181)
        #expect(throws: TokenKeepError(.locked, "")) { try refreshItem() }
        #expect(try session.token().text == "access-1")
        #expect(throws: TokenKeepError(.locked, "")) { try session.refresh() }
        world.move(seconds: 3300)
        #expect(try session.token().text == "access-1", "it ends soon, and is valid")
        world.move(seconds: 200)
        #expect(throws: TokenKeepError(.locked, "")) { try session.token() }
        #expect(try session.info().state == .user)
        #expect(world.server.requests.isEmpty)
        try world.store().unlock(SecretBytes("horse"))
        #expect(try session.token().text == "access-2")
    }

    @Test func aLevelThatIsNotStricterIsRefused() throws {
        for level in [AccessLevel.memoryOnly, .afterFirstUnlock] {
            let session = try world.session(refreshLevel: level)
            if level == .afterFirstUnlock {
                try session.begin(.user, response: SecretBytes(world.server.signIn))
                #expect(try record().contains("refresh-1"), "the same level keeps one item")
            } else {
                #expect(throws: TokenKeepError(.invalid, "")) {
                    try session.begin(.user, response: SecretBytes(world.server.signIn))
                }
            }
        }
        #expect(try refreshItems() == 0)
        #expect(AccessLevel.whenUnlocked.isStricter(than: .afterFirstUnlock))
        #expect(!AccessLevel.whenUnlocked.isStricter(than: .afterFirstUnlockThisDeviceOnly))
        #expect(AccessLevel.whenUnlockedThisDeviceOnly.isStricter(than: .whenUnlocked))
    }

    @Test func anotherSignInKeepsTheLevelAndTheSessionsOwnLevelEndsIt() throws {
        _ = try separated()
        try world.session().begin(.user, response: SecretBytes(world.server.signIn))
        #expect(try !record().contains("refresh-1"))
        #expect(try refreshItem().secret.utf8String?.contains("previous") == false)
        let joined = try world.session(refreshLevel: .afterFirstUnlock)
        try joined.begin(.user, response: SecretBytes(world.server.signIn))
        #expect(try record().contains("refresh-1"))
        #expect(try refreshItems() == 0)
        #expect(try joined.info().refreshLevel == nil)
    }

    @Test func aSignInNeedsNoOldRefreshTokenThatIsLocked() throws {
        let world = SessionWorld(stack: "any required secret-service")
        _ = try world.store().passwords.set(SecretBytes("horse"))
        let session = try world.signedIn(refreshLevel: .whenUnlocked)
        world.shelf.lock()
        let response = #"{"access_token":"fresh","refresh_token":"other","expires_in":3600}"#
        try session.begin(.user, response: SecretBytes(response))
        #expect(try world.session().token().text == "fresh")
        world.shelf.unlock()
        _ = try world.store().pendingChanges.sync()
        #expect(try world.session().token().text == "fresh")
    }

    /// The keyring with the old refresh token is locked; the vault is locked before the new record is written.
    @Test func aSignInThatFailsBetweenItsWritesLeavesARefreshTokenThatItCouldNotRead() throws {
        let world = SessionWorld(stack: "any required secret-service")
        _ = try world.store().passwords.set(SecretBytes("horse"))
        let session = try world.signedIn(refreshLevel: .whenUnlocked)
        world.shelf.lock()
        let lines = MutexGuarded(false)
        let failing = try world.session(whenExplained: { line in
            guard line.hasPrefix("saved the refresh token") else { return }
            lines.withLock { $0 = true }
            _ = try? world.store().lock()
        })
        let response = #"{"access_token":"fresh","refresh_token":"other","expires_in":3600}"#
        #expect(throws: TokenKeepError(.locked, "")) { try failing.begin(.user, response: SecretBytes(response)) }
        #expect(lines.withLock { $0 })
        world.shelf.unlock()
        try world.store().unlock(SecretBytes("horse"))
        _ = try world.store().pendingChanges.sync()
        #expect(try session.refresh().text == "access-2")
        #expect(world.server.requests == ["refresh-1"])
        #expect(
            try world.store().list(service: refreshService).items.count == 1, "that of the failed sign-in is cleared")
        // The next sign-in can read it, and the item of the one before is replaced.
        try session.begin(.user, response: SecretBytes(response))
        #expect(try session.token().text == "fresh")
        #expect(try world.store().list(service: refreshService).items.count == 1)
    }

    @Test func aSignInOverALockedRefreshTokenClearsItOnceItsRecordIsThere() throws {
        let world = SessionWorld(stack: "any required secret-service")
        _ = try world.store().passwords.set(SecretBytes("horse"))
        let session = try world.signedIn(refreshLevel: .whenUnlocked)
        for number in 1...2 {
            world.shelf.lock()
            let response = #"{"access_token":"fresh-\#(number)","refresh_token":"refresh-1","expires_in":3600}"#
            try session.begin(.user, response: SecretBytes(response))
            world.shelf.unlock()
            _ = try world.store().pendingChanges.sync()
            #expect(try session.token().text == "fresh-\(number)")
            #expect(try world.store().list(service: refreshService).items.count == 1)
        }
        #expect(try session.refresh().text == "access-2")
        _ = try session.end()
        #expect(world.server.revoked == ["refresh-2"])
        #expect(try world.store().list(service: refreshService).items.isEmpty)
    }

    @Test func aTokenWhoseItemIsGoneComesBackAtItsLevel() throws {
        let session = try separated()
        world.move(seconds: 3400)
        let store = try world.store()
        try store.unlock(SecretBytes("horse"))
        let name = try refreshItem().details.name
        world.server.whileAnswering { _ = try? store.clear(service: name.service, account: name.account) }
        #expect(try session.token().text == "access-2")
        #expect(try refreshItem().details.accessLevel == .whenUnlocked)
    }

    @Test func aLogoutRevokesItAndClearsBoth() throws {
        let session = try separated()
        #expect(try session.end().revocation == .done)
        #expect(world.server.revoked == ["refresh-1"])
        #expect(try refreshItems() == 0)
        #expect(throws: TokenKeepError(.notFound, "")) { try record() }
    }

    @Test func aLocalLogoutClearsBoth() throws {
        _ = try separated().end(isLocalOnly: true)
        #expect(world.server.revoked.isEmpty)
        #expect(try refreshItems() == 0)
    }

    @Test func aLogoutWhileItIsLockedClearsTheRecordAndRevokesItLater() throws {
        let session = try separated()
        world.move(seconds: 181)
        #expect(try session.end().revocation == .waitingForUnlock)
        #expect(throws: TokenKeepError(.notFound, "")) { try record() }
        #expect(try refreshItems() == 1)
        try world.store().unlock(SecretBytes("horse"))
        #expect(try Outbox(world.store(), session.options).flush().sent == 1)
        #expect(world.server.revoked == ["refresh-1"])
        #expect(try refreshItems() == 0)
    }

    @Test func aRefreshWhoseRecordWasNotWrittenLosesNothing() throws {
        let session = try separated()
        let before = try world.store().load(service: service, account: "ann")
        world.move(seconds: 3400)
        try world.store().unlock(SecretBytes("horse"))
        #expect(try session.token().text == "access-2")
        // As after a crash between both writes: the item is new, the record is old.
        _ = try world.store().save(SaveRequest(before))
        try session.storage.changeNote(session.begin()) { note in
            note.generation = 1
            return true
        }
        #expect(try refreshItem().secret.utf8String?.contains("refresh-2") == true)
        #expect(try world.session().token().text == "access-3")
        #expect(world.server.requests == ["refresh-1", "refresh-2"])
    }

    @Test func aSignInThatIsCutShortLeavesTheEarlierSessionItsToken() throws {
        let session = try separated()
        let before = try world.store().load(service: service, account: "ann")
        let epoch = try #require(try session.storage.note()?.epoch)
        try world.session().begin(.user, response: SecretBytes(world.server.signIn))
        // As after a crash before the record: the item has both tokens, note and record are the earlier sign-in's.
        let new = try RefreshItem(refreshItem().secret).entry
        let old = RefreshItem.Entry(epoch: epoch, generation: 1, token: try SecretBytes("refresh-1"), provider: nil)
        _ = try world.store().save(
            SaveRequest(
                name: refreshItem().details.name, secret: RefreshItem(new, previous: old).serialized(),
                accessLevel: .whenUnlocked))
        _ = try world.store().save(SaveRequest(before))
        try session.storage.changeNote(session.begin()) { note in
            (note.epoch, note.nextEpoch) = (epoch, new.epoch)
            return true
        }
        world.move(seconds: 3400)
        try world.store().unlock(SecretBytes("horse"))
        #expect(try world.session().token().text == "access-2")
        #expect(try refreshItem().secret.utf8String?.contains("previous") == false)
    }

    @Test func theItemOfASignInThatNeverHadARecordIsCleared() throws {
        let session = try separated()
        let epoch = try #require(try session.storage.note()?.epoch)
        _ = try world.store().clear(service: service, account: "ann")
        try session.storage.changeNote(session.begin()) { note in
            (note.epoch, note.nextEpoch, note.state) = ("", epoch, .unknown)
            return true
        }
        #expect(throws: TokenKeepError(.notFound, "")) { try world.session().token() }
        #expect(try refreshItems() == 0)
        #expect(try session.storage.note()?.refreshLevel == 0)
    }

    @Test func aMissingItemIsNoSignOut() throws {
        let session = try separated()
        _ = try world.store().clear(service: refreshService)
        #expect(try session.token().text == "access-1")
        #expect(throws: TokenKeepError(.expired, "")) { try session.refresh() }
        world.move(seconds: 3700)
        #expect(throws: TokenKeepError(.expired, "")) { try session.token() }
        #expect(world.server.requests.isEmpty)
    }

    @Test func aDamagedItemSendsNothing() throws {
        let session = try separated()
        let name = try refreshItem().details.name
        for (garbage, status) in [
            ("{}", Status.corrupt), ("x", .corrupt), (#"{"tokenkeep_refresh":2}"#, .unsupported),
            (#"{"tokenkeep_refresh":1,"epoch":"e","refresh_token":"a\nb"}"#, .corrupt),
        ] {
            _ = try world.store().save(
                SaveRequest(name: name, secret: SecretBytes(garbage), accessLevel: .whenUnlocked))
            #expect(throws: TokenKeepError(status, "")) { try session.refresh() }
            #expect(try session.token().text == "access-1")
        }
        #expect(world.server.requests.isEmpty)
    }

    @Test func mutatedItemsAreReadOrRefused() throws {
        let entry = RefreshItem.Entry(epoch: "ab", generation: 7, token: try SecretBytes("refresh"), provider: nil)
        let sample = try RefreshItem(entry, previous: entry).serialized().withUnsafeBytes { Array($0) }
        var taken = 0
        for seed in 1...2000 {
            var mutation = Mutation(seed: UInt64(seed))
            let bytes = mutation.mutated(sample)
            let secret = try bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
            guard let item = try? RefreshItem(secret) else { continue }
            taken += 1
            let again = try RefreshItem(item.serialized())
            #expect(again.entry.token == item.entry.token)
        }
        #expect((1..<2000).contains(taken))
    }

    @Test func aScreenThatLocksMeanwhileLosesNothing() throws {
        let session = try separated()
        world.move(seconds: 3400)
        let store = try world.store()
        try store.unlock(SecretBytes("horse"))
        world.server.whileAnswering { _ = try? store.lock(.screen) }
        #expect(try session.token().text == "access-2")
        #expect(throws: TokenKeepError(.locked, "")) { try refreshItem() }
        world.keys.stashes.withLock { #expect($0.isEmpty) }
        try store.unlock(SecretBytes("horse"))
        #expect(try refreshItem().secret.utf8String?.contains("refresh-2") == true)
    }
}
