import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepPlugin

/// Shared objects whose functions hang.
@Suite struct SharedObjectMovedClockTests {
    private let world = SharedObjectTests()
    private let directory = TemporaryDirectory()
    private var pipe: String { directory.path + "/pipe" }

    /// A module whose load and save hang until the pipe is written to.
    private func hangingModule() throws -> PluginModule {
        mkfifo(pipe, 0o600)
        return try world.module(SharedObjectTests.good.get().path, ["hang=" + pipe])
    }

    /// Passes the limit of a call once a function of the module hangs.
    private func passLimit<Answer>(
        milliseconds: UInt32 = Patience.milliseconds, of call: () throws -> Answer
    ) throws -> Answer {
        let mark = pipe + "-waits"
        let outcome = try TestClock.passLimits(when: { access(mark, F_OK) == 0 }, of: call)
        #expect(outcome.took(milliseconds: milliseconds), "\(outcome.duration)")
        return outcome.answer
    }

    private func status(_ body: () throws -> Void) -> Status? {
        do {
            try body()
            return nil
        } catch {
            return (error as? TokenKeepError)?.status
        }
    }

    /// Lets one waiting function of the fixture go on.
    private func release(_ pipe: String) {
        let descriptor = open(pipe, O_WRONLY)
        close(descriptor)
    }

    private func wait(until condition: () -> Bool) {
        let happened = Patience.wait(until: condition)
        #expect(happened)
    }

    @Test func aHungModuleIsLeftAloneUntilItReturns() throws {
        let module = try hangingModule()
        #expect(try passLimit { status { _ = try module.load(world.name(), .patient) } } == .timedOut)
        #expect(!module.mayAnswer)
        let patience = Deadline.patient
        #expect(throws: TokenKeepError(.unavailable, "")) { try module.load(world.name(), .patient) }
        #expect(!patience.hasPassed)
        release(pipe)
        wait { module.mayAnswer }
        #expect(module.mayAnswer)
    }

    /// Who is cancelled goes at once. That says nothing of the module, but the next who waits for it in vain knows.
    @Test func aCancelledCallSaysNothingOfTheModule() throws {
        let module = try hangingModule()
        let cancellation = Cancellation()
        let thread = TestThread { cancellation.cancel() }
        let patience = Deadline.patient
        #expect(throws: TokenKeepError(.cancelled, "")) {
            try module.load(world.name(), CallContext(deadline: .patient.cancelled(by: cancellation)))
        }
        thread.join()
        #expect(!patience.hasPassed)
        #expect(module.mayAnswer)
        #expect(try passLimit { status { _ = try module.load(world.name(), .patient) } } == .timedOut)
        #expect(!module.mayAnswer)
        release(pipe)
        wait { module.mayAnswer }
        #expect(module.mayAnswer)
    }

    /// A module that did not answer a hasty call may be healthy: the next call asks it, and waits for its turn.
    @Test func aHastyCallIsNoReasonToLeaveTheModuleAlone() throws {
        let module = try hangingModule()
        try TestClock.standing {
            let call = CallContext(deadline: Deadline(milliseconds: PluginWorker.hasty - 1))
            let answer = try passLimit(milliseconds: PluginWorker.hasty - 1) {
                status { _ = try module.load(world.name(), call) }
            }
            #expect(answer == .timedOut)
        }
        #expect(module.mayAnswer)
        rename(pipe, pipe + "-gone")
        directory.write([], to: "pipe")  // the next call does not wait
        let waiting = pipe + "-gone"
        let thread = TestThread { close(open(waiting, O_WRONLY)) }
        #expect(throws: TokenKeepError(.notFound, "")) { try module.load(world.name(), .patient) }
        thread.join()
    }

    /// What was given up while the item was looked for is not sent when the module goes on.
    @Test func aSaveThatWasGivenUpIsNotSentLate() throws {
        let module = try hangingModule()
        let request = try SaveRequest(name: world.name(), secret: SecretBytes("late"))
        #expect(try passLimit { status { _ = try module.save(request, .patient) } } == .timedOut)
        rename(pipe, pipe + "-gone")
        directory.write([], to: "pipe")  // whoever looks from now on does not wait
        release(pipe + "-gone")
        wait { module.mayAnswer }
        #expect(throws: TokenKeepError(.notFound, "")) { try module.load(world.name(), .patient) }
    }

    /// A store behaves as with a service that hangs: a save that the module misses is pending until the module is back.
    @Test func aWriteThatAHungModuleMissesIsPending() throws {
        mkfifo(pipe, 0o600)
        let path = try SharedObjectTests.good.get().path
        directory.write(
            Array("any sufficient \(path) timeout=\(Patience.seconds)s hang=\(pipe)\nany required vault\n".utf8),
            to: "stack.d/default.conf")
        var configuration = StoreConfiguration(timeoutMilliseconds: 10 * Patience.milliseconds)
        configuration.vaultPath = directory.path + "/vault"
        configuration.stackDirectories = .fixed(user: nil, system: directory.path + "/stack.d")
        let store = try Store(configuration)
        let request = try SaveRequest(name: world.name(), secret: SecretBytes("s3cr3t"))
        #expect(try passLimit { try store.save(request) }.pendingModules == ["fixture"])
        #expect(try store.load(service: "example.com", account: "ann").secret.utf8String == "s3cr3t")
        #expect(throws: TokenKeepError(.unavailable, "")) { try store.load(service: "example.com", account: "bob") }
        #expect(try store.pendingChanges.report().entries.map(\.module) == ["fixture"])
        // From now on nobody waits: what is waiting goes on, and in the pipe's place is an empty file.
        release(pipe)
        unlink(pipe)
        directory.write([], to: "pipe")
        wait { (try? store.pendingChanges.sync().left) == 0 }
        #expect(try store.pendingChanges.report().entries.isEmpty)
        #expect(try store.load(service: "example.com", account: "ann").details.module == "fixture")
        #expect(try Store(configuration).list().items.isEmpty)  // the fixture keeps items for each handle
    }
}
