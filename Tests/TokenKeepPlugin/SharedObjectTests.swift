import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine
@testable import TokenKeepPlugin

/// Modules as shared objects: what is loaded, what is refused and why, what a wrong answer comes to.
@Suite struct SharedObjectTests {
    private static let fixture = "Tests/TokenKeepPlugin/Fixtures/fixture.c"
    static let good = Result { try BuiltModule(fixture, name: "fixture") }

    func name(_ account: String = "ann") throws -> ItemName {
        try ItemName(service: "example.com", account: account)
    }

    func module(
        _ path: String, _ arguments: [String] = [], mayBeMissing: Bool = false
    ) throws -> PluginModule {
        var setting = PluginModule.Setting(file: ModuleFile(path: path))
        setting.arguments = arguments
        setting.timeoutMilliseconds = Patience.milliseconds
        setting.mayBeMissing = mayBeMissing
        let key = try ItemVersionKey.random()
        return PluginModule(setting) { () throws(TokenKeepError) in key }
    }

    private var call: CallContext { .patient }

    private func failure(_ module: PluginModule) throws -> TokenKeepError? {
        do throws(TokenKeepError) {
            _ = try module.load(ItemName(service: "example.com", account: "ann"), call)
            return nil
        } catch { return error }
    }

    /// A module may keep the pointers of a call and of a handle for too long.
    @Test func aCallThatHasEndedIsIgnored() throws {
        let host = HostTable.address.pointee
        let pointer = HostTable.lend(PluginCall(call)) { pointer in
            #expect(host.is_over(pointer) == 0)
            return pointer
        }
        _ = (0..<100).map { _ in PluginCall(call) }  // takes the memory of the call that has ended
        #expect(host.is_over(pointer) == 1)
        #expect(host.remaining_ms(pointer) == 0)
        #expect(host.may_prompt(pointer) == 0)
        host.set_error(pointer, "too late")
        host.note(pointer, "too late")
        host.answer(pointer, nil)
    }

    @Test func aChangeAfterCloseIsIgnored() throws {
        let host = HostTable.address.pointee
        let count = MutexGuarded(0)
        let teller = HostTable.tellers.lend(ChangeTeller { count.withLock { $0 += 1 } })
        host.changed(teller)
        HostTable.tellers.reclaim(teller)
        host.changed(teller)
        host.changed(nil)
        #expect(count.withLock { $0 } == 1)
    }

    @Test func whatIsSavedIsLoaded() throws {
        let module = try module(Self.good.get().path)
        let version = try module.save(SaveRequest(name: name(), secret: SecretBytes("s3cr3t")), call)
        let item = try module.load(name(), call)
        #expect(item.secret.utf8String == "s3cr3t")
        #expect(item.details.version == version)
        #expect(item.details.module == "fixture")
    }

    @Test(arguments: [
        (["REFUSES"], "it does not like this machine"),
        (["REFUSES_SILENTLY"], "does not say why"),
        (["INIT_NAME=tokenkeep_module_init_2"], "it has no function tokenkeep_module_init_1"),
        (["INIT_NAME=something_else"], "it has no function tokenkeep_module_init_1"),
        (["NO_LOAD"], "its table lacks open or load"),
        (["NO_CLEAR"], "one of save and clear without the other"),
        (["TOO_SMALL"], "an impossible struct_size: 3"),
        (["TOO_LARGE"], "an impossible struct_size"),
    ])
    func whatCannotBeUsedIsRefusedInOneLine(definitions: [String], words: String) throws {
        let built = try BuiltModule(Self.fixture, name: "refused", defining: definitions)
        let module = try module(built.path)
        for _ in 0..<2 {
            let error = try #require(try failure(module))
            #expect(error.status == .unavailable)
            #expect(error.module == "refused")
            #expect(error.message.contains(words), "\(error.message)")
            #expect(error.message.contains(built.path))
            #expect(!error.isAbsence)
        }
        #expect(try failure(self.module(built.path, mayBeMissing: true))?.isAbsence == true)
    }

    @Test func whatIsNoSharedObjectIsRefused() throws {
        let directory = TemporaryDirectory()
        directory.write(Array("no object".utf8), to: "text.so")
        let text = try #require(try failure(module(directory.path + "/text.so")))
        #expect(text.status == .unavailable)
        #expect(!text.message.contains("/proc/self/fd"), "\(text.message)")
        #expect(try failure(module(directory.path + "/none.so"))?.isAbsence == false)
        mkfifo(directory.path + "/pipe.so", 0o600)
        #expect(try failure(module(directory.path + "/pipe.so"))?.message.contains("no regular file") == true)
    }

    @Test func whatOthersMayWriteOrOwnIsRefused() throws {
        let built = try BuiltModule(Self.fixture, name: "loose")
        chmod(built.path, 0o775)
        #expect(try failure(module(built.path))?.hint == "chmod go-w \(built.path)")
        chmod(built.path, 0o755)
        guard geteuid() == 0 else { return }
        chown(built.path, 12345, 0)
        #expect(try failure(module(built.path))?.message.contains("owned by user 12345") == true)
    }

    @Test func aModuleForReadingSavesNothing() throws {
        let built = try BuiltModule(Self.fixture, name: "reader", defining: ["READS_ONLY"])
        let module = try module(built.path)
        #expect(throws: TokenKeepError(.notFound, "")) { try module.load(name(), call) }
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try module.save(SaveRequest(name: name(), secret: SecretBytes("x")), call)
        }
        #expect(throws: TokenKeepError(.unsupported, "")) { try module.clear(name(), ifVersion: nil, call) }
        #expect(throws: TokenKeepError(.unsupported, "")) { try module.list(namespace: "", service: nil, call) }
        #expect(errorText { _ = try module.clear(name(), ifVersion: nil, call) } == "the module has no such operation")
    }

    /// Both structures end sooner than ours.
    @Test func aModuleOfAnEarlierHeaderLoads() throws {
        let built = try BuiltModule("Tests/TokenKeepPlugin/Fixtures/old.c", name: "old")
        let module = try module(built.path)
        _ = try module.save(SaveRequest(name: name(), secret: SecretBytes("s3cr3t"), label: "lost"), call)
        #expect(try module.load(name(), call).secret.utf8String == "s3cr3t")
        #expect(try module.load(name(), call).details.label == "example.com (ann)")
        #expect(throws: TokenKeepError(.unsupported, "")) { try module.list(namespace: "", service: nil, call) }
        #expect(try module.clear(name(), ifVersion: nil, call))
        #expect(module.report(call).problem == nil)
    }

    @Test func aModuleOfALaterHeaderLoads() throws {
        let built = try BuiltModule(Self.fixture, name: "newer", defining: ["NEWER"])
        let module = try module(built.path)
        _ = try module.save(SaveRequest(name: name(), secret: SecretBytes("s3cr3t")), call)
        #expect(try module.load(name(), call).secret.utf8String == "s3cr3t")
    }

    /// glibc takes a name that it knows for the object that it knows.
    @Test func twoObjectsAreTwoModules() throws {
        let builtOld = try BuiltModule("Tests/TokenKeepPlugin/Fixtures/old.c", name: "same")
        let builtNew = try BuiltModule(Self.fixture, name: "same")
        let (old, new) = try (module(builtOld.path), module(builtNew.path))
        _ = try failure(old)
        _ = try failure(new)
        #expect(throws: TokenKeepError(.unsupported, "")) { try old.list(namespace: "", service: nil, call) }
        #expect(try new.list(namespace: "", service: nil, call).items.isEmpty)
    }

    /// A host that closes all descriptors, as daemons do, closes ours: the next object must not take its name.
    @Test func twoObjectsAreTwoModulesAfterDescriptorsWereClosed() throws {
        let builtOld = try BuiltModule("Tests/TokenKeepPlugin/Fixtures/old.c", name: "closed")
        let builtNew = try BuiltModule(Self.fixture, name: "closed")
        let (old, new) = try (module(builtOld.path), module(builtNew.path))
        _ = try failure(old)
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            if target == builtOld.path, let descriptor = Int32(name) { close(descriptor) }
        }
        #expect(try new.list(namespace: "", service: nil, call).items.isEmpty)
    }

    @Test(arguments: [
        "status", "conflict", "nothing", "twice", "null", "small", "huge", "label", "utf8", "control", "secret",
        "length", "level", "memory", "flags", "time", "attributes", "many", "upper", "nameless", "other",
    ])
    func aWrongAnswerIsCorrupt(fault: String) throws {
        let module = try module(Self.good.get().path, ["fault=" + fault])
        #expect(try failure(module)?.status == .corrupt)
        #expect(module.mayAnswer)
    }

    @Test func itsWordsAreMadeFitToBeShownByACheck() throws {
        let error = try failure(module(Self.good.get().path, ["fault=words"]).repeatingWords())
        #expect(error?.status == .io)
        #expect(error?.message.unicodeScalars.contains { $0.value < 0x20 } == false)
        #expect(error?.message.hasPrefix("first second") == true)
    }

    @Test func itsWordsAreInNoErrorButOfACheck() throws {
        let module = try module(Self.good.get().path, ["fault=open"])
        let error = try failure(module)
        #expect(error?.status == .invalid)
        #expect(error?.message == "the module answered INVALID")
        #expect(try failure(module.repeatingWords())?.message == "it does not open")
    }

    @Test func aModuleWithoutItsPlaceIsOutOfReachNotWithoutItems() throws {
        let error = try failure(module(Self.good.get().path, ["fault=no-handle"], mayBeMissing: true))
        #expect(error?.status == .unavailable)
        #expect(error?.isAbsence == false)
    }

    /// A handle that was opened with a wrong answer is closed: its closing tells of a change.
    @Test func whatOpensWronglyIsClosed() throws {
        let module = try module(Self.good.get().path, ["fault=opens-with-item"])
        let told = MutexGuarded(0)
        module.whenChanged {
            told.withLock {
                $0 += 1; return true
            }
        }
        #expect(try failure(module)?.status == .corrupt)
        #expect(told.withLock { $0 } == 1)
    }

    @Test func itTellsOfChanges() throws {
        let module = try module(Self.good.get().path)
        let told = MutexGuarded(0)
        module.whenChanged {
            told.withLock {
                $0 += 1; return true
            }
        }
        _ = try module.save(SaveRequest(name: name(), secret: SecretBytes("x")), call)
        #expect(told.withLock { $0 } == 1)
    }

    @Test func nothingBeginsForACallerWhoHasGone() throws {
        let transport = try SharedObjectTransport(
            ModuleFile(path: Self.good.get().path), PluginOptions(name: "fixture", arguments: [], changed: {}),
            PluginCall(call))
        defer { transport.close() }
        let details = try ItemDetails(name: name(), label: "l", module: "fixture")
        try transport.save(TokenItem(details: details, secret: SecretBytes("x")), PluginCall(call))
        let gone = PluginCall(call)
        gone.end()
        #expect(throws: TokenKeepError(.timedOut, "")) { try transport.clear(name(), gone) }
        #expect(try transport.load(name(), PluginCall(call)).secret?.utf8String == "x")
    }

    /// Whole, in part or encoded: nothing that the module chose is in an error.
    @Test(arguments: ["quotes", "quotes-hex"], ["abc", "s3cr3t", "0123456789abcdef-0123456789abcdef-and-more"])
    func aModuleThatEchoesTheSecretPutsNothingIntoTheError(fault: String, secret: String) throws {
        let module = try module(Self.good.get().path, ["fault=" + fault])
        do throws(TokenKeepError) {
            _ = try module.save(
                SaveRequest(name: ItemName(service: "a", account: ""), secret: SecretBytes(secret)), call)
            Issue.record("it saves")
        } catch {
            #expect(error.status == .io)
            #expect(error.message == "the module answered IO")
        }
    }

    /// A name, a number or a length can be the secret as well as a text.
    @Test(arguments: ["upper", "level", "flags", "status", "small"])
    func aWrongAnswerIsNotQuoted(fault: String) throws {
        let message = try #require(try failure(module(Self.good.get().path, ["fault=" + fault]))?.message)
        #expect(!message.contains("UPPER"), "\(message)")
        #expect(!message.contains { $0.isNumber }, "\(message)")
    }

    /// With a `-` before it, a line whose module cannot be loaded is passed over; without, it is an outage.
    @Test(arguments: ["any", "load"], [true, false])
    func aModuleThatCannotBeLoadedIsPassedOverWhereTheStackSaysSo(operation: String, mayBeMissing: Bool) throws {
        let directory = TemporaryDirectory()
        directory.write(Array("no object".utf8), to: "broken.so")
        let line = "\(mayBeMissing ? "-" : "")\(operation) sufficient \(directory.path)/broken.so"
        directory.write(Array("\(line)\nany required vault\n".utf8), to: "stack.d/default.conf")
        var configuration = StoreConfiguration()
        configuration.vaultPath = directory.path + "/vault"
        configuration.stackDirectories = .fixed(user: nil, system: directory.path + "/stack.d")
        let store = try Store(configuration)
        let expected: Status = mayBeMissing ? .notFound : .unavailable
        #expect(throws: TokenKeepError(expected, "")) { try store.load(service: "example.com", account: "bob") }
        _ = try store.save(SaveRequest(name: name(), secret: SecretBytes("s3cr3t")))
        #expect(try store.load(service: "example.com", account: "ann").secret.utf8String == "s3cr3t")
        #expect((try store.list().problem != nil) == (operation == "any" && !mayBeMissing))
        try store.clear(service: "example.com", account: "ann")
        #expect(throws: TokenKeepError(expected, "")) { try store.load(service: "example.com", account: "bob") }
    }

    @Test func aStackNamesModulesByTheirNamesAndTheSystemsByTheirPaths() throws {
        let built = try Self.good.get()
        func problem(_ text: String, directories: StackDirectories = .none) -> TokenKeepError? {
            var configuration = StoreConfiguration(stackText: text)
            configuration.stackDirectories = directories
            do throws(TokenKeepError) { _ = try Store(configuration) } catch { return error }
            return nil
        }
        #expect(problem("any required \(built.path)")?.status == .invalid)
        #expect(problem("any required no-such-module")?.status == .invalid)
        #expect(problem("-any required no-such-module\nany required vault") == nil)
        #expect(problem("any required ../vault")?.status == .invalid)
        let directory = TemporaryDirectory()
        directory.write(Array("any required /usr/lib/vault.so".utf8), to: "stack.d/default.conf")
        var configuration = StoreConfiguration()
        configuration.stackDirectories = .fixed(user: nil, system: directory.path + "/stack.d")
        let text = errorText { _ = try Store(configuration) }
        #expect(text == "\(directory.path)/stack.d/default.conf:1: no module can be called \"vault\"")
    }
}
