internal import CSystemShims
import Glibc

/// The rights of this process, compared with those of its caller.
package enum Privileges {
    /// Whether the process has more rights than its caller: then it follows neither the caller's environment nor files.
    ///
    /// Asked anew each time: a process may give up its rights while it runs.
    package static var areRaised: Bool { tokenkeep_is_secure_execution() != 0 || getuid() != geteuid() }
}
