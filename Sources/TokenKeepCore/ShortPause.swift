import CSystemShims

/// A short rest between two looks at what no descriptor tells of.
package enum ShortPause {
    /// Waits so many milliseconds, or until a signal is handled. The caller looks again, by a deadline.
    package static func take(milliseconds: UInt32) { tokenkeep_pause(milliseconds) }
}
