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
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var count = 0
        let end = bytes.withUnsafeMutableBytes { bytes in
            Array(input.utf8).withUnsafeBytes { input in
                program.exchange(input, until: .patient) {
                    UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
                } hasEnough: { length in
                    count += length
                    return false
                }
            }
        }
        #expect(end == .outputEnded)
        #expect(program.waitForEnd(until: .patient))
        return (String(decoding: bytes[..<count], as: UTF8.self), program)
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

    @Test func aProgramHasTheDefaultSignals() throws {
        let ignored = "sed -n 's/^SigIgn:.*\\(.\\{8\\}\\)$/\\1/p; s/^SigBlk:.*\\(.\\{8\\}\\)$/\\1/p' /proc/self/status"
        #expect(try output(of: ignored).text == "00000000\n00000000\n")
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
