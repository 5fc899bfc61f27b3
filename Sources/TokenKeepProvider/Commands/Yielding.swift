import CSystemdBus
import Glibc
import TokenKeepCore

/// Gives way to a keyring that was installed after `enable`. Our activation file would otherwise hide that keyring's.
enum Yielding {
    /// Removes our activation file and executes the other keyring. Returns if there is none or it cannot be run.
    static func yieldIfReplaced() {
        guard let activation = try? Activation(), activation.yields,
            let other = activation.others.first, let text = Activation.text(of: other),
            let words = Activation.command(of: text), let program = words.first, access(program, X_OK) == 0
        else { return }
        Log.line("another keyring was installed (\(other)): it is started, and \(activation.path) is removed")
        do throws(TokenKeepError) { try activation.remove() } catch { return Log.line(error.message) }
        do throws(TokenKeepError) { try PortalFiles()?.remove() } catch { Log.line(error.message) }
        (try? Bus())?.reloadConfiguration()
        let copies = words.map { strdup($0) } + [nil]
        execv(program, copies)
        Log.line("\(program) cannot be run: \(Bus.describe(errno))")
    }
}
