import CSystemShims
import Glibc
import TokenKeepCore

/// A running program that a module consists of.
///
/// The program and its process group are killed if the program does not answer in time, and when this process or the
/// starting thread ends, because a late change could overwrite a newer save.
final class ProgramProcess {
    private var program = tokenkeep_program()
    private let file: ModuleFile
    private var hasEnded = true  // until the start

    /// Whether the program has sent no byte since the last request, so that the request can be repeated.
    private(set) var saidNothing = true

    /// Whether the program has read the whole last request. An unread rest would become the beginning of the next
    /// request.
    private(set) var tookRequest = false

    /// Starts the program.
    init(_ file: ModuleFile, variables: [String], showsErrors: Bool) throws(TokenKeepError) {
        self.file = file
        let path = try file.program()
        var environment = ProgramEnvironment.entries(variables).map { strdup($0) }
        defer { for entry in environment { free(entry) } }
        environment.append(nil)
        let error = tokenkeep_program_start(path, nil, environment, showsErrors ? 1 : 0, &program)
        guard error == 0 else { throw file.refused(ModuleFile.words(error), isAbsence: false) }
        hasEnded = false
    }

    deinit { kill() }

    private static let lookMilliseconds: UInt32 = 50

    /// Sends a request and reads the answer.
    ///
    /// - Throws: ``Status/timedOut``; ``Status/unavailable`` if the program ended without an answer; ``Status/corrupt``
    ///   if the answer is invalid.
    func exchange(_ request: ProgramRequest, _ answer: ProgramAnswer, until deadline: Deadline) throws(TokenKeepError) {
        (saidNothing, tookRequest) = (true, false)
        let unread = try WipingBuffer(capacity: 4096)
        var (unsent, total) = (request.buffer.count, 0)
        while !answer.isWhole {
            var waits = [
                pollfd(fd: program.output, events: Int16(POLLIN), revents: 0),
                pollfd(fd: unsent > 0 ? program.input : -1, events: Int16(POLLOUT), revents: 0),
            ]
            var left = deadline.remainingMilliseconds
            guard left > 0 else { throw .late }
            // A cancellation wakes the caller but not this thread, so this thread checks for a cancellation every 50
            // ms.
            if deadline.cancellation != nil { left = min(left, ProgramProcess.lookMilliseconds) }
            guard poll(&waits, 2, Int32(clamping: left)) >= 0 || errno == EINTR else {
                throw file.refused(ModuleFile.words(errno), isAbsence: false)
            }
            if waits[1].revents != 0 { try send(request, &unsent) }
            if waits[0].revents != 0 {
                total += try receive(into: unread)
                guard total <= ProgramAnswer.longestAnswer else { throw .foreign("more than 64 MiB") }
                try answer.parse(from: unread)
            }
        }
    }

    /// Whether the program waits for a request: it is running and has sent no unrequested output.
    var isWaiting: Bool {
        var output = pollfd(fd: program.output, events: Int16(POLLIN), revents: 0)
        return !hasEnded && poll(&output, 1, 0) == 0
    }

    /// Sends the next part of a request. If the program has stopped reading, its answer is still read.
    private func send(_ request: ProgramRequest, _ unsent: inout Int) throws(TokenKeepError) {
        let bytes = request.buffer.bytes.suffix(unsent)
        // SIGPIPE is blocked on the module's thread.
        let written = write(program.input, UnsafeRawBufferPointer(rebasing: bytes).baseAddress, bytes.count)
        if written >= 0 {
            unsent -= written
            tookRequest = unsent == 0
        } else if errno != EAGAIN, errno != EINTR {
            unsent = 0
        }
    }

    private func receive(into buffer: WipingBuffer) throws(TokenKeepError) -> Int {
        let room = try buffer.room(for: 16 * 1024)
        let count = read(program.output, room.baseAddress, room.count)
        if count > 0 {
            saidNothing = false
            buffer.grow(by: count)
            return count
        }
        if count < 0, errno == EAGAIN || errno == EINTR { return 0 }
        throw ended()
    }

    /// Closes the program's input after a whole request, and waits for the program's end.
    ///
    /// - Parameter milliseconds: the maximum wait. After it, the program is killed.
    func end(patience milliseconds: UInt32) {
        guard !hasEnded else { return }
        closeEnds()
        var status: Int32 = 0
        if tokenkeep_program_wait(program.process, milliseconds, &status) == ETIMEDOUT {
            killAndWait()
        }
        letGo()
    }

    /// Kills the program and its process group.
    func kill() {
        guard !hasEnded else { return }
        // Kill the program before closing its input. At the end of its input, the program could take half of a request
        // for a whole request.
        killAndWait()
        closeEnds()
        letGo()
    }

    /// Kills the program and waits at most 10 seconds for its end, which may take long on a busy machine.
    private func killAndWait() { _ = tokenkeep_program_kill(program.process, 10_000) }

    private func closeEnds() {
        close(program.input)
        close(program.output)
    }

    /// Releases the resources of a program that has ended.
    private func letGo() {
        tokenkeep_program_let_go(&program)
        hasEnded = true
    }

    private func ended() -> TokenKeepError {
        var status: Int32 = 0
        closeEnds()
        let known = tokenkeep_program_wait(program.process, 100, &status) == 0
        if !known { killAndWait() }
        letGo()
        let signal = status & 0x7F
        let how = !known ? "" : signal != 0 ? ", by signal \(signal)" : ", with exit status \(status >> 8 & 0xFF)"
        return TokenKeepError(.unavailable, "the program \(file.path) ended without an answer\(how)")
    }
}
