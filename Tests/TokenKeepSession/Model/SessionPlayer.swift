import TestSupport
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepKeys
@testable import TokenKeepSession

/// The first rule that a history broke.
struct BrokenRule: Error, CustomStringConvertible {
    let description: String
}

/// Plays a history, and compares what handles answer with the state that the steps must have led to.
final class SessionPlayer: @unchecked Sendable {
    /// The session that must be there; nil if nobody is signed in.
    private struct Live {
        let family: Int
        var isGuest = false
        var end: Int64 = .max
        /// Whether a restart of the machine, or damage to the note, may have lost its tokens.
        var mayBeLost = false
        /// Whether a restart of the machine may have lost them.
        var mayHaveLostStash = false
    }

    private let world = SessionWorld()
    private let server: ModelServer
    private let store: Store
    private let rotation: RotationProfile
    private let handles: [SessionEngine]
    private var live: Live?
    private var isLocked = false
    /// Whether a logout, or the end of a guest, was the last word: another program's record is then left alone.
    private var hasEnded = false
    private var now: Int64 = 0
    /// Families that a logout ended, whose token must be revoked in the end.
    private var ended: Set<Int> = []
    /// Families that a local logout ended: nothing of them may be sent afterwards.
    private var endedLocally: Set<Int> = []
    private var isDuringRequest = false
    private var lines = 0
    private(set) var log: [String] = []

    init(seed: UInt64) throws {
        rotation = seed.isMultiple(of: 3) ? .overlap(seconds: 86_400) : .strict
        let server = ModelServer(isStrict: rotation == .strict)
        self.server = server
        store = try world.store()
        let world = world
        let rotation = rotation
        handles = try (0..<2).map { _ in
            try world.session(rotation: rotation) { request throws(TokenKeepError) in try server.transport(request) }
        }
        _ = try store.passwords.set(SecretBytes("horse"))
    }

    func play(_ steps: [SessionStep]) throws {
        for (index, step) in steps.enumerated() {
            log.append("\(step)")
            try play(step, handles[index % 2])
            try check(handles[(index + 1) % 2])
            log += world.explained.dropFirst(lines).map { "    \($0)" }
            lines = world.explained.count
        }
        try settle()
    }

    private func play(_ step: SessionStep, _ session: SessionEngine) throws {
        switch step {
        case .begin: try begin(session, isGuest: false)
        case .beginGuest: try begin(session, isGuest: true)
        case .logout(let isLocalOnly): try logout(session, isLocalOnly: isLocalOnly)
        case .token: try ask { () throws(TokenKeepError) in try session.token() }
        case .refresh: try ask { () throws(TokenKeepError) in try session.refresh() }
        case .rejected:
            try ask { () throws(TokenKeepError) in try session.token() }
            guard let token = try? session.token().value, live?.isGuest == false else { return }
            try ask { () throws(TokenKeepError) in try session.rejected(token) }
        case .tokenForResource:
            let target = try TokenTarget(resource: "https://files.example.com", scope: nil)
            try ask { () throws(TokenKeepError) in try session.token(for: target) }
        case .validate: try judged { () throws(TokenKeepError) in try session.validate() }
        case .extend:
            try judged { () throws(TokenKeepError) in
                try session.extend(by: 3600)
                if live?.isGuest == true { live?.end = now + 3600 }
            }
        case .lock: lock()
        case .unlock:
            try store.unlock(SecretBytes("horse"))
            isLocked = false
        case .restart:
            world.restart()
            let hasStash = !world.keys.stashes.withLock { $0.isEmpty }
            if hasStash || isDuringRequest {
                live?.mayBeLost = true
                live?.mayHaveLostStash = true
            }
            world.keys.stashes.withLock { $0 = [:] }
            lock()
        case .foreignRecord: writeForeignRecord()
        case .damageNote: damageNote()
        case .setProfile: try? session.setProfile(SecretBytes(#"{"name":"Ann"}"#))
        case .server(let mood): server.become(mood)
        case .move(let seconds):
            world.move(seconds: seconds)
            now += seconds
        case .flush: _ = try? Outbox(store, session.options).flush()
        case .meanwhile(let step):
            let other = session === handles[0] ? handles[1] : handles[0]
            server.meanwhile { [unowned self] in
                log.append("  now \(step)")
                isDuringRequest = true
                defer { isDuringRequest = false }
                do { try play(step, other) } catch { log.append("  \(error)") }
            }
        }
    }

    private func lock() {
        _ = try? store.lock()
        isLocked = true
    }

    private func become(_ live: Live?) {
        self.live = live
        hasEnded = live == nil
        server.protect(live?.family)
    }

    private func begin(_ session: SessionEngine, isGuest: Bool) throws {
        let (family, response) = server.signIn()
        let before = live
        do throws(TokenKeepError) {
            // From now on either session may be there; a failed sign-in leaves the old one.
            try session.begin(isGuest ? .guest : .user, response: SecretBytes(response))
            become(Live(family: family, isGuest: isGuest, end: isGuest ? now + 3600 : .max))
        } catch {
            guard isLocked, error.status == .locked else { throw error }
            self.live = before
        }
    }

    private func logout(_ session: SessionEngine, isLocalOnly: Bool) throws {
        if let live, !isLocalOnly, !live.mayBeLost, !live.isGuest { ended.insert(live.family) }
        if let live, isLocalOnly { endedLocally.insert(live.family) }
        // The last word counts for a record that waits.
        if isLocalOnly, let waiting = waitingForUnlock { ended.remove(waiting) }
        become(nil)
        _ = try session.end(isLocalOnly: isLocalOnly)
    }

    private func writeForeignRecord() {
        let (family, _) = server.signIn()
        guard let name = try? ItemName(service: "api.example.com", account: "ann"),
            let secret = try? SecretBytes(#"{"accessToken":"a\#(family)-1","refreshToken":"r\#(family)-1"}"#),
            let request = try? SaveRequest(name: name, secret: secret), (try? store.save(request)) != nil
        else { return }
        // The session whose record it replaced is nobody's to revoke.
        if let before = live?.family { ended.remove(before) }
        if let waiting = waitingForUnlock { ended.remove(waiting) }
        if !hasEnded { become(Live(family: family)) }
    }

    /// The family that was ended last: its record may still be in its place.
    private var waitingForUnlock: Int? { live == nil ? ended.max() : nil }

    private func damageNote() {
        let folder = "vault/current/sessions"
        // Without a note nobody knows that the session ended: only a live one is damaged.
        guard live != nil, !isLocked, let name = world.directory.names(in: folder).first(where: { $0.count == 32 })
        else { return }
        world.directory.write([1, 2, 3], to: "\(folder)/\(name)")
        // The note knew which refresh token's answer was lost, and of a lost stash that the answer was seen.
        live?.mayBeLost = true
        if let live, live.mayHaveLostStash { server.forgetAnswers(of: live.family) }
    }

    // MARK: Checks

    private func ask(_ body: () throws(TokenKeepError) -> SessionToken) throws {
        do throws(TokenKeepError) {
            let text = try body().text
            log.append("  = \(text)")
            guard let live else { throw TokenKeepError(.conflict, "a token, though nobody is signed in") }
            guard text.hasPrefix("a\(live.family)-") else {
                throw TokenKeepError(.conflict, "a token of another session than \(live.family)")
            }
        } catch {
            log.append("  = \(error.status)")
            try judge(error)
        }
        try checkViolations()
    }

    private func judged(_ body: () throws(TokenKeepError) -> Void) throws {
        do throws(TokenKeepError) {
            try body()
            guard live != nil else { throw TokenKeepError(.conflict, "a success, though nobody is signed in") }
        } catch {
            log.append("  = \(error.status)")
            try judge(error)
        }
        try checkViolations()
    }

    private func judge(_ error: TokenKeepError) throws {
        switch error.status {
        case .conflict: throw BrokenRule(description: "\(error.message)")
        case .unavailable, .timedOut: return
        case .unsupported where live?.isGuest == true: return
        case .locked: if !isLocked { throw BrokenRule(description: "LOCKED, though nothing is locked") }
        case .notFound:
            if let live, !(live.isGuest && now >= live.end) {
                throw BrokenRule(description: "NOT_FOUND, though session \(live.family) is there")
            }
            if live != nil { become(nil) }
        case .needsLogin:
            guard let live, live.mayBeLost || server.mayBeLost(live.family) else {
                throw BrokenRule(description: "NEEDS_LOGIN without a reason")
            }
        default: throw error
        }
    }

    private func checkViolations() throws {
        if let violation = server.violations.first { throw BrokenRule(description: violation) }
    }

    private func check(_ session: SessionEngine) throws {
        try checkViolations()
        let state = try session.info().state
        if live == nil, ![.signedOut, .locked].contains(state) || (state == .locked && !isLocked) {
            throw BrokenRule(description: "\(state), though nobody is signed in")
        }
        if let live, state == .signedOut, !live.isGuest { throw BrokenRule(description: "signed out by nobody") }
    }

    /// In the end everything opens and the server answers: the live session goes on, the ended ones are revoked.
    private func settle() throws {
        server.become(.answers)
        server.meanwhile {}
        try store.unlock(SecretBytes("horse"))
        isLocked = false
        world.move(seconds: 90_000)
        now += 90_000
        log.append("in the end")
        let requests = server.requests
        try ask { () throws(TokenKeepError) in try handles[0].token() }
        try ask { () throws(TokenKeepError) in try handles[1].token() }
        if server.requests > requests + 2 { throw BrokenRule(description: "more than two requests") }
        if let live, !live.isGuest, !live.mayBeLost, !server.mayBeLost(live.family) {
            guard let text = try? handles[1].token().text, text.hasPrefix("a\(live.family)-") else {
                throw BrokenRule(description: "session \(live.family) is lost")
            }
        }
        log += world.explained.dropFirst(lines).map { "    \($0)" }
        let flushed = try Outbox(store, handles[0].options).flush()
        if flushed.left > 0 { throw BrokenRule(description: "\(flushed.left) tokens wait for nothing") }
        try checkViolations()
        for family in ended where !server.isRevoked(family) && !server.mayBeLost(family) {
            throw BrokenRule(description: "session \(family) ended and was never revoked")
        }
        if let family = endedLocally.first(where: server.wasRevokedByClient) {
            throw BrokenRule(description: "session \(family) ended locally, and was revoked")
        }
        guard world.keys.stashes.withLock({ $0.isEmpty }) else { throw BrokenRule(description: "a stash is left") }
    }
}
