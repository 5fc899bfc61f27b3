internal import CSystemShims
import Glibc

/// The rights of this process compared with those of its caller.
package enum Privileges {
    /// Whether the process has more rights than its caller. It then ignores the caller's environment and files.
    ///
    /// Computed at each use: a process may drop its rights while it runs.
    package static var areRaised: Bool { tokenkeep_is_secure_execution() != 0 || getuid() != geteuid() }
}
