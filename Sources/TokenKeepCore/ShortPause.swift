import CSystemShims

/// A short pause between two checks of a state. For states that the kernel cannot report through a file descriptor.
package enum ShortPause {
    /// Waits for `milliseconds`, or until a signal is handled. The caller then checks the state again, until its
    /// deadline.
    package static func wait(milliseconds: UInt32) { tokenkeep_pause(milliseconds) }
}
