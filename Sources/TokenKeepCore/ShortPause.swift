import CSystemShims

/// A short pause between two looks at a state that no descriptor reports.
package enum ShortPause {
    /// Waits so many milliseconds, or until a signal is handled. The caller looks again, by a deadline.
    package static func wait(milliseconds: UInt32) { tokenkeep_pause(milliseconds) }
}
