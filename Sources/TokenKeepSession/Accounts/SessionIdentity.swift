package import TokenKeepCore
import TokenKeepRecords

/// Identifies one session of an account: unchanged by renewals, changed by each sign-in.
package struct SessionIdentity: Sendable, Equatable {
    /// The epoch of the sign-in, 128 random bits in hexadecimal; "" for a session that another program began.
    package let epoch: String
    /// A number that changes with each logout of the account.
    package let logoutMark: UInt32

    init(_ note: SessionNote) {
        epoch = note.epoch
        logoutMark = note.logoutMark
    }
}

extension Sessions {
    /// A session that is not signed out, with the identity that tells it from earlier sessions of its account.
    package struct Identified: Sendable {
        package let info: SessionInfo
        package let identity: SessionIdentity
        /// The time at which the session began, in milliseconds since 1970 by this machine's clock; nil if unknown.
        package let signedIn: Int64?
    }

    /// Returns the sessions that are not signed out, sorted by service and account, and the error for which sessions
    /// are missing (nil if none are). Reads no token and asks no server.
    ///
    /// - Throws: the error of reading the vault; ``Status/locked`` if the names of some sessions are locked.
    package func identified() throws(TokenKeepError) -> (sessions: [Identified], problem: TokenKeepError?) {
        let listing = try list()
        var problem = listing.problem
        if let problem, problem.status == .locked { throw problem }
        var sessions: [Identified] = []
        for info in listing.sessions where info.state != .signedOut {
            do throws(TokenKeepError) {
                guard let note = try note(info) else { continue }
                sessions.append(Identified(info: info, identity: SessionIdentity(note), signedIn: note.signedIn))
            } catch {
                // A damaged note hides only its own session, so the remaining sessions are still returned.
                problem = problem ?? error
            }
        }
        return (sessions, problem)
    }

    /// Reads the note of a listed session; nil if the note was removed meanwhile.
    private func note(_ info: SessionInfo) throws(TokenKeepError) -> SessionNote? {
        let name = try ItemName(namespace: store.namespace, service: info.service, account: info.account)
        guard let file = try files.read(.note, of: name) else { return nil }
        guard let note = try? SessionNote(file.state) else {
            throw TokenKeepError(
                .corrupt, "a note is damaged", module: "vault", hint: "it is rebuilt when its session is used")
        }
        return note
    }
}
