import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

@Suite struct VaultDirectoryTests {
    private let directory = TemporaryDirectory()
    private let call = CallContext.patient
    private var vault: String { directory.path + "/vault" }

    private func records(path: String? = nil) -> Records {
        Records(VaultOpener(path: path ?? vault, residentKeys: ClassKeyStore()))
    }

    private func module(path: String? = nil) -> VaultModule { VaultModule(records(path: path)) }

    @Test func makesEverythingForTheUserAlone() throws {
        let path = directory.path + "/a/b/vault"
        try module(path: path).put("a", "a")
        let folders = ["a", "a/b", "a/b/vault", "a/b/vault/era-1", "a/b/vault/era-1/records"]
        for name in folders { #expect(try mode(name) == 0o700) }
        for folder in folders.dropFirst(2) {
            for file in directory.names(in: folder) where !["current", "era-1", "records"].contains(file) {
                #expect(try mode("\(folder)/\(file)") == 0o600)
            }
        }
        #expect(directory.names(in: "a/b/vault/era-1") == ["header", "header.2", "keyfile", "records"])
    }

    private func mode(_ name: String) throws -> UInt32 {
        try #require(try SystemCall.status(of: "\(directory.path)/\(name)", in: AT_FDCWD)).permissions
    }

    @Test func refusesADirectoryThatIsOpenToOthers() throws {
        try module().put("a", "a")
        chmod(vault, 0o755)
        #expect {
            try module().value("a")
        } throws: { error in
            (error as? TokenKeepError)?.status == .denied && (error as? TokenKeepError)?.hint == "chmod 700 '\(vault)'"
        }
        #expect(throws: TokenKeepError(.denied, "")) { try module().put("b", "b") }
        chmod(vault, 0o700)
        #expect(try module().value("a") == "a")
    }

    @Test func refusesALinkAndAFile() throws {
        try module(path: directory.path + "/real").put("a", "a")
        symlink(directory.path + "/real", vault)
        #expect(throws: TokenKeepError(.denied, "")) { try module().value("a") }
        #expect(throws: TokenKeepError(.denied, "")) { try module().put("a", "a") }
        unlink(vault)
        directory.write([], to: "vault")
        #expect(throws: TokenKeepError(.denied, "")) { try module().value("a") }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a directory away"))
    func refusesADirectoryOfAnotherUser() throws {
        try module().put("a", "a")
        chown(vault, 12345, 12345)
        #expect(throws: TokenKeepError(.denied, "")) { try module().value("a") }
    }

    @Test func isNotMadeAmongOtherFiles() throws {
        directory.write([1], to: "vault/letter.txt")
        #expect(throws: TokenKeepError(.invalid, "")) { try module().put("a", "a") }
        #expect(directory.names(in: "vault") == ["letter.txt"])
        #expect(throws: TokenKeepError(.notFound, "")) { try module().value("a") }
    }

    @Test func reportsWhatIsMissing() throws {
        #expect(module().report(call).remarks == ["not made yet: the first save makes it"])
        try module().put("a", "a")
        #expect(module().report(call).problem == nil)
        unlink(vault + "/era-1/header.2")
        directory.write([], to: "vault/era-1/records/\(String(repeating: "a", count: 32)).corrupt-1")
        let notes = module().report(call).remarks
        #expect(notes.contains { $0.hasPrefix("header.2") })
        #expect(notes.contains("unreadable records that were set aside: 1"))
        rename(vault + "/era-1/records", vault + "/lost")
        #expect(module().report(call).problem?.status == .corrupt)
    }

    /// A pipe in a file's place must not make anybody wait, and a link in a record's place must not be followed.
    @Test func refusesWhatIsNoFile() throws {
        try module().put("a", "a")
        let record = "vault/era-1/records/" + (try #require(directory.names(in: "vault/era-1/records").first))
        let bytes = try #require(directory.read(record))
        unlink("\(directory.path)/\(record)")
        mkfifo("\(directory.path)/\(record)", 0o600)
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().value("a") }
        unlink("\(directory.path)/\(record)")
        directory.write(bytes, to: "elsewhere")
        symlink(directory.path + "/elsewhere", "\(directory.path)/\(record)")
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().value("a") }
    }

    /// A vault that is removed and made anew, or restored from a copy, is seen as it is by a store that is open.
    @Test func seesAnotherVaultInItsPlace() throws {
        let module = module()
        try module.put("a", "a")
        rename(vault, directory.path + "/backup")
        #expect(throws: TokenKeepError(.notFound, "")) { try module.value("a") }
        try module.put("b", "b")
        #expect(try module.value("b") == "b")
        rename(vault, directory.path + "/second")
        rename(directory.path + "/backup", vault)
        #expect(try module.value("a") == "a")
        #expect(throws: TokenKeepError(.notFound, "")) { try module.value("b") }
    }

    private static let made = ["current", "era-1/header", "era-1/header.2", "era-1/keyfile"]

    /// A crash while the vault was made leaves a beginning, which the next save replaces.
    @Test(arguments: 0...made.count)
    func replacesAnInterruptedMaking(missing: Int) throws {
        try module().put("a", "a")
        for name in directory.names(in: "vault/era-1/records") { unlink("\(vault)/era-1/records/\(name)") }
        for name in Self.made.prefix(missing) { unlink("\(vault)/\(name)") }
        #expect(throws: TokenKeepError(.notFound, "")) { try module().value("a") }
        try module().put("b", "b")
        #expect(try module().value("b") == "b")
        #expect(directory.names(in: "vault/era-1") == ["header", "header.2", "keyfile", "records"])
    }

    /// Records without `current` are a vault that lost it: no other is made in its place.
    @Test func recordsWithoutCurrentAreNoNewVault() throws {
        try module().put("a", "a")
        unlink(vault + "/current")
        #expect {
            try module().value("a")
        } throws: { error in
            (error as? TokenKeepError)?.status == .corrupt
                && (error as? TokenKeepError)?.hint == "restore it: ln -s era-1 '\(vault)/current'"
        }
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().put("b", "b") }
        #expect(symlink("era-1", vault + "/current") == 0)
        #expect(try module().value("a") == "a")
    }

    @Test(arguments: ["era-2", "era-01", "era-0", "era-", "../vault/era-1", "era-1/", "era-99999999999999999999", ""])
    func currentThatNamesNoEraIsDamage(target: String) throws {
        try module().put("a", "a")
        unlink(vault + "/current")
        if target.isEmpty { directory.write([], to: "vault/current") } else { symlink(target, vault + "/current") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().value("a") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try module().put("b", "b") }
        #expect(directory.names(in: "vault/era-1/records").count == 1)
    }

    /// One copy of the header is enough to go on, and the next save makes the other again.
    @Test(arguments: ["header", "header.2"])
    func replacesALostHeader(lost: String) throws {
        try module().put("a", "a")
        let bytes = try #require(directory.read("vault/era-1/header"))
        unlink("\(vault)/era-1/\(lost)")
        #expect(try module().value("a") == "a")
        #expect(directory.read("vault/era-1/\(lost)") == nil)
        try module().put("b", "b")
        #expect(directory.read("vault/era-1/\(lost)") == bytes)
    }

    /// What a crash left in the place of an unfinished write is neither waited for nor written into.
    @Test func replacesWhatAnUnfinishedWriteLeft() throws {
        try module().put("a", "a")
        let record = "\(vault)/era-1/records/" + (try #require(directory.names(in: "vault/era-1/records").first))
        mkfifo(record + ".tmp", 0o644)
        try module().put("a", "a")
        directory.write(
            [1], to: "vault/era-1/records/" + (record.split(separator: "/").last ?? "") + ".tmp", mode: 0o644)
        try module().put("a", "a")
        #expect(try #require(try SystemCall.status(of: record, in: AT_FDCWD)).permissions == 0o600)
        directory.write([1], to: "vault/era-1/records/" + (record.split(separator: "/").last ?? "") + ".tmp")
        #expect(try module().clear(name("a"), ifVersion: nil, call))
        #expect(directory.names(in: "vault/era-1/records") == [])
    }

    @Test func aLinkOnTheWayIsFollowedButNotTheVaultItself() throws {
        mkdir(directory.path + "/disk", 0o700)
        symlink(directory.path + "/disk", directory.path + "/share")
        try module(path: directory.path + "/share/vault").put("a", "a")
        #expect(try module(path: directory.path + "/disk/vault").value("a") == "a")
    }

    @Test func recordsMustNotBeALink() throws {
        try module().put("a", "a")
        rename(vault + "/era-1/records", directory.path + "/elsewhere")
        symlink(directory.path + "/elsewhere", vault + "/era-1/records")
        for attempt in [{ _ = try module().value("a") }, { try module().put("a", "a") }] {
            #expect(throws: TokenKeepError.self, performing: attempt)
        }
    }

    @Test func passesOverWhatIsNoRecord() throws {
        try module().put("a", "a")
        let name = try #require(directory.names(in: "vault/era-1/records").first)
        for junk in ["\(name).tmp", "\(name).corrupt-1", "README", name.uppercased() + "0", "x" + name.dropFirst()] {
            directory.write([0], to: "vault/era-1/records/\(junk)")
        }
        let listing = try module().list(namespace: "", service: nil, call)
        #expect(listing.items.count == 1)
        #expect(listing.problem == nil)
        try module().put("a", "a")
        #expect(try module().value("a") == "a")
    }

    @Test func aLockThatIsGrantedToACancelledCallIsLetGo() throws {
        try module().put("a", "a")
        let opened = try #require(try records().open())
        let cancellation = Cancellation()
        cancellation.cancel()
        let cancelled = CallContext(deadline: .patient.cancelled(by: cancellation))
        #expect(throws: TokenKeepError(.cancelled, "")) {
            try VaultLock(.whole, of: opened.directory, cancelled).release()
        }
        try VaultLock(.whole, of: opened.directory, .passed).release()
    }

    /// Who asks the user holds nobody off the item, and only one asks.
    @Test func oneMayAskAtATime() throws {
        try module().put("a", "a")
        let records = records()
        let right = try #require(try item("a", records).beginAsking())
        #expect(try item("a", records).isAsked)
        let second = try item("a", records).beginAsking()
        #expect(second == nil)
        #expect(try !item("b", records).isAsked)
        let opened = try #require(try records.open())
        try VaultLock(.whole, of: opened.directory, .passed).release()
        right.end()
        #expect(try !item("a", records).isAsked)
    }

    private func item(_ account: String, _ records: Records) throws -> ItemTransaction {
        try records.begin(name(account), call)
    }
}
