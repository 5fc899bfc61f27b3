import CSystemShims
import Glibc
import TestSupport
import Testing

@testable import TokenKeepCore

@Suite struct RunningProgramTests {
    /// Runs a shell's script. Returns its output.
    private func output(
        of script: String, input: String = "", _ configure: (inout tokenkeep_start_options) -> Void = { _ in }
    ) throws -> (text: String, program: RunningProgram) {
        var options = tokenkeep_start_options()
        (options.input, options.output) = (TOKENKEEP_PIPE, TOKENKEEP_PIPE)
        configure(&options)
        let program = try RunningProgram(["/bin/sh", "-c", script], options)
        let (end, text) = read(program, input, outlivesProgram: false)
        #expect(end == .outputEnded)
        #expect(program.waitForEnd(until: .patient))
        return (text, program)
    }

    @Test func aProgramAnswersItsInput() throws {
        let long = String(repeating: "0123456789abcdef", count: 4000)  // fills the pipe more than once with its answer
        let (text, program) = try output(of: "cat", input: long)
        #expect(text == long)
        #expect(program.exitCode == 0)
        #expect(program.written == long.utf8.count)
    }

    @Test func theExitCodeIsThatOfAShell() throws {
        #expect(try output(of: "exit 7").program.exitCode == 7)
        #expect(try output(of: "kill -TERM $$").program.exitCode == 128 + SIGTERM)
    }

    @Test func aProgramThatDoesNotReadItsInputStillAnswers() throws {
        let (text, program) = try output(
            of: "exec < /dev/null; echo done", input: String(repeating: "x", count: 200_000))
        #expect(text == "done\n")
        #expect(program.written < 200_000)
    }

    @Test func aProgramApartGetsNoDescriptorAndTheDirectoryRoot() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let script = "pwd; test -e /proc/self/fd/\(ends[1]) && echo inherited || echo closed"
        #expect(try output(of: script).text.hasSuffix("inherited\n"))
        #expect(try output(of: script) { $0.is_apart = 1 }.text == "/\nclosed\n")
    }

    /// Starts a shell that ends at once and leaves a process running, which answers at the end of its input.
    private func abandoned() throws -> RunningProgram {
        var options = tokenkeep_start_options()
        (options.input, options.output, options.has_own_group) = (TOKENKEEP_PIPE, TOKENKEEP_PIPE, 1)
        let script = "exec 3<&0; (cat <&3; echo answer) & exit 0"
        let program = try RunningProgram(["/bin/sh", "-c", script], options)
        #expect(read(program, "", keepsInput: true, outlivesProgram: false).end == .outputEnded)
        return program
    }

    private func read(
        _ program: RunningProgram, _ input: String, keepsInput: Bool = false, outlivesProgram: Bool = true
    ) -> (end: RunningProgram.ExchangeEnd, text: String) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var count = 0
        let end = bytes.withUnsafeMutableBytes { bytes in
            Array(input.utf8).withUnsafeBytes { input in
                program.exchange(
                    input, keepsInput: keepsInput, outlivesProgram: outlivesProgram, until: .patient
                ) {
                    UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
                } hasEnough: { length in
                    count += length
                    return false
                }
            }
        }
        return (end, String(decoding: bytes[..<count], as: UTF8.self))
    }

    @Test func aProcessThatAProgramLeftRunningMayAnswer() throws {
        let program = try abandoned()
        #expect(read(program, "for ") == (.outputEnded, "for answer\n"))
        #expect(program.waitForEnd(until: .patient))
    }

    @Test func theProcessGroupOfAProgramThatHasEndedIsKilled() throws {
        let program = try abandoned()
        #expect(program.kill())
        #expect(read(program, "", keepsInput: true) == (.outputEnded, ""))
    }

    @Test func aProgramThatClosedItsOutputSeesTheEndOfItsInput() throws {
        let (text, program) = try output(
            of: "exec >&-; cat >/dev/null; exit 3", input: String(repeating: "x", count: 200_000))
        #expect(text.isEmpty && program.exitCode == 3)
    }

    @Test func aProgramHasTheDefaultSignals() throws {
        let ignored = "sed -n 's/^SigIgn:.*\\(.\\{8\\}\\)$/\\1/p; s/^SigBlk:.*\\(.\\{8\\}\\)$/\\1/p' /proc/self/status"
        // The C library keeps signal 32 for itself: it can be ignored by who started the tests, and not be set.
        let masks = try output(of: ignored).text.split(separator: "\n").map { UInt32($0, radix: 16).map { $0 << 1 } }
        #expect(masks == [0, 0])
    }

    @Test func aKilledProgramHasEnded() throws {
        var options = tokenkeep_start_options()
        (options.input, options.output) = (TOKENKEEP_PIPE, TOKENKEEP_NOTHING)
        (options.has_own_group, options.searches_path) = (1, 1)
        let program = try RunningProgram(["cat"], options)
        #expect(!program.checkEnd())
        #expect(!program.waitForEnd(until: .passed))
        #expect(program.kill())
        #expect(program.exitCode == 128 + SIGKILL)
    }

    @Test(arguments: ["/nonexistent/program", "program-that-is-nowhere", ""])
    func aMissingProgramCannotBeStarted(_ name: String) {
        var options = tokenkeep_start_options()
        options.searches_path = 1
        #expect(throws: RunningProgram.StartFailure.self) { _ = try RunningProgram([name], options) }
        #expect(throws: RunningProgram.StartFailure.self) { _ = try RunningProgram(["/"], options) }
    }
}
