import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepPlugin

/// Programs that do not answer.
@Suite struct ProgramMovedClockTests {
    private let world = ProgramTests()

    /// Passes the limit of a call once its program has written a byte into the pipe.
    private func failure(
        _ module: PluginModule, milliseconds: UInt32 = Patience.milliseconds, whenReadable reader: Int32
    ) throws -> TokenKeepError? {
        let outcome = try TestClock.passLimits(
            when: {
                var byte: UInt8 = 0
                return read(reader, &byte, 1) == 1
            }, of: { try world.failure(module, milliseconds: milliseconds) })
        #expect(outcome.took(milliseconds: milliseconds), "\(outcome.duration)")
        return outcome.answer
    }

    /// It is killed with what it started, and then left alone for a while.
    @Test func aProgramThatHangsIsKilledWithItsGroup() throws {
        let pipe = world.directory.path + "/pipe"
        mkfifo(pipe, 0o600)
        // Both hold the pipe open for writing: it is readable to its end when both have ended.
        let module = world.module("exec 3>'\(pipe)'\nsleep 1000 &\necho >&3\nsleep 1000\n")
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let late = try failure(module, whenReadable: reader)
        #expect(late?.status == .timedOut && late?.message == "the module did not answer in time")
        world.expectNoWriter(of: reader)
        #expect(!module.mayAnswer)
        let left = try world.failure(module)
        #expect(left?.status == .unavailable)
        #expect(left?.message == "the module did not answer an earlier call and has not come back")
    }

    /// It may be healthy on a busy machine: the next call starts it again.
    @Test func aProgramThatDidNotAnswerAHastyCallIsStartedAgain() throws {
        let pipe = world.directory.path + "/pipe"
        let begun = world.directory.path + "/begun"
        mkfifo(pipe, 0o600)
        let module = world.module(
            "[ -e '\(begun)' ] || { : >'\(begun)'; echo >'\(pipe)'; exec sleep 1000; }\n" + ProgramTests.readRequest
                + "printf 'tokenkeep=1\\nstatus=ok\\nsecret+=%s\\n\\n' $(printf late | base64)\n")
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        try TestClock.standing {
            let late = try failure(module, milliseconds: PluginWorker.hasty - 1, whenReadable: reader)
            #expect(late?.status == .timedOut)
        }
        #expect(module.mayAnswer)
        #expect(try module.load(world.name(), .patient).secret.utf8String == "late")
    }

    @Test func aProgramThatJoinsAnotherGroupIsKilledToo() throws {
        let pipe = world.directory.path + "/pipe"
        mkfifo(pipe, 0o600)
        let script = """
            import os, signal
            pipe = os.open('\(pipe)', os.O_WRONLY)
            os.setpgid(0, os.getpgid(os.getppid()))
            os.write(pipe, b'x')
            signal.pause()

            """
        let module = world.module(script, shebang: "#!/usr/bin/python3\n")
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(try failure(module, whenReadable: reader)?.status == .timedOut)
        world.expectNoWriter(of: reader)
        #expect(!module.mayAnswer)
    }
}
