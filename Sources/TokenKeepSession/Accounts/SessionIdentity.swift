package import TokenKeepCore
import TokenKeepRecords

/// The identity of one session of an account: it stays while tokens are renewed, and changes with each sign-in.
package struct SessionIdentity: Sendable, Equatable {
    /// 128 random bits of the sign-in; "" for a session that another program began.
    package let epoch: String
    /// The number that the last logout left.
    package let logoutMark: UInt32

    init(_ note: SessionNote) {
        epoch = note.epoch
        logoutMark = note.logoutMark
    }
}

extension Sessions {
    /// A session, with its identity.
    package struct Identified: Sendable {
        package let info: SessionInfo
        package let identity: SessionIdentity
        /// When the session began, by this machine's clock, in milliseconds since 1970; nil if unknown.
        package let signedIn: Int64?
    }

    /// The sessions that are not signed out, by service and account, and why some may be missing; nil if none are. Reads no
    /// token and asks no server.
    ///
    /// - Throws: the reason why the vault cannot be read; ``Status/locked`` if names are locked.
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
                // A damaged note hides its own session, not the others.
                problem = problem ?? error
            }
        }
        return (sessions, problem)
    }

    /// The note of a listed session; nil if the session has ended meanwhile.
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
