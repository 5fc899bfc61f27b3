import CSystemShims
import Glibc
import TokenKeepCore

/// A running program, and the exchange of input and output with it.
final class RunningProgram {
    /// The interval, in milliseconds, at which a wait checks for cancellation, or for the program's end without a
    /// descriptor.
    private static let lookMilliseconds: Int32 = 50

    private let process: pid_t
    /// A descriptor that becomes readable at the program's end; -1 if the system has no descriptor left.
    private let endDescriptor: Int32
    private var status: Int32 = 0
    private var hasEnded = false
    /// The number of bytes of the input that were written to the pipe.
    private var written = 0

    init(process: pid_t) {
        self.process = process
        endDescriptor = tokenkeep_program_descriptor(process)
    }

    deinit { if endDescriptor >= 0 { close(endDescriptor) } }

    var exitCode: Int32 { status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F) }

    /// Writes the input, and reads the output until the program closes its output or ends. Closes both descriptors.
    func exchange(
        _ input: SecretBytes?, _ inputEnd: Int32, _ outputEnd: Int32, into bytes: UnsafeMutableRawBufferPointer,
        _ received: inout Int, until deadline: Deadline
    ) throws(TokenKeepError) {
        var inputEnd = inputEnd
        defer {
            close(outputEnd)
            if inputEnd >= 0 { close(inputEnd) }
        }
        for end in [inputEnd, outputEnd] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        var sent = 0
        while true {
            if inputEnd >= 0, sent == input?.count ?? 0 {
                close(inputEnd)
                inputEnd = -1
            }
            guard wait(outputEnd, inputEnd, until: deadline) else { throw SessionProgram.late }
            if inputEnd >= 0, let input { send(input, &sent, to: inputEnd) }
            // Check for the program's end before reading, so that everything that the program wrote is already in the pipe.
            let isOver = look()
            var isOpen = true
            while isOpen {
                let count = try RunningProgram.receive(into: bytes, &received, from: outputEnd)
                if count == 0 { return }
                isOpen = count > 0
            }
            if isOver { return }
        }
    }

    /// Waits until the program has written output, can read input or has ended. Returns false at the deadline.
    private func wait(_ outputEnd: Int32, _ inputEnd: Int32, until deadline: Deadline) -> Bool {
        var waits = [
            pollfd(fd: outputEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: inputEnd, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: endDescriptor, events: Int16(POLLIN), revents: 0),
        ]
        let left = Int32(clamping: deadline.remainingMilliseconds)
        let isWoken = endDescriptor >= 0 && deadline.cancellation == nil
        let time = isWoken ? left : min(left, RunningProgram.lookMilliseconds)
        return left > 0 && (poll(&waits, nfds_t(waits.count), time) >= 0 || errno == EINTR)
    }

    /// Writes the next part of the input. If the program has stopped reading, its output still counts.
    private func send(_ input: SecretBytes, _ sent: inout Int, to descriptor: Int32) {
        let count = write(descriptor, input.unsafeAddress + sent, input.count - sent)
        if count > 0 {
            sent += count
            written = sent
        } else if errno != EAGAIN, errno != EINTR {
            sent = input.count
        }
    }

    /// Whether any process has read a part of the input. Removes the rest from the pipe, so that a process that the
    /// program left behind cannot read it later.
    ///
    /// - Parameter readEnd: the end of the pipe from which the program reads. The writing end is already closed.
    func hasReadInput(from readEnd: Int32) throws(TokenKeepError) -> Bool {
        var left = 0
        _ = try SecretBytes(count: max(1, written)) { bytes in
            while let base = bytes.baseAddress, left < written {
                let count = Glibc.read(readEnd, base + left, written - left)
                guard count > 0 || count < 0 && errno == EINTR else { break }
                left += max(0, count)
            }
        }
        return left < written
    }

    /// Reads the next part of the output. Returns 0 at the end of the output, and -1 if no output is available yet.
    private static func receive(
        into bytes: UnsafeMutableRawBufferPointer, _ received: inout Int, from descriptor: Int32
    ) throws(TokenKeepError) -> Int {
        guard received < bytes.count, let base = bytes.baseAddress else {
            throw TokenKeepError(.io, "the command printed more than 256 KiB")
        }
        let count = Glibc.read(descriptor, base + received, bytes.count - received)
        guard count >= 0 || errno == EINTR || errno == EAGAIN else { throw SessionProgram.late }
        received += max(0, count)
        return count
    }

    /// Whether the program has ended. Keeps its exit status.
    private func look() -> Bool {
        if !hasEnded { hasEnded = waitpid(process, &status, WNOHANG) == process }
        return hasEnded
    }

    /// Waits for the end of a program that has closed its output. Returns false at the deadline.
    func wait(until deadline: Deadline) -> Bool {
        while !look() {
            guard wait(-1, -1, until: deadline) else { return false }
        }
        return true
    }

    /// Kills the program and its process group.
    func kill() {
        guard !hasEnded else { return }
        Glibc.kill(-process, SIGKILL)
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }
}
