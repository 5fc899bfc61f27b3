package import TokenKeepCore

/// The last logout of an account.
package struct LastLogout: Equatable {
    /// A number that each logout of the account replaces.
    package let mark: UInt32
    /// Whether nobody has signed in since.
    package let isSignedOut: Bool

    /// Reads the note alone, unless it must be rebuilt. Returns nil if nobody has ever signed in.
    package init?(of session: SessionEngine) throws(TokenKeepError) {
        var note = try session.storage.note()
        if note == nil {
            _ = try session.storage.read(session.begin())
            note = try session.storage.note()
        }
        guard let note else { return nil }
        (mark, isSignedOut) = (note.logoutMark, note.state == .signedOut)
    }
}
