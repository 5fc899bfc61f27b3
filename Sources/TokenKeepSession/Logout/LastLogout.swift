package import TokenKeepCore

/// The last logout of an account.
package struct LastLogout: Equatable {
    /// A number that changes with each logout of the account.
    package let mark: UInt32
    /// Whether nobody has signed in since the logout.
    package let isSignedOut: Bool

    /// Reads the account's note, and the record only if the note must be rebuilt from it. nil if nobody has ever signed
    /// in.
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
