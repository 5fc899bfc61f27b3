import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A recovery code, used where a change of keys was cut short.
@Suite struct InterruptedChangeTests {
    private let locked = LockedVault()
    private static let accounts = ["a", "b", "c"]
    private static let files = ["header", "header.2", "keyfile"]

    private func everythingIsReadable(from vault: Vault? = nil) throws -> Bool {
        try Self.accounts.allSatisfy { try locked.load($0, from: vault ?? locked.other()) == $0 }
    }

    private func fill() throws -> SecretBytes {
        for account in Self.accounts { try locked.save(account, account) }
        try locked.setPassword()
        return try locked.vault.createRecoveryCode(password: SecretBytes("old"), locked.call)
    }

    /// Cuts a change short: one record seems to be of a later version, and keeps the older keys.
    private func interrupting(_ change: () throws -> Void) throws {
        let name = "records/" + locked.records[1]
        let good = locked.file(name)
        var later = good
        later[8] = 9
        locked.directory.write(later, to: "vault/" + name)
        #expect(throws: TokenKeepError(.unsupported, "")) { try change() }
        locked.directory.write(good, to: "vault/" + name)
        #expect(try #require(try locked.other().open()).keys.header.isRekeying)
    }

    private func change(to new: String) throws {
        _ = try locked.vault.changePassword(
            from: SecretBytes("old"), to: SecretBytes(new), isCompromised: true, locked.call)
    }

    /// The code is refused with a way out, and nothing is written.
    private func expectRefusal(of code: SecretBytes) throws {
        let before = Self.files.map(locked.file)
        #expect {
            try locked.other().recover(code: code, newPassword: SecretBytes("third"), locked.call)
        } throws: { error in
            let error = error as? TokenKeepError
            return error?.status == .unsupported && error?.hint?.contains("tokenkeep unlock") == true
        }
        #expect(Self.files.map(locked.file) == before)
        #expect(try everythingIsReadable())
    }

    @Test func theCodeOpensNoneOfTwoGenerationsOfKeys() throws {
        let code = try fill()
        try interrupting { try change(to: "new") }
        try expectRefusal(of: code)
        // Nor from where no key is resident.
        try locked.vault.lock()
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try locked.elsewhere().recover(code: code, newPassword: SecretBytes("third"), locked.call)
        }
        #expect(try locked.strength(.diskTheft) == .enforced)
        let other = locked.other()
        try other.finishRekeying(try locked.unlock("new", other), locked.call)
        #expect(try everythingIsReadable())
        // The change ended the old code; another one, made now, is good.
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try locked.vault.recover(code: code, newPassword: SecretBytes("third"), locked.call)
        }
        let second = try locked.vault.createRecoveryCode(password: SecretBytes("new"), locked.call)
        #expect(throws: TokenKeepError(.denied, "")) {
            try locked.vault.recover(code: code, newPassword: SecretBytes("third"), locked.call)
        }
        try locked.vault.lock()
        _ = try locked.vault.recover(code: second, newPassword: SecretBytes("third"), locked.call)
        #expect(try everythingIsReadable())
    }

    @Test func aCodeIsMadeAfterTheChangeIsDone() throws {
        _ = try fill()
        try interrupting { try change(to: "new") }
        let code = try locked.other().createRecoveryCode(password: SecretBytes("new"), locked.call)
        #expect(try !#require(try locked.other().open()).keys.header.isRekeying)
        try locked.vault.lock()
        _ = try locked.other().recover(code: code, newPassword: SecretBytes("third"), locked.call)
        #expect(try everythingIsReadable())
    }

    @Test func aRemovalThatWasCutShortIsNotUndoneByACode() throws {
        let code = try fill()
        try interrupting {
            try locked.vault.removePassword(SecretBytes("old"), isDestroying: false, locked.call)
        }
        try expectRefusal(of: code)
        #expect(try locked.strength(.diskTheft) == .none)
        let other = locked.other()
        try other.finishRekeying(try locked.unlock("old", other), locked.call)
        #expect(try everythingIsReadable(from: locked.elsewhere()))
    }

    /// Killed between the two copies of the header: the first is as before, so the code is good, and what the second
    /// brought goes.
    @Test func theCodeIsGoodWhileTheFirstCopyIsTheOldOne() throws {
        let code = try fill()
        let before = Self.files.map(locked.file)
        let records = locked.records.map { locked.file("records/" + $0) }
        var second: [UInt8] = []
        _ = try locked.vault.changePassword(
            from: SecretBytes("old"), to: SecretBytes("new"), isCompromised: true, locked.call
        ) { done, _ in
            if done == 0 { second = locked.file("header.2") }
        }
        for (name, bytes) in zip(Self.files, before) { locked.directory.write(bytes, to: "vault/" + name) }
        for (name, bytes) in zip(locked.records, records) { locked.directory.write(bytes, to: "vault/records/" + name) }
        locked.directory.write(second, to: "vault/header.2")
        try #require(!second.isEmpty && second != before[1])

        #expect(throws: TokenKeepError(.denied, "")) { try locked.unlock("new", locked.other()) }
        _ = try locked.other().recover(code: code, newPassword: SecretBytes("third"), locked.call)
        #expect(try everythingIsReadable())
        #expect(locked.file("header") == locked.file("header.2"))
        try locked.vault.lock()
        for password in ["old", "new"] {
            #expect(throws: TokenKeepError(.denied, "")) { try locked.unlock(password) }
        }
        try locked.unlock("third")
        #expect(try everythingIsReadable())
    }
}
