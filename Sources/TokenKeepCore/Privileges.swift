internal import CSystemShims
import Glibc

/// Compares the rights of this process with those of its caller.
package enum Privileges {
    /// Whether the process has more rights than its caller, for example as a setuid program.
    ///
    /// A process with more rights must ignore the caller's environment and files. The value is computed at each use,
    /// because a process may give up its rights while it runs.
    package static var areRaised: Bool { tokenkeep_is_secure_execution() != 0 || getuid() != geteuid() }
}
