import CSystemShims
import Glibc
import TokenKeepTerminal

/// The reader of standard output, for a command that has nothing to write for long.
final class OutputReader {
    /// Readable as soon as nobody reads standard output any more; -1 for a file. Owned by this object.
    let descriptor = tokenkeep_reader_watch(STDOUT_FILENO)

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// - Throws: `OutputClosed` if the reader is gone.
    static func check() throws(Terminal.OutputClosed) {
        var poller = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        guard poll(&poller, 1, 0) > 0, poller.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 else { return }
        throw Terminal.OutputClosed()
    }
}
