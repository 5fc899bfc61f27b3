import CSystemShims
import Glibc
import TokenKeepCore

/// One request to the program `tokenkeep-tpm2`, which is started for it and killed after its reply.
enum TPMProgram {
    /// Killed programs that had not ended by then, because the TPM's driver kept them in the kernel.
    private static let lingering = MutexGuarded<[RunningProgram]>([])
    private static let mostLingering = 4
    /// The maximum wait, in milliseconds, for the end of a killed program.
    private static let ending: UInt32 = 50

    /// Starts the program, sends the request and receives the reply, which the program writes at once.
    ///
    /// Waits for the reply and not for the program's end, which the kernel may block.
    ///
    /// - Returns: 0 or an errno: `ETIMEDOUT`; `EPROTO` if there is no reply; `EBUSY` while four earlier programs have
    ///   not ended.
    static func ask(
        _ path: String, _ configuration: String?, _ request: UnsafeRawBufferPointer, until deadline: Deadline,
        _ reply: UnsafeMutableRawBufferPointer, _ count: inout Int
    ) -> Int32 {
        let mayStart = lingering.withLock { programs in
            programs.removeAll { $0.checkEnd() }
            return programs.count < mostLingering
        }
        guard mayStart else { return EBUSY }
        var options = tokenkeep_start_options()
        (options.input, options.output, options.errors) = (TOKENKEEP_PIPE, TOKENKEEP_PIPE, TOKENKEEP_NOTHING)
        (options.has_own_group, options.is_apart, options.ties_group) = (1, 1, 1)
        options.death_signal = SIGKILL
        // No other variable is passed, because some variables make tpm2-tss log secrets.
        let variables = configuration.map { ["TOKENKEEP_TCTI=" + $0] } ?? []
        let program: RunningProgram
        do throws(RunningProgram.StartFailure) {
            program = try RunningProgram([path, "--once"], environment: variables, options)
        } catch {
            return error.number
        }
        let end = program.exchange(request, until: deadline) {
            reply
        } hasEnough: { length in
            count = length
            return true
        }
        program.closeEnds()
        if !program.kill(within: ending) { lingering.withLock { $0.append(program) } }
        switch end {
        case .enough: return 0
        case .outputEnded: return EPROTO
        case .late: return ETIMEDOUT
        }
    }
}
