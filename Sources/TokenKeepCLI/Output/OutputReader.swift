import CSystemShims
import Glibc
import TokenKeepTerminal

/// Notices when the reader of standard output closes the pipe, for a command that may write nothing for a long time.
final class OutputReader {
    /// A descriptor that becomes readable when the reader of standard output has closed the pipe; -1 if standard output
    /// is a file. Owned by this object.
    let descriptor = tokenkeep_reader_watch(STDOUT_FILENO)

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Throws `OutputClosed` if the reader of standard output has closed the pipe.
    static func check() throws(Terminal.OutputClosed) {
        var poller = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        guard poll(&poller, 1, 0) > 0, poller.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 else { return }
        throw Terminal.OutputClosed()
    }
}
