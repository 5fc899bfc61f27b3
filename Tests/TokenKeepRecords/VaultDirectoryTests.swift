import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

@Suite struct VaultDirectoryTests {
    private let directory = TemporaryDirectory()
    private let call = CallContext(deadline: Deadline(milliseconds: 5000))
    private var vault: String { directory.path + "/vault" }

    private func records(path: String? = nil) -> Records {
        Records(VaultOpener(path: path ?? vault, residentKeys: ClassKeyStore()))
    }

    private func module(path: String? = nil) -> VaultModule { VaultModule(records(path: path)) }

    private func save(_ account: String, in module: VaultModule) throws {
        _ = try module.save(
            SaveRequest(name: ItemName(service: "s", account: account), secret: SecretBytes(account)), call)
    }

    private func load(_ account: String, from module: VaultModule) throws -> String? {
        try module.load(ItemName(service: "s", account: account), call).secret.utf8String
    }

    @Test func makesEverythingForTheUserAlone() throws {
        let path = directory.path + "/a/b/vault"
        try save("a", in: module(path: path))
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
        try save("a", in: module())
        chmod(vault, 0o755)
        #expect {
            try load("a", from: module())
        } throws: { error in
            (error as? TokenKeepError)?.status == .denied && (error as? TokenKeepError)?.hint == "chmod 700 '\(vault)'"
        }
        #expect(throws: TokenKeepError(.denied, "")) { try save("b", in: module()) }
        chmod(vault, 0o700)
        #expect(try load("a", from: module()) == "a")
    }

    @Test func refusesALinkAndAFile() throws {
        try save("a", in: module(path: directory.path + "/real"))
        symlink(directory.path + "/real", vault)
        #expect(throws: TokenKeepError(.denied, "")) { try load("a", from: module()) }
        #expect(throws: TokenKeepError(.denied, "")) { try save("a", in: module()) }
        unlink(vault)
        directory.write([], to: "vault")
        #expect(throws: TokenKeepError(.denied, "")) { try load("a", from: module()) }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a directory away"))
    func refusesADirectoryOfAnotherUser() throws {
        try save("a", in: module())
        chown(vault, 12345, 12345)
        #expect(throws: TokenKeepError(.denied, "")) { try load("a", from: module()) }
    }

    @Test func isNotMadeAmongOtherFiles() throws {
        directory.write([1], to: "vault/letter.txt")
        #expect(throws: TokenKeepError(.invalid, "")) { try save("a", in: module()) }
        #expect(directory.names(in: "vault") == ["letter.txt"])
        #expect(throws: TokenKeepError(.notFound, "")) { try load("a", from: module()) }
    }

    @Test func reportsWhatIsMissing() throws {
        #expect(module().report(call).notes == ["not made yet: the first save makes it"])
        try save("a", in: module())
        #expect(module().report(call).problem == nil)
        unlink(vault + "/era-1/header.2")
        directory.write([], to: "vault/era-1/records/\(String(repeating: "a", count: 32)).corrupt-1")
        let notes = module().report(call).notes
        #expect(notes.contains { $0.hasPrefix("header.2") })
        #expect(notes.contains("unreadable records that were set aside: 1"))
        rename(vault + "/era-1/records", vault + "/lost")
        #expect(module().report(call).problem?.status == .corrupt)
    }

    /// A pipe in a file's place must not make anybody wait, and a link in a record's place must not be followed.
    @Test func refusesWhatIsNoFile() throws {
        try save("a", in: module())
        let record = "vault/era-1/records/" + (try #require(directory.names(in: "vault/era-1/records").first))
        let bytes = try #require(directory.read(record))
        unlink("\(directory.path)/\(record)")
        mkfifo("\(directory.path)/\(record)", 0o600)
        #expect(throws: TokenKeepError(.corrupt, "")) { try load("a", from: module()) }
        unlink("\(directory.path)/\(record)")
        directory.write(bytes, to: "elsewhere")
        symlink(directory.path + "/elsewhere", "\(directory.path)/\(record)")
        #expect(throws: TokenKeepError(.corrupt, "")) { try load("a", from: module()) }
    }

    /// A vault that is removed and made anew, or restored from a copy, is seen as it is by a store that is open.
    @Test func seesAnotherVaultInItsPlace() throws {
        let module = module()
        try save("a", in: module)
        rename(vault, directory.path + "/backup")
        #expect(throws: TokenKeepError(.notFound, "")) { try load("a", from: module) }
        try save("b", in: module)
        #expect(try load("b", from: module) == "b")
        rename(vault, directory.path + "/second")
        rename(directory.path + "/backup", vault)
        #expect(try load("a", from: module) == "a")
        #expect(throws: TokenKeepError(.notFound, "")) { try load("b", from: module) }
    }

    private static let made = ["current", "era-1/header", "era-1/header.2", "era-1/keyfile"]

    /// A crash while the vault was made leaves a beginning, which the next save replaces.
    @Test(arguments: 0...made.count)
    func replacesAnInterruptedMaking(missing: Int) throws {
        try save("a", in: module())
        for name in directory.names(in: "vault/era-1/records") { unlink("\(vault)/era-1/records/\(name)") }
        for name in Self.made.prefix(missing) { unlink("\(vault)/\(name)") }
        #expect(throws: TokenKeepError(.notFound, "")) { try load("a", from: module()) }
        try save("b", in: module())
        #expect(try load("b", from: module()) == "b")
        #expect(directory.names(in: "vault/era-1") == ["header", "header.2", "keyfile", "records"])
    }

    /// Records without `current` are a vault that lost it: no other is made in its place.
    @Test func recordsWithoutCurrentAreNoNewVault() throws {
        try save("a", in: module())
        unlink(vault + "/current")
        #expect {
            try load("a", from: module())
        } throws: { error in
            (error as? TokenKeepError)?.status == .corrupt
                && (error as? TokenKeepError)?.hint == "restore it: ln -s era-1 '\(vault)/current'"
        }
        #expect(throws: TokenKeepError(.corrupt, "")) { try save("b", in: module()) }
        #expect(symlink("era-1", vault + "/current") == 0)
        #expect(try load("a", from: module()) == "a")
    }

    @Test(arguments: ["era-2", "era-01", "era-0", "era-", "../vault/era-1", "era-1/", "era-99999999999999999999", ""])
    func currentThatNamesNoEraIsDamage(target: String) throws {
        try save("a", in: module())
        unlink(vault + "/current")
        if target.isEmpty { directory.write([], to: "vault/current") } else { symlink(target, vault + "/current") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try load("a", from: module()) }
        #expect(throws: TokenKeepError(.corrupt, "")) { try save("b", in: module()) }
        #expect(directory.names(in: "vault/era-1/records").count == 1)
    }

    /// One copy of the header is enough to go on, and the next save makes the other again.
    @Test(arguments: ["header", "header.2"])
    func replacesALostHeader(lost: String) throws {
        try save("a", in: module())
        let bytes = try #require(directory.read("vault/era-1/header"))
        unlink("\(vault)/era-1/\(lost)")
        #expect(try load("a", from: module()) == "a")
        #expect(directory.read("vault/era-1/\(lost)") == nil)
        try save("b", in: module())
        #expect(directory.read("vault/era-1/\(lost)") == bytes)
    }

    /// What a crash left in the place of an unfinished write is neither waited for nor written into.
    @Test func replacesWhatAnUnfinishedWriteLeft() throws {
        try save("a", in: module())
        let record = "\(vault)/era-1/records/" + (try #require(directory.names(in: "vault/era-1/records").first))
        mkfifo(record + ".tmp", 0o644)
        try save("a", in: module())
        directory.write(
            [1], to: "vault/era-1/records/" + (record.split(separator: "/").last ?? "") + ".tmp", mode: 0o644)
        try save("a", in: module())
        #expect(try #require(try SystemCall.status(of: record, in: AT_FDCWD)).permissions == 0o600)
        directory.write([1], to: "vault/era-1/records/" + (record.split(separator: "/").last ?? "") + ".tmp")
        #expect(try module().clear(ItemName(service: "s", account: "a"), ifVersion: nil, call))
        #expect(directory.names(in: "vault/era-1/records") == [])
    }

    @Test func aLinkOnTheWayIsFollowedButNotTheVaultItself() throws {
        mkdir(directory.path + "/disk", 0o700)
        symlink(directory.path + "/disk", directory.path + "/share")
        try save("a", in: module(path: directory.path + "/share/vault"))
        #expect(try load("a", from: module(path: directory.path + "/disk/vault")) == "a")
    }

    @Test func recordsMustNotBeALink() throws {
        try save("a", in: module())
        rename(vault + "/era-1/records", directory.path + "/elsewhere")
        symlink(directory.path + "/elsewhere", vault + "/era-1/records")
        for attempt in [{ _ = try load("a", from: module()) }, { try save("a", in: module()) }] {
            #expect(throws: TokenKeepError.self, performing: attempt)
        }
    }

    @Test func passesOverWhatIsNoRecord() throws {
        try save("a", in: module())
        let name = try #require(directory.names(in: "vault/era-1/records").first)
        for junk in ["\(name).tmp", "\(name).corrupt-1", "README", name.uppercased() + "0", "x" + name.dropFirst()] {
            directory.write([0], to: "vault/era-1/records/\(junk)")
        }
        let listing = try module().list(namespace: "", service: nil, call)
        #expect(listing.items.count == 1)
        #expect(listing.problem == nil)
        try save("a", in: module())
        #expect(try load("a", from: module()) == "a")
    }

    @Test func waitsForALockUntilItsDeadlineAndNoLonger() throws {
        try save("a", in: module())
        let opened = try #require(try records().open())
        let lock = try VaultLock(.whole, of: opened.directory, call)
        let short = CallContext(deadline: Deadline(milliseconds: 50))
        let request = try SaveRequest(name: ItemName(service: "s", account: "a"), secret: SecretBytes("new"))
        #expect(throws: TokenKeepError(.busy, "")) { try module().save(request, short) }
        #expect(try load("a", from: module()) == "a")  // readers take no lock
        lock.release()
        // The wait that was given up must not hold the lock now that it was granted.
        _ = try module().save(request, call)
        #expect(try load("a", from: module()) == "new")
    }

    @Test func aLockThatIsGrantedToACancelledCallIsLetGo() throws {
        try save("a", in: module())
        let opened = try #require(try records().open())
        let cancellation = Cancellation()
        cancellation.cancel()
        let cancelled = CallContext(deadline: Deadline(milliseconds: 1000, cancellation: cancellation))
        #expect(throws: TokenKeepError(.cancelled, "")) {
            try VaultLock(.whole, of: opened.directory, cancelled).release()
        }
        try VaultLock(.whole, of: opened.directory, CallContext(deadline: Deadline(milliseconds: 0))).release()
    }

    /// Who asks the user holds nobody off the item, and only one asks.
    @Test func oneMayAskAtATime() throws {
        try save("a", in: module())
        let records = records()
        let right = try #require(try item("a", records).beginAsking())
        #expect(try item("a", records).isAsked)
        let second = try item("a", records).beginAsking()
        #expect(second == nil)
        #expect(try !item("b", records).isAsked)
        let opened = try #require(try records.open())
        try VaultLock(.whole, of: opened.directory, CallContext(deadline: Deadline(milliseconds: 0))).release()
        right.end()
        #expect(try !item("a", records).isAsked)
    }

    private func item(_ account: String, _ records: Records) throws -> ItemTransaction {
        try records.begin(ItemName(service: "s", account: account), call)
    }
}
