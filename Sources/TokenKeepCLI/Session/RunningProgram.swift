import CSystemShims
import Glibc
import TokenKeepCore

/// A program that runs, and the exchange with it.
final class RunningProgram {
    /// The longest wait, in milliseconds, of a call that can be cancelled, or for a program without a descriptor.
    private static let lookMilliseconds: Int32 = 50

    private let process: pid_t
    /// Readable after the program's end; -1 if the system has no descriptor left.
    private let endDescriptor: Int32
    private var status: Int32 = 0
    private var hasEnded = false
    /// The bytes of the input that are in the pipe, or were read from it.
    private var written = 0

    init(process: pid_t) {
        self.process = process
        endDescriptor = tokenkeep_program_descriptor(process)
    }

    deinit { if endDescriptor >= 0 { close(endDescriptor) } }

    var exitCode: Int32 { status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F) }

    /// Writes the input, and reads the output until the program closes it or ends. Closes both descriptors.
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
            // Looks for the program's end before the reading: then everything that the program wrote is already in the pipe.
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

    /// Waits until the program has written, reads or has ended; false at the deadline.
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

    /// Writes the next part of the input. If the program stops reading, its answer still counts.
    private func send(_ input: SecretBytes, _ sent: inout Int, to descriptor: Int32) {
        let count = write(descriptor, input.unsafeAddress + sent, input.count - sent)
        if count > 0 {
            sent += count
            written = sent
        } else if errno != EAGAIN, errno != EINTR {
            sent = input.count
        }
    }

    /// Whether anybody has read a part of the input. Takes the rest out of the pipe: a process that the program left
    /// behind cannot read it later.
    ///
    /// - Parameter readEnd: the end of the pipe that the program reads. The other one is closed.
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

    /// Reads the next part of the output. Returns 0 at its end, and less if nothing is there.
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

    /// Whether the program has ended.
    private func look() -> Bool {
        if !hasEnded { hasEnded = waitpid(process, &status, WNOHANG) == process }
        return hasEnded
    }

    /// Waits for the end of a program that has closed its output; false at the deadline.
    func wait(until deadline: Deadline) -> Bool {
        while !look() {
            guard wait(-1, -1, until: deadline) else { return false }
        }
        return true
    }

    /// Kills the program with its group.
    func kill() {
        guard !hasEnded else { return }
        Glibc.kill(-process, SIGKILL)
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }
}
