import TestSupport

/// A step of a session's history. The comment names the rule that it tests (docs/sessions.md).
enum SessionStep: Equatable, Sendable, CustomStringConvertible {
    /// A sign-in replaces the session by one write.
    case begin
    /// A guest becomes a user by one write, and is cleared when its time is over.
    case beginGuest
    /// After a logout nobody gets a token; the token is revoked at the server, now or later.
    case logout(isLocalOnly: Bool)
    /// A token comes from the newest sign-in. What is due is renewed.
    case token
    case refresh
    /// A refused token is renewed, or the newer one adopted.
    case rejected
    /// A token for a resource is renewed with the session's refresh token, by the same rules.
    case tokenForResource
    /// A validation renews a refused token and ends no session; an extension forgets no lost answer.
    case validate
    case extend
    /// A locked place loses nothing, and gives no token but those of the stash.
    case lock
    case unlock
    /// A restart of the machine loses the stash, and signs out only whose tokens were in it.
    case restart
    /// Another program's record is taken over, unless nobody is signed in.
    case foreignRecord
    /// A damaged note is rebuilt from the record.
    case damageNote
    case setProfile
    /// The server answers, is away, loses its answers, or asks to wait.
    case server(ModelServer.Mood)
    case move(seconds: Int64)
    case flush
    /// The step comes while the server answers the next refresh.
    indirect case meanwhile(SessionStep)

    var description: String {
        switch self {
        case .begin: "begin"
        case .beginGuest: "begin guest"
        case .logout(let isLocalOnly): isLocalOnly ? "logout --local" : "logout"
        case .token: "token"
        case .refresh: "refresh"
        case .rejected: "rejected"
        case .tokenForResource: "token for a resource"
        case .validate: "validate"
        case .extend: "extend"
        case .lock: "lock"
        case .unlock: "unlock"
        case .restart: "restart"
        case .foreignRecord: "foreign record"
        case .damageNote: "damage the note"
        case .setProfile: "set the profile"
        case .server(let mood): "server \(mood)"
        case .move(let seconds): "move \(seconds) s"
        case .flush: "flush"
        case .meanwhile(let step): "meanwhile: \(step)"
        }
    }

    /// The history of a seed.
    static func history(seed: UInt64) -> [SessionStep] {
        var numbers = SeededNumbers(seed: seed)
        let count = Int.random(in: 4...16, using: &numbers)
        return [.begin] + (0..<count).map { _ in make(&numbers) }
    }

    private static func make(_ numbers: inout SeededNumbers) -> SessionStep {
        switch Int.random(in: 0..<44, using: &numbers) {
        case 0...2: .begin
        case 3: .beginGuest
        case 4, 5: .logout(isLocalOnly: false)
        case 6: .logout(isLocalOnly: true)
        case 7...11: .token
        case 12, 13: .refresh
        case 14: .rejected
        case 15, 16: .lock
        case 17...19: .unlock
        case 20: .restart
        case 21: .foreignRecord
        case 22: .damageNote
        case 23: .setProfile
        case 24, 25: .server(.answers)
        case 26: .server(.isAway)
        case 27: .server(.losesAnswer)
        case 28: .server(.isBusy)
        case 29...33: .move(seconds: [10, 400, 3400, 4000].randomElement(using: &numbers) ?? 10)
        case 34: .flush
        case 35, 36: .tokenForResource
        case 37: .validate
        case 38: .extend
        default: .meanwhile(during(&numbers))
        }
    }

    private static func during(_ numbers: inout SeededNumbers) -> SessionStep {
        let steps: [SessionStep] = [
            .begin, .beginGuest, .logout(isLocalOnly: false), .logout(isLocalOnly: true), .lock, .restart,
            .foreignRecord, .damageNote, .setProfile,
        ]
        return steps.randomElement(using: &numbers) ?? .begin
    }
}
