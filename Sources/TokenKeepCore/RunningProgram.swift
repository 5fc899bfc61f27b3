package import CSystemShims
import Glibc

/// A started program, and the exchange of bytes with it. Used by one thread at a time.
///
/// The owner must wait for the program's end, or kill it: the last release only closes the descriptors.
package final class RunningProgram {
    /// The program cannot be started, for the reason of an errno.
    package struct StartFailure: Error {
        package let number: Int32
    }

    /// The reason why an exchange ended.
    package enum ExchangeEnd {
        /// The reader has all the output that it wants.
        case enough
        /// The output was closed, or the program has ended and the output of its children does not count.
        case outputEnded
        /// The deadline has passed.
        case late
    }

    /// The interval, in milliseconds, of checks for the program's end if the system has no descriptor for it.
    private static let endCheck: Int32 = 5
    /// The interval, in milliseconds, of checks for a cancellation.
    private static let cancellationCheck: Int32 = 50

    private var program: tokenkeep_program
    private var hasEnded = false

    /// The program's status of waitpid(2); nil before its end, and if other code of this process has waited for it.
    package private(set) var status: Int32?

    /// The number of bytes of the last input that were written.
    package private(set) var written = 0

    /// Starts a program, whose path or name is the first word.
    ///
    /// - Parameter environment: `NAME=VALUE` for each variable; nil for this process's environment.
    package convenience init(_ words: [String], environment: [String]? = nil, _ options: tokenkeep_start_options)
        throws(StartFailure)
    {
        let copies = environment?.compactMap { strdup($0) }
        defer { for copy in copies ?? [] { free(copy) } }
        try self.init(words, entries: copies, options)
    }

    /// Starts a program with this process's environment, in which variables of any encoding are kept.
    ///
    /// - Parameters:
    ///   - changes: `NAME=VALUE` for each variable to add or replace.
    ///   - names: the variables that the program does not get.
    package convenience init(
        _ words: [String], changes: [String], without names: [String] = [], _ options: tokenkeep_start_options
    ) throws(StartFailure) {
        let added = changes.compactMap { strdup($0) }
        defer { for copy in added { free(copy) } }
        let left = (changes.map { String($0.prefix { $0 != "=" }) } + names).map { $0 + "=" }
        var entries = added
        var place = environ
        while let variable = place.pointee {
            if !left.contains(where: { strncmp(variable, $0, $0.utf8.count) == 0 }) { entries.append(variable) }
            place += 1
        }
        try self.init(words, entries: entries, options)
    }

    /// Starts a program, whose path or name is the first word.
    ///
    /// - Parameter entries: `NAME=VALUE` for each variable, in any encoding; nil for this process's environment.
    private init(
        _ words: [String], entries: [UnsafeMutablePointer<CChar>]?, _ options: tokenkeep_start_options
    ) throws(StartFailure) {
        var options = options
        let arguments = words.map { strdup($0) } + [nil]
        defer { for copy in arguments { free(copy) } }
        var started = tokenkeep_program()
        let variables = entries.map { $0.map(Optional.some) + [nil] }
        let error = tokenkeep_program_start(arguments, variables, &options, &started)
        guard error == 0 else { throw StartFailure(number: error) }
        program = started
    }

    deinit { tokenkeep_program_let_go(&program) }

    package var process: pid_t { program.process }

    /// A descriptor that becomes readable at the program's end; -1 if the system has none.
    package var endDescriptor: Int32 { program.end }

    /// This process's end of the program's standard input; -1 if it is closed or no pipe.
    package var input: Int32 { program.input }

    /// This process's end of the program's standard output; -1 if it is closed or no pipe.
    package var output: Int32 { program.output }

    /// The end of the input's pipe from which the program reads, if the options keep it.
    package var inputReader: Int32 { program.input_reader }

    /// The exit code as a shell reports it: 128 + N after signal N; nil if ``status`` is.
    package var exitCode: Int32? { status.map { $0 & 0x7F == 0 ? $0 >> 8 & 0xFF : 128 + ($0 & 0x7F) } }

    /// Sends an input, and reads output until `hasEnough` says so, the output ends, the program ends or the deadline
    /// passes. Output that the program wrote before its end is read.
    ///
    /// Does not wait for the program, so that ``kill(within:)`` afterwards reaches its process group.
    ///
    /// - Parameters:
    ///   - keepsInput: whether the program's input stays open after `input`.
    ///   - outlivesProgram: whether the output of other processes, which the program left running, still counts after
    ///     the program's end.
    ///   - room: returns unused memory for the next part of the output.
    ///   - hasEnough: called with the length of each part that was read.
    package func exchange<Failure: Error>(
        _ input: UnsafeRawBufferPointer, keepsInput: Bool = false, outlivesProgram: Bool = false,
        until deadline: Deadline, room: () throws(Failure) -> UnsafeMutableRawBufferPointer,
        hasEnough: (Int) throws(Failure) -> Bool
    ) throws(Failure) -> ExchangeEnd {
        var unsent = input
        written = 0
        while true {
            if unsent.isEmpty, !keepsInput { closeInput() }
            let end = outlivesProgram ? -1 : program.end
            guard wait(for: program.output, unsent.isEmpty ? -1 : program.input, end, until: deadline) else {
                return .late
            }
            if !unsent.isEmpty { send(&unsent) }
            // Check for the program's end before reading, so that all of its output is already in the pipe.
            let isOver = !outlivesProgram && (hasEnded || tokenkeep_program_has_ended(program.process) != 0)
            if let end = try readOutput(room, hasEnough) ?? (isOver ? .outputEnded : nil) {
                // A program that closed its output may still wait for the end of its input.
                if !keepsInput { closeInput() }
                return end
            }
        }
    }

    /// Reads all output that is in the pipe. Returns nil if more may follow.
    private func readOutput<Failure: Error>(
        _ room: () throws(Failure) -> UnsafeMutableRawBufferPointer, _ hasEnough: (Int) throws(Failure) -> Bool
    ) throws(Failure) -> ExchangeEnd? {
        var count = 0
        repeat {
            let bytes = try room()
            count = read(program.output, bytes.baseAddress, bytes.count)
            if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { return .outputEnded }
            if count > 0, try hasEnough(count) { return .enough }
        } while count > 0
        return nil
    }

    /// Sends the next part of the input. If the program has stopped reading, its output is still read.
    private func send(_ unsent: inout UnsafeRawBufferPointer) {
        let count = tokenkeep_write_pipe(program.input, unsent.baseAddress, unsent.count)
        if count >= 0 {
            written += count
            unsent = UnsafeRawBufferPointer(rebasing: unsent[count...])
        } else if errno != EAGAIN {
            unsent = UnsafeRawBufferPointer(start: nil, count: 0)
        }
    }

    /// Waits for output, for room in the input, or for the program's end, each unless its descriptor is -1. Returns
    /// false after the deadline.
    private func wait(for output: Int32, _ input: Int32, _ end: Int32, until deadline: Deadline) -> Bool {
        var waits = [
            pollfd(fd: output, events: Int16(POLLIN), revents: 0),
            pollfd(fd: input, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: end, events: Int16(POLLIN), revents: 0),
        ]
        var left = Int32(clamping: deadline.remainingMilliseconds)
        guard left > 0 else { return false }
        // A cancellation does not wake this thread.
        if deadline.cancellation != nil { left = min(left, RunningProgram.cancellationCheck) }
        if program.end < 0 { left = min(left, RunningProgram.endCheck) }
        return poll(&waits, nfds_t(waits.count), left) >= 0 || errno == EINTR
    }

    /// Whether the program is running and has no output that was not read.
    package var isWaiting: Bool {
        var output = pollfd(fd: program.output, events: Int16(POLLIN), revents: 0)
        return !hasEnded && poll(&output, 1, 0) == 0
    }

    /// Whether the program has ended. From then on its process number may be another program's.
    package func checkEnd() -> Bool {
        guard !hasEnded else { return true }
        var found: Int32 = 0
        let ended = waitpid(program.process, &found, WNOHANG)
        if ended == program.process { status = found }
        hasEnded = ended == program.process || ended < 0 && errno != EINTR
        return hasEnded
    }

    /// Waits for the program's end. Returns false after the deadline.
    package func waitForEnd(until deadline: Deadline) -> Bool {
        while !checkEnd() {
            guard wait(for: -1, -1, program.end, until: deadline) else { return checkEnd() }
        }
        return true
    }

    /// Waits for the program's end as long as it takes.
    package func waitForEnd() {
        // The system may have no descriptor for the end, and checks at intervals would wake a program that runs for days.
        var end = siginfo_t()
        while !checkEnd(), waitid(P_PID, id_t(program.process), &end, WEXITED | WNOWAIT) == 0 || errno == EINTR {}
    }

    /// Closes this process's ends of the program's input and output.
    package func closeEnds() {
        closeInput()
        close(&program.output)
    }

    /// Closes this process's end of the program's input.
    package func closeInput() { close(&program.input) }

    /// Kills the program and its process group. Returns false if the program has not ended after `milliseconds`: a
    /// driver may keep it in the kernel.
    @discardableResult package func kill(within milliseconds: UInt32 = 10_000) -> Bool {
        guard !hasEnded else { return true }
        tokenkeep_program_kill(program.process)
        return waitForEnd(until: Deadline(milliseconds: milliseconds))
    }

    private func close(_ descriptor: inout Int32) {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
