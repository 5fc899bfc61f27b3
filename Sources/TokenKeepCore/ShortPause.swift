import CSystemShims

/// A short pause between two checks of a state whose changes no file descriptor reports.
package enum ShortPause {
    /// Waits for `milliseconds`, or until a signal is handled. The caller then checks again, up to its deadline.
    package static func wait(milliseconds: UInt32) { tokenkeep_pause(milliseconds) }
}
