import CSystemShims
import Glibc
import TokenKeepCore

/// A running program that implements a module.
///
/// The program and its process group are killed if the program does not answer in time, and when this process or the
/// starting thread ends. Otherwise a late change by the program could overwrite a newer save.
final class ProgramProcess {
    private let program: RunningProgram
    private let file: ModuleFile

    /// Whether the program has sent no byte since the last request, so that the request can be repeated.
    private(set) var saidNothing = true

    /// Whether the program has read the whole last request. Otherwise it would read the rest of that request as the
    /// beginning of the next request.
    private(set) var tookRequest = false

    /// Starts the program.
    init(_ file: ModuleFile, variables: [String], showsErrors: Bool) throws(TokenKeepError) {
        self.file = file
        let path = try file.program()
        var options = tokenkeep_start_options()
        (options.input, options.output) = (TOKENKEEP_PIPE, TOKENKEEP_PIPE)
        options.errors = showsErrors ? TOKENKEEP_INHERITED : TOKENKEEP_NOTHING
        (options.has_own_group, options.is_apart, options.ties_group) = (1, 1, 1)
        options.death_signal = SIGKILL
        do throws(RunningProgram.StartFailure) {
            program = try RunningProgram([path], environment: ProgramEnvironment.entries(variables), options)
        } catch {
            throw file.refused(ModuleFile.words(error.number), isAbsence: false)
        }
    }

    deinit { kill() }

    /// Sends a request and reads the answer.
    ///
    /// - Throws: ``Status/timedOut``; ``Status/unavailable`` if the program ended without an answer; ``Status/corrupt``
    ///   if the answer is invalid.
    func exchange(_ request: ProgramRequest, _ answer: ProgramAnswer, until deadline: Deadline) throws(TokenKeepError) {
        (saidNothing, tookRequest) = (true, false)
        let unread = try WipingBuffer(capacity: 4096)
        var total = 0
        // A program may be a shell's script whose last process answers after the shell has ended.
        let end = try program.exchange(
            request.buffer.bytes, keepsInput: true, outlivesProgram: true, until: deadline
        ) { () throws(TokenKeepError) in
            try unread.room(for: 16 * 1024)
        } hasEnough: { (count) throws(TokenKeepError) in
            saidNothing = false
            unread.grow(by: count)
            total += count
            guard total <= ProgramAnswer.longestAnswer else { throw .foreign("more than 64 MiB") }
            try answer.parse(from: unread)
            return answer.isWhole
        }
        tookRequest = program.written == request.buffer.count
        switch end {
        case .enough: return
        case .outputEnded: throw ended()
        case .late: throw .late
        }
    }

    /// Whether the program waits for a request: it is running and has sent no unrequested output.
    var isWaiting: Bool { program.isWaiting }

    /// Closes the program's input after a whole request, and waits for the program's end.
    ///
    /// - Parameter milliseconds: the maximum wait. After it, the program is killed.
    func end(patience milliseconds: UInt32) {
        program.closeEnds()
        if !program.waitForEnd(until: Deadline(milliseconds: milliseconds)) { kill() }
    }

    /// Kills the program and its process group, before its input is closed: at the end of its input, the program could
    /// take half of a request for a whole request.
    func kill() { program.kill() }

    private func ended() -> TokenKeepError {
        program.closeEnds()
        let isKnown = program.waitForEnd(until: Deadline(milliseconds: 100)) && program.status != nil
        kill()
        let status = program.status ?? 0
        let signal = status & 0x7F
        let how = !isKnown ? "" : signal != 0 ? ", by signal \(signal)" : ", with exit status \(status >> 8 & 0xFF)"
        return TokenKeepError(.unavailable, "the program \(file.path) ended without an answer\(how)")
    }
}
