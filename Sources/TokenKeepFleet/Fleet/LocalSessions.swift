import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// The sessions of this device, in the form in which they are published.
final class LocalSessions {
    private let store: Store
    private let key: FleetKey
    /// The hashed subject and e-mail from each session's ID token, by the session's identity. They are cached, so that
    /// each session's record is read only once.
    private var people: [String: (subject: String?, email: String?)] = [:]
    /// The beginning of each session, in milliseconds of the registry's clock, by the session's identity.
    ///
    /// A beginning is computed once. If it were computed again after a change of the server's clock, a session that
    /// began before an order could seem to begin after it. An unknown beginning stays unknown.
    var beginnings: [String: Int64] = [:]

    /// The value in ``beginnings`` for a session whose beginning is unknown.
    private static let unknown: Int64 = -1

    init(_ store: Store, _ key: FleetKey) { (self.store, self.key) = (store, key) }

    /// A session of this device, and the value to publish for it.
    struct Found {
        let local: LocalSession
        let value: SessionValue
        let accountID: String
    }

    /// Lists the sessions. The second value is an error if some may be missing, otherwise nil.
    ///
    /// - Parameter offset: the seconds by which the registry's clock is ahead of this machine's; nil if unknown.
    /// - Throws: ``Status/locked`` if the names of sessions are locked.
    func list(offset: Int64?) throws(TokenKeepError) -> (found: [Found], problem: TokenKeepError?) {
        let (sessions, problem) = try Sessions(store).identified()
        let before = beginnings
        if problem == nil { beginnings = [:] }
        let found = sessions.map { session in
            let info = session.info
            let id = identity(info, session.identity)
            let began = session.signedIn.map { before[id] ?? beginning($0, offset: offset) ?? LocalSessions.unknown }
            if let began, offset != nil { beginnings[id] = began }
            let signedIn = began == LocalSessions.unknown ? nil : began
            let local = LocalSession(
                service: info.service, account: info.account, provider: info.provider ?? "", id: id,
                signedIn: signedIn)
            var value = SessionValue(session: id, service: info.service, account: info.account, state: info.state.word)
            value.level = info.level?.word
            value.provider = info.provider
            value.signedInAt = signedIn.map { $0 / 1000 }
            value.validatedAt = info.validatedAt.map { RegistryClock.time($0.rawValue, offset: offset) }
                .flatMap { FleetMembers.times.contains($0) ? $0 : nil }
            (value.subject, value.email) = person(of: info, id)
            return Found(
                local: local, value: value, accountID: key.accountID(service: info.service, account: info.account))
        }
        return (found, problem)
    }

    /// The time of a sign-in by the registry's clock; nil if that time is in the future or before 1970.
    ///
    /// Such a time means that this machine's clock was wrong at the sign-in, so the beginning is unknown. A wrong time
    /// in the past cannot be detected.
    private func beginning(_ time: Int64, offset: Int64?) -> Int64? {
        let now = RegistryClock.time(UnixTime.now.rawValue, offset: offset)
        let began = RegistryClock.exactTime(time, offset: offset)
        guard began >= 0, began / 1000 <= now + RegistryClock.unnoticed else { return nil }
        return min(began, now * 1000 + 999)
    }

    func identity(_ info: SessionInfo, _ identity: SessionIdentity) -> String {
        key.sessionID(service: info.service, account: info.account, epoch: identity.epoch, mark: identity.logoutMark)
    }

    /// The keyed hashes of subject and e-mail in the session's ID token; nil if the token cannot be read.
    private func person(of info: SessionInfo, _ id: String) -> (subject: String?, email: String?) {
        if let known = people[id] { return known }
        var options = SessionOptions()
        options.timeoutMilliseconds = 5000
        guard let session = try? SessionEngine(store, service: info.service, account: info.account, options),
            let token = try? session.sealed().idToken
        else { return (nil, nil) }
        let claims = UnverifiedClaims(unverified: token)
        var found: (subject: String?, email: String?) = (nil, nil)
        if let issuer = claims?.unverified("iss"), let subject = claims?.unverified("sub") {
            found.subject = key.subjectHash(issuer: TokenIdentity.fullIssuer(issuer), subject: subject)
        }
        if let email = claims?.unverified("email") { found.email = key.emailHash(email) }
        people[id] = found
        return found
    }

    /// Ends a session as a local sign-out does. Returns nil, and ends nothing, if the account has another session by
    /// now.
    func end(
        _ local: LocalSession, _ options: SessionOptions, _ prepare: (SessionEngine) -> Void
    ) throws(TokenKeepError) -> (session: SessionEngine, report: EndReport)? {
        let session = try SessionEngine(store, service: local.service, account: local.account, options)
        prepare(session)
        let key = key
        let report = try session.endRemotely { identity in
            key.sessionID(
                service: local.service, account: local.account, epoch: identity.epoch, mark: identity.logoutMark)
                == local.id
        }
        return report.map { (session, $0) }
    }
}
